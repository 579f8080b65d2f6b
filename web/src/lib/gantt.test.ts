import assert from 'node:assert/strict';
import test from 'node:test';
import { boxesMost, ganttOf, schedulesOf, ticksOf } from './gantt';
import type { Hold, Server } from './types';

const head = 'job_id,from_s,to_s,server,gpu_first,gpu_last,end\n';

test('a job is a box over its GPUs, servers below each other in the order of their numbers', () => {
  const gantt = ganttOf(`${head}2,5,9,gpu10,0,0,failed\n1,0,5,gpu2,2,3,\n3,5,20,gpu2,0,3,interrupted\n`);
  assert.deepEqual(gantt?.servers, [{ name: 'gpu2', row: 0, gpus: 4 }, { name: 'gpu10', row: 4, gpus: 1 }]);
  assert.deepEqual([gantt?.rows, gantt?.seconds], [5, 20]);
  assert.deepEqual(gantt?.boxes.map(({ job, where, row, rows, end }) => [job, where, row, rows, end]), [
    ['1', 'gpu2:2-3', 2, 2, ''],
    ['3', 'gpu2:0-3', 0, 4, 'interrupted'],
    ['2', 'gpu10:0', 4, 1, 'failed']
  ]);
});

test('what boxes cannot show is left to the picture', () => {
  assert.equal(ganttOf(`${head}1,0,5,a,0,1,\n2,4,9,a,1,1,\n`), null, 'two jobs on one GPU');
  assert.notEqual(ganttOf(`${head}1,0,5,a,0,1,\n2,5,9,a,1,1,\n`), null);
  assert.equal(ganttOf('server,from_s,to_s,allocated_pct\na,0,1,50\n'), null, 'a map');
  assert.equal(ganttOf(head + Array.from({ length: boxesMost + 1 }, (_, i) => `${i},${i},${i + 1},a,0,0,\n`).join('')), null);
  assert.equal(ganttOf(head), null);
});

test('labels stand at round times', () => {
  assert.deepEqual(ticksOf(100), [0, 30, 60, 90]);
  assert.deepEqual(ticksOf(0.5), [0]);
  assert.equal(ticksOf(86_400 * 100).length, 6);
  assert.deepEqual(ticksOf(100, 2), [0, 60]);
  assert.deepEqual(ticksOf(86_400 * 100, 1), [0, 86_400 * 100]);
});

const hold = (job_id: number, server: string, gpus: number[], from: string, to: string | null): Hold => ({
  job_id,
  server,
  gpus,
  from: `2026-11-24T10:${from}:00Z`,
  to: to === null ? null : `2026-11-24T10:${to}:00Z`
});
const servers = ['b', 'a', 'idle'].map((name) => ({ name, gpus: [{}, {}, {}, {}] })) as unknown as Server[];

test('schedules of several policies have one axis and the rows of the same servers', () => {
  const from = Date.parse('2026-11-24T10:00:00Z');
  const [fifo, sjf] = schedulesOf(
    [
      [hold(2, 'a', [0, 1, 3], '10', '20'), hold(1, 'b', [2], '00', '10')],
      [hold(2, 'a', [0], '00', null)]
    ],
    servers,
    from
  );
  assert.deepEqual(fifo?.gantt.servers, [
    { name: 'b', row: 0, gpus: 4 },
    { name: 'a', row: 4, gpus: 4 }
  ]);
  assert.deepEqual([fifo?.gantt.seconds, sjf?.gantt.seconds], [1200, 1200]);
  assert.deepEqual(
    fifo?.gantt.boxes.map(({ job, where, row, rows, from: begin, to }) => [job, where, row, rows, begin, to]),
    [
      ['1', 'b:2', 2, 1, 0, 600],
      ['2', 'a:0-1', 4, 2, 600, 1200],
      ['2', 'a:3', 7, 1, 600, 1200]
    ]
  );
  assert.deepEqual([fifo?.endless, sjf?.endless], [0, 1]);
  assert.deepEqual([sjf?.gantt.boxes[0]?.to, sjf?.gantt.boxes[0]?.end], [1200, 'endless']);
});

test('a schedule without a job has an axis all the same', () => {
  const [empty] = schedulesOf([[]], servers, 0);
  assert.deepEqual([empty?.gantt.boxes.length, empty?.gantt.rows, empty?.gantt.seconds], [0, 0, 60]);
});
