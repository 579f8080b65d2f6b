import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extentOf, isJobNumber, isMemberNumber, membersText, parametersOf, placeAmongJobs, withMembers } from './members';
import type { Job } from './types';

const members = { total: 46, waiting: 40, running: 3, succeeded: 1, failed: 2, cancelled: 0, to_come: '5-44' };
const job = (id: number, more: object = {}): Job =>
  ({ id, members: null, group_id: null, placement: [], spec: { gpus: { min: 2, max: 2 } }, state: 'pending', started_at: null, ...more }) as unknown as Job;

test('the states of members are counted in words', () => {
  assert.equal(membersText(members), '3 running, 40 waiting, 1 succeeded, 2 failed');
  assert.equal(membersText({ ...members, waiting: 1200 }), '3 running, 1,200 waiting, 1 succeeded, 2 failed');
});

test('members stand below their group once that is opened', () => {
  const jobs = [job(9), job(4, { members }), job(1)];
  const opened = new Map([[4, [job(6, { group_id: 4 }), job(5, { group_id: 4 })]]]);
  const rows = withMembers(jobs, opened);
  assert.deepEqual(rows.map(({ id }) => id), [9, 4, 6, 5, 1]);
  assert.deepEqual(rows.map((_, i) => placeAmongJobs(rows, i, opened)), [0, 1, 2, 2, 2]);
  assert.equal(placeAmongJobs(rows, 9, opened), 7);
  assert.equal(withMembers(jobs, new Map()), jobs);
});

test('a member knows its values of the matrix', () => {
  const matrix = { net: ['a', 'b', 'c'], lr: ['0.1', '0.03'] };
  assert.deepEqual([0, 1, 3, 5].map((i) => parametersOf(matrix, i)), ['lr=0.1 net=a', 'lr=0.1 net=b', 'lr=0.03 net=a', 'lr=0.03 net=c']);
  assert.equal(parametersOf({}, 7), '');
});

test('what is chosen is counted member by member', () => {
  const running = job(2, { state: 'running', started_at: 'x', placement: [{ gpus: ['a-0', 'a-1', 'a-2'] }] });
  assert.deepEqual(extentOf([job(1), running, job(4, { members })]), { jobs: 45, running: 4, waiting: 41, gpus: 9 });
});

test('a member has a number within its array, as the command line names it', () => {
  assert.deepEqual(['5', '12_7', '12_0', '0', '12_', '_7', '1_2_3', '5x'].map(isJobNumber), [true, true, true, false, false, false, false, false]);
  assert.deepEqual(['5', '12_7'].map(isMemberNumber), [false, true]);
});
