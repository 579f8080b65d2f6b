// When waiting jobs are expected to start, on one axis of time.
import { plural, soon } from './format';
import type { QueuedJob } from './types';

export interface StartRange {
  id: number;
  name: string;
  p10: number; // milliseconds since 1970
  p50: number;
  p90: number;
}

export interface StartAxis {
  ranges: StartRange[]; // in the order of the line
  unknown: number; // jobs of which no start is known
  from: number;
  to: number;
  ticks: number[];
  summary: string;
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
const ticksMost = 6;

// Round steps of time after `from`, at most six.
export function ticksBetween(from: number, to: number): number[] {
  const seconds = Math.max(1, (to - from) / 1000);
  const step = 1000 * (steps.find((each) => seconds / each <= ticksMost) ?? Math.ceil(seconds / ticksMost / 604800) * 604800);
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}

export function startAxis(jobs: QueuedJob[], now: number): StartAxis {
  const ranges = jobs.flatMap(({ id, name, estimate }) => {
    const start = estimate?.start;
    if (!start) return [];
    return [{ id, name, p10: Date.parse(start.p10), p50: Date.parse(start.p50), p90: Date.parse(start.p90) }];
  });
  const unknown = jobs.length - ranges.length;
  const from = Math.min(now, ...ranges.map(({ p10 }) => p10));
  const to = Math.max(from + 1000, ...ranges.map(({ p90 }) => p90));
  const first = ranges[0];
  const last = ranges.reduce<StartRange | undefined>((latest, each) => (!latest || each.p50 > latest.p50 ? each : latest), undefined);
  const time = (at: number): string => soon(new Date(at).toISOString(), new Date(now));
  const known =
    first && last
      ? `Job ${first.id}, the first in line, starts about ${time(first.p50)}${last.id === first.id ? '' : `; the last of them, job ${last.id}, about ${time(last.p50)}`}.`
      : '';
  const rest = unknown > 0 ? `No start is known of ${plural(unknown, 'row')}.` : '';
  return { ranges, unknown, from, to, ticks: ticksBetween(from, to), summary: [known, rest].filter(Boolean).join(' ') };
}
