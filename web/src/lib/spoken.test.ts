import assert from 'node:assert/strict';
import test from 'node:test';
import { sentenceOf, together } from './spoken';
import type { ClusterEvent } from './types';

const event = (of: Partial<ClusterEvent>): ClusterEvent =>
  ({ seq: 1, at: '2026-01-01T00:00:00Z', kind: 'job.state', job_id: null, server: null, actor: null, from: null, to: null, text: '', data: null, ...of }) as unknown as ClusterEvent;

test('of the job that is shown every state is said, of others only what is notable', () => {
  const begins = event({ job_id: 7, from: 'starting', to: 'running' });
  assert.equal(sentenceOf(begins, 7), 'Job 7 is now running');
  assert.equal(sentenceOf(begins, 8), null);
  assert.equal(sentenceOf(begins, null), null);
  assert.equal(sentenceOf(event({ job_id: 7, from: 'running', to: 'failed', text: 'exit code 3' }), null), 'Job 7 is now failed: exit code 3');
  assert.equal(sentenceOf(event({ kind: 'job.progress', job_id: 7, to: '3' }), 7), null);
});

test('servers and policies are said in words, without arrows', () => {
  assert.equal(sentenceOf(event({ kind: 'server.state', server: 'gpu4', from: 'up', to: 'down' }), null), 'Server gpu4: server up to down');
  assert.equal(sentenceOf(event({ kind: 'policy.changed', from: 'fifo', to: 'srtf' }), null), 'policy changed fifo to srtf');
});

test('of many sentences the last are said, and how many there were', () => {
  assert.equal(together(['a', 'b']), 'a. b');
  assert.equal(together(['a', 'b', 'c', 'd', 'e']), 'c. d. e. 2 more before: see Notable events.');
});
