import assert from 'node:assert/strict';
import test from 'node:test';
import { changeFor, commandFor, placeAfter, stepFrom } from './queue_moves';
import type { Job, QueuedJob } from './types';

const line = [
  { id: 4, priority: 2 },
  { id: 7, priority: 0 },
  { id: 9, priority: -1 }
] as Job[];

test('a place is in front of a job, or behind all', () => {
  assert.deepEqual(changeFor(line, 1), { before: 7 });
  assert.deepEqual(changeFor(line, 3), { priority: -2 });
  assert.equal(commandFor(line, line[2] as Job, 0), 'schedulearn set 9 --before 4');
  assert.equal(commandFor(line, line[0] as Job, 3), 'schedulearn set 4 --priority -2');
});

test('a step leads over one job, and ends at the ends', () => {
  assert.deepEqual(
    [0, 1, 2].map((from) => [stepFrom(from, -1, 3), stepFrom(from, 1, 3)]),
    [
      [null, 2],
      [0, 3],
      [1, null]
    ]
  );
});

test('the place that follows counts the members of arrays', () => {
  const rows = [
    { id: 1, position: 1, in_line: 1 },
    { id: 2, position: 2, in_line: 5 },
    { id: 8, position: 7, in_line: 1 }
  ] as QueuedJob[];
  assert.equal(placeAfter(rows, 2, 1), 2);
  assert.equal(placeAfter(rows, 1, 0), 1);
  assert.equal(placeAfter(rows, 0, 2), 6, 'five have moved up');
  assert.equal(placeAfter(rows, 1, 3), 3, 'behind all, of which one was behind it');
  assert.equal(placeAfter([{ ...rows[0], position: null } as QueuedJob], 0, 1), undefined);
});
