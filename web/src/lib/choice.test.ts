import assert from 'node:assert/strict';
import test from 'node:test';
import { between, choosable, howMany, withChosen } from './choice';
import type { Job } from './types';

const jobs = [9, 8, 7, 6].map((id) => ({ id, group_id: id === 8 || id === 7 ? 9 : null }) as Job);

test('all that are shown are chosen and left, others stay as they are', () => {
  const chosen = withChosen(new Set([1]), [9, 6], true);
  assert.deepEqual([...chosen], [1, 9, 6]);
  assert.deepEqual([...withChosen(chosen, [9, 6], false)], [1]);
});

test('members below their opened array are not chosen beside it', () => {
  assert.deepEqual(choosable(jobs, new Map([[9, []]])), [9, 6]);
  assert.deepEqual(choosable(jobs, new Map()), [9, 8, 7, 6]);
});

test('the box above them says whether none, some or all are chosen', () => {
  const states = [[], [9], [9, 6, 1]].map((ids) => howMany([9, 6], new Set(ids)));
  assert.deepEqual(states, ['none', 'some', 'all']);
  assert.equal(howMany([], new Set()), 'none');
});

test('a range goes from one row to another in either direction', () => {
  assert.deepEqual(between(jobs, 8, 7), [8, 7]);
  assert.deepEqual(between(jobs, 6, 8), [8, 7, 6]);
  assert.deepEqual([between(jobs, 5, 8), between(jobs, null, 8)], [[8], [8]]);
});
