// What puts a job at another place of a line: `to` is the place of the one that it goes in front of, and the length of
// the line means behind all.
import type { Job, JobChange } from './types';

const lowestOf = (line: Job[]): number => Math.min(...line.map(({ priority }) => priority)) - 1;

export function changeFor(line: Job[], to: number): JobChange {
  const before = line[to];
  return before ? { before: before.id } : { priority: lowestOf(line) };
}

export function commandFor(line: Job[], job: Job, to: number): string {
  const before = line[to];
  return `schedulearn set ${job.id} ${before ? `--before ${before.id}` : `--priority ${lowestOf(line)}`}`;
}

// Where a job goes that takes one step; null: it is at that end.
export function stepFrom(from: number, by: 1 | -1, length: number): number | null {
  const to = by < 0 ? from - 1 : from + 2;
  return to < 0 || to > length ? null : to;
}
