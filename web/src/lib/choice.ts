// Which rows of a table of jobs are chosen.
import { isNested } from './members';
import type { Job } from './types';

export function withChosen(chosen: ReadonlySet<number>, ids: number[], on: boolean): Set<number> {
  const next = new Set(chosen);
  for (const id of ids) on ? next.add(id) : next.delete(id);
  return next;
}

// What "all" means: members that stand below their array come with it.
export const choosable = (jobs: Job[], opened: ReadonlyMap<number, Job[]>): number[] =>
  jobs.filter((job) => !isNested(job, opened)).map(({ id }) => id);

export function howMany(ids: number[], chosen: ReadonlySet<number>): 'none' | 'some' | 'all' {
  const count = ids.filter((id) => chosen.has(id)).length;
  return count === 0 ? 'none' : count === ids.length ? 'all' : 'some';
}

// The rows from one job to another, in either direction; if the first is not there any more, the other alone.
export function between(jobs: Job[], from: number | null, to: number): number[] {
  const ids = jobs.map(({ id }) => id);
  const ends = [from === null ? -1 : ids.indexOf(from), ids.indexOf(to)];
  return ends.includes(-1) ? [to] : ids.slice(Math.min(...ends), Math.max(...ends) + 1);
}
