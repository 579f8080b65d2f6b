import assert from 'node:assert/strict';
import test from 'node:test';
import { csvOf, rowsIn } from './csv';
import { bestOf, bodyOf, countsFault, emptyPlan, faultOf, figures, fullest, leftOutOf, loadsFault, meanOf, rowsOf, tableOf, textOf, variedIn } from './simulations';
import type { PolicyInfo, SimulationResult } from './types';

const policies = [
  { name: 'tiresias', parameters: [{ name: 'thresholds_gpu_s', type: 'ascending' }, { name: 'promote_knob', type: 'number' }] }
] as unknown as PolicyInfo[];

test('of runs with several numbers of jobs those with most are compared', () => {
  const results = ['a20 1', 'a20 2', 'a50 1', 'a50 2', 'b20 1', 'b20 2', 'b50 1', 'b50 2'] as unknown as SimulationResult[];
  assert.deepEqual(fullest({ results, job_counts: [20, 50], loads: [], seeds: 2 }), ['a50 1', 'a50 2', 'b50 1', 'b50 2']);
  assert.deepEqual(fullest({ results, job_counts: [], loads: [], seeds: 2 }), results);
  assert.deepEqual(fullest({ results, job_counts: [], loads: [0.5, 1.1], seeds: 2 }), ['a50 1', 'a50 2', 'b50 1', 'b50 2']);
  assert.equal(variedIn({ job_counts: [20, 1500], loads: [] })?.most, 'With the first 1,500 jobs.');
  assert.deepEqual(variedIn({ job_counts: [], loads: [0.5, 1.1] }), { by: 'load', most: 'At a load of 1.1.' });
  assert.equal(variedIn({ job_counts: [], loads: [0.8] }), null);
});

test('jobs that are not simulated are named with the reason', () => {
  assert.deepEqual(leftOutOf({ left_out: 1, left_out_reasons: null }), ['1 job left out, too wide for these servers']);
  const reasons = { oversize: 0, without_gpus: 2, impossible: { CPUs: 1000 } };
  assert.deepEqual(leftOutOf({ left_out: 0, left_out_reasons: reasons }), [
    '2 jobs left out, without a GPU',
    '1,000 jobs left out, which no server can ever run (CPUs)'
  ]);
});

test('a plan becomes the request', () => {
  const plan = {
    ...emptyPlan,
    parameters: { jobs: '50 ', load: '' },
    servers: ' 4x8 ',
    policies: [{ name: 'tiresias', parameters: { thresholds_gpu_s: '3600; 3250, 7200', promote_knob: '2, 8', other: ' ' } }],
    seeds: '3'
  };
  assert.deepEqual(bodyOf(plan, policies), {
    trace: { workload: 'poisson', parameters: { jobs: '50' } },
    servers: '4x8',
    policies: [{ name: 'tiresias', parameters: { thresholds_gpu_s: [['3600'], ['3250', '7200']], promote_knob: ['2', '8'] } }],
    seeds: 3
  });
  assert.deepEqual(bodyOf({ ...plan, source: 'history', servers: '', policies: [] }, policies), {
    trace: { history_days: 30 },
    policies: []
  });
  assert.deepEqual(bodyOf({ ...plan, source: 'uploaded', uploaded: 'philly', keepCpuJobs: true, policies: [] }, policies), {
    trace: { name: 'philly' },
    servers: '4x8',
    policies: [],
    keep_cpu_jobs: true
  });
  assert.equal(bodyOf({ ...plan, keepCpuJobs: true }, policies).keep_cpu_jobs, undefined);
  const counts = (jobCounts: string): unknown => {
    const { jobs, job_counts } = bodyOf({ ...plan, jobCounts }, policies);
    return jobs ?? job_counts;
  };
  assert.deepEqual(['', ' 50 ', '50, 100;200'].map(counts), [undefined, 50, [50, 100, 200]]);
  assert.deepEqual(['', '0.8', '.5 1, 1.1'].map((loads) => bodyOf({ ...plan, loads }, policies).loads), [undefined, [0.8], [0.5, 1, 1.1]]);
});

const run = (policy: string, seed: number, avg_jct_s: number | null, parameters = {}): SimulationResult =>
  ({ policy, parameters, seed, avg_jct_s, preemptions: 0 }) as unknown as SimulationResult;

test('runs that differ in their seed are one row, and the best is marked unless all are alike', () => {
  const rows = rowsOf([run('fifo', 1, 10), run('fifo', 2, 20), run('srtf', 1, 12), run('srtf', 2, 14, { knob: '2' })]);
  assert.deepEqual(
    rows.map(({ name, first }) => [name, first]),
    [
      ['fifo', 0],
      ['srtf', 2],
      ['srtf (knob=2)', 3]
    ]
  );
  const [jct, preemptions] = [figures[0]!, figures.find(({ key }) => key === 'preemptions')!];
  assert.equal(meanOf(rows[0]!, 'avg_jct_s'), 15);
  assert.deepEqual([...bestOf(rows, jct)].map(({ name }) => name), ['srtf']);
  assert.equal(bestOf(rows, preemptions).size, 0);
  const first_unfinished = 'a: it needs 4 GPUs, all servers together have 2';
  rows[1]!.runs[0] = { ...rows[1]!.runs[0]!, unfinished: 1, first_unfinished };
  assert.deepEqual([...bestOf(rows, jct)].map(({ name }) => name), ['srtf (knob=2)']);
  assert.deepEqual(rows.map(faultOf), ['', `the first that never ran is ${first_unfinished}`, '']);
  assert.equal(meanOf({ name: '', first: 0, runs: [run('fifo', 1, null)] }, 'avg_jct_s'), null);
  assert.equal(textOf(null, 'time'), '–');
  assert.equal(textOf(7384, 'time'), '2 h 3 min');
});

test('tables are written and read as CSV', () => {
  const rows = [
    ['a', 'b,c', 'd "e"'],
    ['', '1', '']
  ];
  assert.deepEqual(rowsIn(csvOf(rows)), rows);
  assert.equal(tableOf([run('fifo', 1, null, { a: 1 })]), 'parameters,policy,seed,avg_jct_s,preemptions\na=1,fifo,1,,0\n');
});

test('what is no load or number of jobs is named at its field', () => {
  assert.deepEqual(['', '0.8', '.5 1, 1.1'].map(loadsFault), ['', '', '']);
  assert.deepEqual(['x', '0.8, 0', '-1'].map(loadsFault), ['"x" is no load: write 0.8', '"0" is no load: write 0.8', '"-1" is no load: write 0.8']);
  assert.deepEqual(['50, 100', '1.5', 'all'].map(countsFault), ['', '"1.5" is no number of jobs', '"all" is no number of jobs']);
});
