// Events as sentences.
import { clock } from './format';
import type { ClusterEvent } from './types';

const instant = /\b\d{4}-\d\d-\d\dT[\d:.]+Z/g;

const words: Record<string, string> = {
  'job.submitted': 'submitted',
  'job.progress': 'progress',
  'job.attempt_failed': '', // its text says it
  'policy.changed': 'policy changed',
  'policy.planned': 'policy planned',
  'policy.called_off': 'planned policy called off',
  'policy.shadow': 'policy follows',
  'policy.failed': 'policy failed',
  'decision.refused': 'a decision of the policy was refused',
  'server.state': 'server'
};

export function eventText(event: ClusterEvent): string {
  const change = event.from && event.to ? `${event.from} → ${event.to}` : (event.to ?? '');
  const kind = words[event.kind] ?? event.kind.replace(/^job\./, '').replaceAll(/[._]/g, ' ');
  const what = event.kind === 'job.state' ? change : [kind, change].filter(Boolean).join(' ');
  return [what, event.text.replaceAll(instant, (at) => clock(at))].filter(Boolean).join(': ');
}

const ordinaryStates = ['pending', 'starting', 'stopping', 'running', 'succeeded', 'held'];
const interruptions = ['preempted', 'server_lost']; // why a job goes to an ordinary state
const ordinaryKinds = ['job.progress', 'job.submitted', 'job.image', 'job.checkpoint_copied', 'job.files_removed'];

// What somebody who looks after the cluster would want to know: failures, interruptions, servers, GPUs and policies; not
// that jobs come, run and end as they should. The rule of `notable=true` of GET /events, for what the stream tells.
export function isNotable({ kind, to, text }: Pick<ClusterEvent, 'kind' | 'to' | 'text'>): boolean {
  if (kind === 'job.state') return !ordinaryStates.includes(to ?? '') || interruptions.includes(text ?? '');
  return !ordinaryKinds.includes(kind);
}

// The latest of them.
export const latestNotable = 'events?notable=true&limit=12';
