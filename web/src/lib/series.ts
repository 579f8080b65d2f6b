// What was measured over time, as charts: which lines belong together, and what they say in words.
import { numberText } from './numbers';
import type { Series } from './types';

export interface SeriesGroup {
  title: string;
  names: Record<string, string>; // of the API: as people read it
  unit: string;
  divisor?: number; // of the values
  most?: number; // the axis reaches at least to this
}

const gpuLines = (name: string): Record<string, string> => ({ [name]: '' });

export const clusterGroups: SeriesGroup[] = [
  { title: 'GPUs', names: { gpus_allocated: 'in use', gpus_total: 'all' }, unit: 'GPUs', most: 1 },
  { title: 'GPU utilization', names: { gpu_utilization_pct: 'mean' }, unit: '%', most: 100 },
  { title: 'Jobs', names: { jobs_running: 'running', jobs_pending: 'pending' }, unit: 'jobs', most: 1 }
];

export const gpuGroups: SeriesGroup[] = [
  { title: 'GPU utilization', names: gpuLines('gpu_utilization_pct'), unit: '%', most: 100 },
  { title: 'GPU memory', names: gpuLines('gpu_memory_used_bytes'), unit: 'GiB', divisor: 2 ** 30, most: 1 },
  { title: 'GPU temperature', names: gpuLines('gpu_temperature_celsius'), unit: '°C', most: 50 },
  { title: 'GPU power', names: gpuLines('gpu_power_watts'), unit: 'W', most: 50 }
];

export const serverGroups: SeriesGroup[] = [
  ...gpuGroups,
  { title: 'CPUs', names: gpuLines('cpu_utilization_pct'), unit: '%', most: 100 },
  { title: 'Memory', names: gpuLines('memory_used_bytes'), unit: 'GiB', divisor: 2 ** 30, most: 1 }
];

// Of a job: all on one axis of time.
export const jobGroups: SeriesGroup[] = [
  ...gpuGroups,
  { title: 'CPUs of its servers', names: gpuLines('cpu_utilization_pct'), unit: '%', most: 100 },
  { title: 'Memory of its servers', names: gpuLines('memory_used_bytes'), unit: 'GiB', divisor: 2 ** 30, most: 1 },
  { title: 'Loss', names: { loss: 'loss' }, unit: 'loss' },
  { title: 'Accuracy', names: { accuracy: 'accuracy' }, unit: 'accuracy' },
  { title: 'Progress', names: { done: 'done' }, unit: 'done' }
];

export interface SeriesLine {
  name: string;
  y: (number | null)[];
}

export interface SeriesChart {
  title: string;
  unit: string;
  most?: number;
  x: number[]; // seconds since 1970
  lines: SeriesLine[];
  summary: string;
}

export const linesMost = 8; // more cannot be told apart

// "3 GPUs", "1 GPU"; what is its own unit, as a loss is, has none.
function withUnit(text: string, unit: string, name: string): string {
  if (unit === name) return text;
  return `${text} ${text === '1' ? unit.replace(/s$/, '') : unit}`;
}

function summaryOf(lines: SeriesLine[], unit: string): string {
  return lines
    .map(({ name, y }) => {
      const values = y.filter((value) => value !== null);
      const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
      const last = withUnit(numberText(values.at(-1) ?? 0), unit, name);
      return `${name}${name ? ': ' : ''}${last} at last, ${numberText(mean)} on average`;
    })
    .join('; ');
}

// The mean of many lines, step by step.
function together(lines: SeriesLine[]): SeriesLine {
  const steps = lines[0]?.y.length ?? 0;
  const y = Array.from({ length: steps }, (_, i) => {
    const values = lines.map((line) => line.y[i] ?? null).filter((value) => value !== null);
    return values.length > 0 ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
  });
  return { name: `mean of ${lines.length} ${lines[0]?.name.includes(':') ? 'GPUs' : 'servers'}`, y };
}

// The groups of which anything was measured, from the first value on, if there are two. GPUs are called as tables call them: "gpu3:0".
export function chartsOf(series: Series, groups: SeriesGroup[]): SeriesChart[] {
  const from = Date.parse(series.from) / 1000;
  const measured = series.series.flatMap(({ values }) => values.findIndex((value) => value !== null)).filter((i) => i >= 0);
  const first = Math.min(...measured); // nothing is shown from before
  const steps = (series.series[0]?.values.length ?? 0) - first;
  if (!(steps > 1)) return [];
  const x = Array.from({ length: steps }, (_, i) => from + (first + i) * series.step_s);
  return groups.flatMap(({ title, names, unit, divisor = 1, most }) => {
    const all = series.series
      .filter((line) => line.name in names && line.values.some((value) => value !== null))
      .map(({ name, labels, values }) => ({
        name: names[name] || [labels['server'], labels['gpu']].filter((label) => label !== undefined).join(':'),
        y: values.slice(first).map((value) => (value === null ? null : value / divisor))
      }))
      .sort((a, b) => Object.values(names).indexOf(a.name) - Object.values(names).indexOf(b.name));
    if (all.length === 0) return [];
    const lines = all.length > linesMost ? [together(all)] : all;
    return [{ title, unit, ...(most === undefined ? {} : { most }), x, lines, summary: summaryOf(lines, unit) }];
  });
}
