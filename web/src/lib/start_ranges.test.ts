import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startAxis, ticksBetween } from './start_ranges';
import type { QueuedJob } from './types';

const now = Date.parse('2026-11-24T10:00:00Z');
const at = (minutes: number): string => new Date(now + 60_000 * minutes).toISOString();
const job = (id: number, ...range: number[]): QueuedJob =>
  ({ id, name: `j${id}`, estimate: range.length ? { start: { p10: at(range[0] ?? 0), p50: at(range[1] ?? 0), p90: at(range[2] ?? 0) } } : null }) as unknown as QueuedJob;

test('all ranges have one axis, from now to the end of the latest', () => {
  const axis = startAxis([job(1, 0, 2, 5), job(2), job(3, 4, 8, 20), job(4, 1, 3, 30)], now);
  assert.deepEqual(axis.ranges.map(({ id }) => id), [1, 3, 4]);
  assert.deepEqual([axis.from, axis.to], [now, now + 30 * 60_000]);
  assert.equal(axis.unknown, 1);
  assert.match(axis.summary, /^Job 1, the first in line, starts about .*; the last of them, job 3, about .*\. No start is known of 1 row\.$/);
});

test('ticks are round times, and few', () => {
  const ticks = ticksBetween(now + 61_000, now + 30 * 60_000);
  assert.deepEqual(ticks.map((tick) => (tick - now) / 60_000), [5, 10, 15, 20, 25, 30]);
  for (const minutes of [0.01, 1, 90, 5_000, 500_000]) assert.ok(ticksBetween(now, now + minutes * 60_000).length <= 7, String(minutes));
});

test('an axis without ranges is none', () => {
  assert.deepEqual(startAxis([job(1)], now).ranges, []);
});
