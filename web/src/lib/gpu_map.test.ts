import assert from 'node:assert/strict';
import test from 'node:test';
import { fullPower, levelOf, ownersOf, valueOf, viewOf } from './gpu_map';
import type { Gpu } from './types';

const gpu = (facts: Partial<Gpu>): Gpu =>
  ({
    job_id: null,
    user: null,
    utilization_pct: null,
    memory_used_bytes: null,
    memory_total_bytes: null,
    temperature_celsius: null,
    power_watts: null,
    ...facts
  }) as Gpu;

test('who holds most GPUs comes first and has a colour, of more than eight the others have none', () => {
  const gpus = [...'aabbbcdefghij'].map((user, i) => gpu({ user, job_id: i }));
  const owners = ownersOf(gpus, 'user');
  assert.deepEqual(owners.slice(0, 3).map(({ name, gpus: count, colour }) => [name, count, colour]), [
    ['b', 3, 0],
    ['a', 2, 1],
    ['c', 1, 2]
  ]);
  assert.deepEqual(
    owners.filter(({ colour }) => colour === null).map(({ name }) => name),
    ['i', 'j']
  );
});

test('jobs are told apart by number, in the order of numbers', () => {
  const gpus = [10, 9, 9, 2].map((job_id) => gpu({ job_id }));
  assert.deepEqual(
    ownersOf(gpus, 'job').map(({ name }) => name),
    ['9', '2', '10']
  );
});

test('what is not measured has no level and no text', () => {
  for (const view of ['utilization', 'memory', 'temperature', 'power'] as const) {
    assert.equal(levelOf(gpu({}), view, 100), null);
    assert.equal(valueOf(gpu({}), view), '');
  }
});

test('power is full at the highest seen, in hundreds of watts', () => {
  const gpus = [gpu({ power_watts: 310 }), gpu({ power_watts: 90 })];
  assert.equal(fullPower(gpus), 400);
  assert.equal(levelOf(gpu({ power_watts: 200 }), 'power', 400), 50);
  assert.equal(fullPower([gpu({})]), 100);
});

test('an unknown view is utilization', () => {
  assert.equal(viewOf('nonsense'), 'utilization');
  assert.equal(viewOf('power'), 'power');
  assert.equal(viewOf(null), 'utilization');
});
