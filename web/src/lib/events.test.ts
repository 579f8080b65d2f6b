import assert from 'node:assert/strict';
import test from 'node:test';
import { isNotable } from './events';

test('failures, interruptions, servers and policies are notable, what goes as it should is not', () => {
  const notable = (kind: string, to: string | null = null): boolean => isNotable({ kind, to });
  for (const to of ['pending', 'starting', 'running', 'succeeded', 'held', 'stopping']) assert.ok(!notable('job.state', to), to);
  for (const to of ['failed', 'cancelled', 'suspended', 'migrating', 'resizing']) assert.ok(notable('job.state', to), to);
  for (const kind of ['job.submitted', 'job.progress', 'job.image']) assert.ok(!notable(kind), kind);
  for (const kind of ['policy.changed', 'policy.planned', 'server.state', 'gpu.unavailable', 'decision.refused', 'job.server_fault']) assert.ok(notable(kind), kind);
});
