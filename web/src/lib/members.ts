// Arrays and sweeps: one job that stands for many, its members.
import { count, plural } from './format';
import type { Job } from './types';

export type Members = NonNullable<Job['members']>;

// In the order in which they are named, with the state whose sign and colour stands for each.
export const memberStates = [
  { key: 'running', state: 'running' },
  { key: 'waiting', state: 'pending' },
  { key: 'succeeded', state: 'succeeded' },
  { key: 'failed', state: 'failed' },
  { key: 'cancelled', state: 'cancelled' }
] as const;

// "3 running, 40 waiting, 2 failed", in the words of `schedulearn ls`.
export const membersText = (members: Members): string =>
  memberStates
    .filter(({ key }) => members[key] > 0)
    .map(({ key }) => `${count(members[key])} ${key}`)
    .join(', ');

// What cancelling an array does, in numbers.
export function cancelled(members: Members, signal: string): string {
  const that = (of: number, one: string, many: string): string => `${plural(of, 'member')} that ${of === 1 ? one : many}`;
  return [
    `${that(members.waiting, 'waits never starts', 'wait never start')}.`,
    `${that(members.running, `runs gets ${signal} and, if it has not ended after 30 s, is killed`, `run get ${signal} and, if they have not ended after 30 s, are killed`)}.`,
    `${that(ended(members), 'has ended stays as it is', 'have ended stay as they are')}.`
  ].join(' ');
}

export const ended = (members: Members): number => members.succeeded + members.failed + members.cancelled;

// Members that have come up stand below their group, newest first, as they are listed everywhere.
export function withMembers(jobs: Job[], opened: ReadonlyMap<number, Job[]>): Job[] {
  if (opened.size === 0) return jobs;
  return jobs.flatMap((job) => [job, ...(job.members ? (opened.get(job.id) ?? []) : [])]);
}

// How many rows of such a list there are before this one that are not members: where it is among the jobs alone.
export function placeAmongJobs(rows: Job[], row: number, opened: ReadonlyMap<number, Job[]>): number {
  if (opened.size === 0) return row;
  let nested = 0;
  for (const each of rows.slice(0, row)) if (isNested(each, opened)) nested += 1;
  return row - nested;
}

// "5", or "12_7": member 7 of array 12.
export const isJobNumber = (text: string): boolean => /^[1-9]\d{0,14}(_\d{1,9})?$/.test(text);
export const isMemberNumber = (text: string): boolean => isJobNumber(text) && text.includes('_');

export const isNested = (job: Job, opened: ReadonlyMap<number, Job[]>): boolean =>
  job.group_id !== null && job.group_id !== undefined && opened.has(job.group_id);

// "lr=0.1 seed=2": what a member of a sweep was given. The last key varies fastest (src/wire/members.h).
export function parametersOf(matrix: Record<string, string[]>, index: number): string {
  const given: string[] = [];
  let rest = index;
  for (const key of Object.keys(matrix).sort().reverse()) {
    const values = matrix[key] ?? [];
    given.unshift(`${key}=${values[rest % values.length] ?? ''}`);
    rest = Math.floor(rest / Math.max(1, values.length));
  }
  return given.join(' ');
}

// What happens to several jobs and arrays at once, in numbers.
export interface Extent {
  jobs: number; // members counted one by one
  running: number;
  waiting: number;
  gpus: number; // that those hold which run, or ask for at least
}

export function extentOf(jobs: Job[]): Extent {
  const extent: Extent = { jobs: 0, running: 0, waiting: 0, gpus: 0 };
  for (const { members, placement, spec, started_at, state } of jobs) {
    const held = placement.reduce((sum, part) => sum + part.gpus.length, 0);
    const runs = members ? members.running : held > 0 || (started_at !== null && state !== 'pending' && state !== 'held') ? 1 : 0;
    const all = members ? members.running + members.waiting : 1;
    extent.jobs += all;
    extent.running += runs;
    extent.waiting += all - runs;
    extent.gpus += members ? members.running * spec.gpus.min : held;
  }
  return extent;
}
