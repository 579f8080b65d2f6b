import assert from 'node:assert/strict';
import test from 'node:test';
import { eventText, isNotable } from './events';
import type { ClusterEvent } from './types';

test('failures, interruptions, servers and policies are notable, what goes as it should is not', () => {
  const notable = (kind: string, to: string | null = null, text = ''): boolean => isNotable({ kind, to, text });
  assert.ok(notable('job.state', 'stopping', 'preempted') && notable('job.state', 'pending', 'server_lost'));
  assert.ok(!notable('job.state', 'pending', 'exit'), 'of a failed attempt an event of its own tells');
  for (const to of ['pending', 'starting', 'running', 'succeeded', 'held', 'stopping']) assert.ok(!notable('job.state', to), to);
  for (const to of ['failed', 'cancelled', 'suspended', 'migrating', 'resizing']) assert.ok(notable('job.state', to), to);
  for (const kind of ['job.submitted', 'job.progress', 'job.image']) assert.ok(!notable(kind), kind);
  for (const kind of ['policy.changed', 'policy.planned', 'server.state', 'gpu.unavailable', 'decision.refused', 'job.server_fault']) assert.ok(notable(kind), kind);
});

test('a change that has a reason says it', () => {
  const text = (event: Partial<ClusterEvent>): string => eventText({ kind: 'job.state', from: null, to: null, text: '', ...event } as ClusterEvent);
  assert.equal(text({ from: 'running', to: 'pending' }), 'running → pending');
  assert.equal(text({ from: 'running', to: 'pending', text: 'exit code 3' }), 'running → pending: exit code 3');
  assert.equal(text({ kind: 'job.attempt_failed', text: 'attempt 1 failed (exit): exit code 3' }), 'attempt 1 failed (exit): exit code 3');
});
