// Events as sentences.
import type { ClusterEvent } from './types';

const words: Record<string, string> = {
  'job.submitted': 'submitted',
  'job.progress': 'progress',
  'policy.changed': 'policy changed',
  'policy.shadow': 'policy follows',
  'policy.failed': 'policy failed',
  'decision.refused': 'a decision of the policy was refused',
  'server.state': 'server'
};

export function eventText(event: ClusterEvent): string {
  const change = event.from && event.to ? `${event.from} → ${event.to}` : (event.to ?? '');
  const kind = words[event.kind] ?? event.kind.replace(/^job\./, '').replaceAll('_', ' ');
  const what = event.kind === 'job.state' ? change : [kind, change].filter(Boolean).join(' ');
  return event.text ? `${what}: ${event.text}` : what;
}

export function isNotable(event: ClusterEvent): boolean {
  return (
    event.kind !== 'job.progress' &&
    !(event.kind === 'job.state' && (event.to === 'starting' || event.to === 'stopping'))
  );
}
