// The signs of states: symbol, word and colour, the same everywhere. The colour alone says nothing.
import type { JobState } from './types';

export interface Sign {
  symbol: string;
  tone: string; // a class of app.css
}

const signs: Record<JobState, Sign> = {
  pending: { symbol: '○', tone: 'waits' },
  held: { symbol: '○', tone: 'waits' },
  starting: { symbol: '◐', tone: 'moves' },
  migrating: { symbol: '◐', tone: 'moves' },
  resizing: { symbol: '◐', tone: 'moves' },
  stopping: { symbol: '◐', tone: 'moves' },
  running: { symbol: '●', tone: 'runs' },
  suspended: { symbol: '‖', tone: 'stands' },
  succeeded: { symbol: '✓', tone: 'good' },
  failed: { symbol: '✗', tone: 'bad' },
  cancelled: { symbol: '⊘', tone: 'gone' }
};

const serverSigns: Record<string, Sign> = {
  up: { symbol: '●', tone: 'good' },
  joining: { symbol: '◐', tone: 'moves' },
  draining: { symbol: '◐', tone: 'moves' },
  drained: { symbol: '○', tone: 'waits' },
  quarantined: { symbol: '‖', tone: 'bad' },
  down: { symbol: '✗', tone: 'bad' }
};

export const jobStates = Object.keys(signs) as JobState[];
export const signOf = (state: string): Sign =>
  (signs as Record<string, Sign>)[state] ?? serverSigns[state] ?? { symbol: '○', tone: 'waits' };

export const isFinished = (state: string): boolean =>
  state === 'succeeded' || state === 'failed' || state === 'cancelled';
export const isWaiting = (state: string): boolean => state === 'pending' || state === 'held';
