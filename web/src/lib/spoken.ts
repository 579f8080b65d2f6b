// What is said to those who cannot see that something on the page has changed.
import { eventText, isNotable } from './events';
import type { ClusterEvent } from './types';

const namedMost = 3;

// Of the job that is shown every change of its state, of everything else what is notable; null: nothing is said.
export function sentenceOf(event: ClusterEvent, shownJob: number | null): string | null {
  const isState = event.kind === 'job.state';
  if (!isNotable(event) && !(isState && event.job_id === shownJob)) return null;
  const subject = event.job_id !== null ? `Job ${event.job_id}` : event.server !== null ? `Server ${event.server}` : '';
  if (isState && event.to) return `${subject} is now ${event.to}${event.text ? `: ${event.text}` : ''}`;
  return [subject, eventText(event).replaceAll(' → ', ' to ')].filter(Boolean).join(': ');
}

// Many sentences at a time would be listened to for minutes.
export const together = (sentences: string[]): string =>
  sentences.length > namedMost
    ? `${sentences.slice(-namedMost).join('. ')}. ${sentences.length - namedMost} more before: see Notable events.`
    : sentences.join('. ');
