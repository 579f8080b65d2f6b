import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columns, fitting, ofQueue, widthOf } from './columns';
import type { Job } from './types';

const keys = (room: number): string[] => fitting(ofQueue, room).map(({ key }) => key);

test('columns give way where there is too little room, in their order', () => {
  const all = ofQueue.map(({ key }) => key);
  assert.deepEqual(keys(widthOf(ofQueue)), all);
  assert.deepEqual(keys(widthOf(ofQueue) - 1), all.filter((key) => key !== 'user'));
  assert.deepEqual(keys(0), ['gpus', 'why']);
});

const textOf = (key: string, job: object): string => columns.find((column) => column.key === key)?.text(job as Job, 0) ?? '';
const running = { state: 'running', members: null, failure: null, reason: null, started_at: '2026-11-29T08:00:00Z', estimate: null };
const progress = { done: 3, total: 10, unit: 'epoch', loss_is_not_finite: false };

test('why, how far: both, where both are known', () => {
  const why = (job: object): string => textOf('why', { ...running, ...job });
  const reason = { code: 'server_down', text: 'server ext is down' };
  assert.equal(why({ progress }), '3 of 10 epochs');
  assert.equal(why({ progress, reason }), 'server ext is down; 3 of 10 epochs');
  assert.equal(why({ progress: { ...progress, loss_is_not_finite: true } }), '3 of 10 epochs, loss not finite');
  assert.equal(why({ state: 'cancelled', progress, reason }), 'server ext is down');
  assert.equal(why({ progress, failure: { message: 'exit code 3' } }), 'exit code 3');
});

test('an array starts when the next of its members does, even if others have started', () => {
  const estimate = { start: { p50: '2099-11-29T09:00:00Z' } };
  assert.equal(textOf('starts', { ...running, estimate }), '');
  assert.match(textOf('starts', { ...running, estimate, members: { waiting: 1 } }), /^about 2099-/);
  assert.equal(textOf('starts', { ...running, members: { waiting: 0 } }), '–');
});

test('columns that a user has chosen stay', () => {
  assert.deepEqual(fitting(columns, 0), columns);
});
