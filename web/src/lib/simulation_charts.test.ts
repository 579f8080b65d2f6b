import assert from 'node:assert/strict';
import test from 'node:test';
import { barsOf, curvesOf } from './simulation_charts';

test('series with points of their own share an axis, and hold their values between them', () => {
  const csv = 'panel,series,x,y,low,high\nGPUs,"a, 1",0,0,,\nGPUs,"a, 1",5,0,,\nGPUs,"a, 1",5,4,,\nGPUs,b,3,1,,\nGPUs,b,9,2,,\n';
  assert.deepEqual(curvesOf(csv), [
    {
      title: 'GPUs',
      curve: {
        x: [0, 3, 5, 9],
        lines: [
          { name: 'a, 1', y: [0, 0, 4, null], isStep: true },
          { name: 'b', y: [null, 1, 1, 2], isStep: true }
        ]
      }
    }
  ]);
  assert.deepEqual(curvesOf('job,start\n1,2\n'), []);
});

test('lines connect points, and have none where a series has none', () => {
  const csv = 'panel,series,x,y,low,high\nm,a,20,1,,\nm,a,50,2,,\nm,b,50,3,,\n';
  assert.deepEqual(curvesOf(csv, false)[0]?.curve, { x: [20, 50], lines: [{ name: 'a', y: [1, 2] }, { name: 'b', y: [null, 3] }] });
});

test('bars are those of one metric, with their intervals where there are any', () => {
  const csv = 'metric,name,mean,low,high\njct,fifo,10,8,12\njct,srtf,5,,\nwait,fifo,1,,\n';
  assert.deepEqual(barsOf(csv, 'jct'), [
    { name: 'fifo', value: 10, low: 8, high: 12 },
    { name: 'srtf', value: 5, low: null, high: null }
  ]);
});
