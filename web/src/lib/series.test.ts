import assert from 'node:assert/strict';
import test from 'node:test';
import { chartsOf, clusterGroups, gpuGroups, jobGroups, serverGroups } from './series';
import type { Series } from './types';

const series = (lines: Series['series']): Series => ({
  from: '2026-01-01T00:00:00.000Z',
  to: '2026-01-01T00:03:00.000Z',
  step_s: 60,
  series: lines
});
const gpu = (index: number, values: (number | null)[], name = 'gpu_utilization_pct'): Series['series'][number] => ({
  name,
  labels: { server: 'gpu3', gpu: String(index) },
  values
});

test('lines that belong together are a chart, and what was not measured is none', () => {
  const [chart, ...others] = chartsOf(
    series([
      { name: 'gpus_total', labels: {}, values: [4, 4, 4] },
      { name: 'gpus_allocated', labels: {}, values: [null, 2, 3] },
      { name: 'gpu_utilization_pct', labels: {}, values: [null, null, null] }
    ]),
    clusterGroups
  );
  assert.equal(others.length, 0);
  assert.deepEqual(
    chart?.lines.map(({ name }) => name),
    ['in use', 'all']
  );
  assert.deepEqual(chart?.x, [1767225600, 1767225660, 1767225720]);
  assert.equal(chart?.summary, 'in use: 3 GPUs at last, 2.5 on average; all: 4 GPUs at last, 4 on average');
});

test('a chart begins with what was measured first, and needs two values', () => {
  const [chart] = chartsOf(series([gpu(0, [null, 10, 20])]), gpuGroups);
  assert.deepEqual([chart?.x, chart?.lines[0]?.y], [[1767225660, 1767225720], [10, 20]]);
  assert.deepEqual(chartsOf(series([gpu(0, [null, null, 20])]), gpuGroups), []);
  assert.deepEqual(chartsOf(series([]), gpuGroups), []);
});

test('a server shows its CPUs and memory after its GPUs', () => {
  const of = (name: string, values: number[]): Series['series'][number] => ({ name, labels: { server: 'gpu3' }, values });
  const charts = chartsOf(
    series([of('cpu_utilization_pct', [10, 30]), of('memory_used_bytes', [2 ** 30, 2 ** 31]), gpu(0, [1, 2])]),
    serverGroups
  );
  assert.deepEqual(
    charts.map(({ title, lines }) => [title, lines[0]?.name, lines[0]?.y.at(-1)]),
    [
      ['GPU utilization', 'gpu3:0', 2],
      ['CPUs', 'gpu3', 30],
      ['Memory', 'gpu3', 2]
    ]
  );
});

test('GPUs have their names, memory is in GiB, and many GPUs are their mean', () => {
  const charts = chartsOf(series([gpu(0, [10, null]), gpu(1, [30, 50]), gpu(0, [2 ** 31, null], 'gpu_memory_used_bytes')]), gpuGroups);
  assert.deepEqual(charts[0]?.lines, [
    { name: 'gpu3:0', y: [10, null] },
    { name: 'gpu3:1', y: [30, 50] }
  ]);
  assert.deepEqual(charts[1]?.lines[0]?.y, [2, null]);
  const many = chartsOf(series(Array.from({ length: 9 }, (_, i) => gpu(i, [i, i === 0 ? 5 : null]))), gpuGroups);
  assert.deepEqual(many[0]?.lines, [{ name: 'mean of 9 GPUs', y: [4, 5] }]);
});

test('a small loss is not said to be 0, and a loss has no unit', () => {
  const of = (values: number[]): string | undefined => chartsOf(series([{ name: 'loss', labels: {}, values }]), jobGroups)[0]?.summary;
  assert.equal(of([2e-5, 1e-7]), 'loss: 1e-7 at last, 1.01e-5 on average');
  assert.equal(of([3, 1]), 'loss: 1 at last, 2 on average');
});
