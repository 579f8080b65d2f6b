import assert from 'node:assert/strict';
import test from 'node:test';
import { changeFor, commandFor, stepFrom } from './queue_moves';
import type { Job } from './types';

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
