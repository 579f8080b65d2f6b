import assert from 'node:assert/strict';
import test from 'node:test';
import { bandsOf, hoursOf, isMeasured, stripsOf } from './server_strips';
import type { Series, Server } from './types';

const servers = [
  { name: 'a', gpus: new Array(4).fill({}) },
  { name: 'b', gpus: new Array(2).fill({}) }
] as unknown as Server[];

const series = {
  from: '2026-11-24T00:00:00Z',
  to: '2026-11-24T02:00:00Z',
  step_s: 1800,
  series: [
    { name: 'gpus_allocated', labels: { server: 'a' }, values: [null, 2, 4, 0] },
    { name: 'gpu_utilization_pct', labels: { server: 'a' }, values: [null, 50, 90, null] }
  ]
} as unknown as Series;

test('held is the part of the GPUs of each server, busy what was measured', () => {
  const held = stripsOf(series, servers, 'held').strips;
  assert.deepEqual(held[0], { server: 'a', cells: [null, 50, 100, 0], mean: 50 });
  assert.deepEqual(held[1], { server: 'b', cells: [null, null, null, null], mean: null });
  assert.equal(stripsOf(series, servers, 'busy').strips[0]?.mean, 70);
});

test('nothing is measured where every cell is empty', () => {
  assert.ok(isMeasured(stripsOf(series, servers, 'busy')));
  assert.ok(!isMeasured(stripsOf({ ...series, series: [] }, servers, 'busy')));
});

test('equal neighbours are one band, and what was not measured has no colour', () => {
  const text = bandsOf([null, 50, 51, 0]);
  assert.match(text, /^linear-gradient\(to right, transparent 0\.00% 25\.00%, /);
  assert.match(text, /50%, var\(--sunken\)\) 25\.00% 75\.00%/);
  assert.match(text, /0%, var\(--sunken\)\) 75\.00% 100\.00%\)$/);
  assert.equal(bandsOf([]), 'none');
});

test('hours are means, the latest first, without those in which nothing was measured', () => {
  const hours = hoursOf(stripsOf(series, servers, 'held'));
  assert.deepEqual(hours, [
    { at: Date.parse('2026-11-24T01:00:00Z'), values: [50, null] },
    { at: Date.parse('2026-11-24T00:00:00Z'), values: [50, null] }
  ]);
});
