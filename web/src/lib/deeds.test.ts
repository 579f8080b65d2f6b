import assert from 'node:assert/strict';
import test from 'node:test';
import { whyNot } from './deeds';

type Subject = Parameters<typeof whyNot>[1];
const job = (state: string, spec: object = {}): Subject =>
  ({ state, members: null, spec: { checkpoint: { dir: null }, freeze: false, preemptible: true, migratable: true, ...spec } }) as unknown as Subject;
const withCheckpoint = { checkpoint: { dir: 'c' } };

test('a running job without a checkpoint is neither suspended nor moved', () => {
  assert.match(whyNot('suspend', job('running')), /no checkpoint folder/);
  assert.match(whyNot('migrate', job('running')), /no checkpoint folder/);
  assert.equal(whyNot('cancel', job('running')), '');
});

test('what may be frozen, has a checkpoint or waits can be suspended', () => {
  for (const each of [job('running', { freeze: true }), job('running', withCheckpoint), job('pending')]) assert.equal(whyNot('suspend', each), '');
});

test('what says that it stays is not moved', () => {
  assert.equal(whyNot('migrate', job('running', withCheckpoint)), '');
  assert.match(whyNot('migrate', job('running', { ...withCheckpoint, migratable: false })), /never to be moved/);
  assert.match(whyNot('migrate', job('running', { ...withCheckpoint, preemptible: false })), /never to be interrupted/);
});
