import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstBelow, withAnswer, type JobRows } from './job_rows';
import type { Job, List } from './types';

const jobs = (...ids: number[]): Job[] => ids.map((id) => ({ id }) as Job);
const answer = (ids: number[], next: number | null, total = 100): List<Job> => ({
  items: jobs(...ids),
  next_cursor: next === null ? null : String(next),
  total
});
const ids = (rows: JobRows): number[] => rows.jobs.map(({ id }) => id);

test('pieces are put one after the other', () => {
  const first = withAnswer(undefined, answer([9, 8, 7], 7), null);
  assert.deepEqual([ids(first), first.isWhole], [[9, 8, 7], false]);
  const second = withAnswer(first, answer([5, 3], null), 7);
  assert.deepEqual([ids(second), second.isWhole], [[9, 8, 7, 5, 3], true]);
});

test('new jobs come in front, and what is no longer in the list goes', () => {
  const known = withAnswer(undefined, answer([9, 8, 7, 5, 3], null), null);
  const fresh = withAnswer(known, answer([10, 8], 8), null); // 9 no longer matches
  assert.deepEqual([ids(fresh), fresh.isWhole], [[10, 8, 7, 5, 3], true]);
  const middle = withAnswer(fresh, answer([7, 3], 3), 8); // 5 has gone
  assert.deepEqual(ids(middle), [10, 8, 7, 3]);
});

test('if more are new than one answer tells, nothing is invented between them', () => {
  const known = withAnswer(undefined, answer([9, 8, 7], null), null);
  const fresh = withAnswer(known, answer([30, 29, 28], 28), null);
  assert.deepEqual([ids(fresh), fresh.isWhole], [[30, 29, 28], false]);
});

test('an answer that ends the list ends what was known', () => {
  const known = withAnswer(undefined, answer([9, 8, 7, 5], 5), null);
  assert.deepEqual(ids(withAnswer(known, answer([8], null), 9)), [9, 8]);
  assert.deepEqual(ids(withAnswer(known, answer([], null, 0), null)), []);
  assert.deepEqual(ids(withAnswer(known, answer([], null, 1), 8)), [9, 8]);
});

test('positions are found by number', () => {
  assert.equal(firstBelow(jobs(9, 7, 5), 7), 1);
  assert.equal(firstBelow(jobs(9, 7, 5), 6), 2);
  assert.equal(firstBelow(jobs(9, 7, 5), 99), 0);
  assert.equal(firstBelow(jobs(9, 7, 5), 1), 3);
});
