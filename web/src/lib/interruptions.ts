// Why a job is not at its first attempt any more, in words.
import { plural } from './format';
import { isWaiting } from './states';
import type { Job } from './types';

type Subject = Pick<Job, 'state' | 'attempt' | 'migrations' | 'resizes' | 'preemptions'>;

// Attempts that nothing else explains began anew after a failure, a suspension or the loss of a server: the events of the
// job say which.
export function interruptionsText({ state, attempt, migrations, resizes, preemptions }: Subject): string {
  const counts: [number, string][] = [
    [migrations, 'move'],
    [resizes, 'resize'],
    [preemptions, 'interruption'],
    [attempt - 1 - migrations - resizes - preemptions, 'restart']
  ];
  const texts = counts.filter(([count]) => count > 0).map(([count, noun]) => plural(count, noun));
  if (texts.length > 0) return `after ${texts.join(', ')}`;
  return isWaiting(state) && attempt > 0 ? 'has ended' : 'uninterrupted';
}
