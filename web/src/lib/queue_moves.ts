// What puts a job at another place of a line: `to` is the place of the one that it goes in front of, and the length of
// the line means behind all.
import { commandLine } from './format';
import type { Job, JobChange, QueuedJob } from './types';

const lowestOf = (line: Job[]): number => Math.min(...line.map(({ priority }) => priority)) - 1;

export function changeFor(line: Job[], to: number): JobChange {
  const before = line[to];
  return before ? { before: before.id } : { priority: lowestOf(line) };
}

export function commandFor(line: Job[], job: Job, to: number): string {
  const before = line[to];
  return commandLine('set', job.id, ...(before ? ['--before', before.id] : ['--priority', lowestOf(line)]));
}

// The place in line that follows, from 1: behind itself others move up by as many as it is.
export function placeAfter(line: QueuedJob[], from: number, to: number): number | undefined {
  const last = line.at(-1);
  const end = last && last.position !== null ? last.position + last.in_line : null;
  const place = line[to] ? line[to].position : end;
  if (place === null) return undefined;
  return to > from ? place - (line[from]?.in_line ?? 1) : place;
}

// Where a job goes that takes one step; null: it is at that end.
export function stepFrom(from: number, by: 1 | -1, length: number): number | null {
  const to = by < 0 ? from - 1 : from + 2;
  return to < 0 || to > length ? null : to;
}
