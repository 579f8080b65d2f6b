import assert from 'node:assert/strict';
import test from 'node:test';
import { fileFault, traceFacts, traceNameOf } from './traces';
import type { Trace } from './types';

test('a trace is called as its file, without what tells of its kind', () => {
  assert.deepEqual(['philly.csv.gz', 'a b.csv', 't.gz', 'plain', 'x.csv.csv'].map(traceNameOf), ['philly', 'a-b', 't', 'plain', 'x.csv']);
});

test('what is said of a trace', () => {
  const figures = { jobs: 1500, span_s: 7200.4, gpus: [{ gpus: 1 }, { gpus: 8 }] } as unknown as Trace['figures'];
  assert.equal(traceFacts({ figures }), '1,500 jobs of up to 8 GPUs in 2 h');
  assert.equal(traceFacts({ figures: null }), '');
  assert.equal(fileFault({ size: 10, name: 'a' } as File), '');
  assert.equal(fileFault({ size: 0, name: 'a.csv' } as File), 'a.csv is empty');
  assert.match(fileFault({ size: 2 ** 30, name: 'a.csv' } as File), /^a.csv has 1.0 GiB; up to 64/);
});
