// What the map of GPUs shows: how full a tile is, what that means, and which colour a user or a job has.
import { percent } from './format';
import type { Gpu } from './types';

export const views = ['utilization', 'memory', 'temperature', 'power', 'user', 'job'] as const;
export type View = (typeof views)[number];

export const viewOf = (text: string | null): View => views.find((view) => view === text) ?? 'utilization';

const share = (used: number | null, of: number | null): number | null => (used !== null && of ? (100 * used) / of : null);

export const memoryShare = (gpu: Gpu): number | null => share(gpu.memory_used_bytes, gpu.memory_total_bytes);

// What a full tile means: the highest power seen, in steps of 100 W, since no GPU says what it may draw.
export function fullPower(gpus: Gpu[]): number {
  const most = gpus.reduce((sofar, { power_watts }) => Math.max(sofar, power_watts ?? 0), 0);
  return Math.max(100, Math.ceil(most / 100) * 100);
}

// 0 to 100; null: not known, or not a quantity.
export function levelOf(gpu: Gpu, view: View, powerMost: number): number | null {
  if (view === 'memory') return memoryShare(gpu);
  if (view === 'temperature') return gpu.temperature_celsius;
  if (view === 'power') return share(gpu.power_watts, powerMost);
  if (view === 'utilization') return gpu.utilization_pct;
  return null;
}

// What a tile says of it.
export function valueOf(gpu: Gpu, view: View): string {
  if (view === 'user') return gpu.user ?? '';
  if (view === 'job') return '';
  if (view === 'temperature') return gpu.temperature_celsius === null ? '' : `${Math.round(gpu.temperature_celsius)} °C`;
  if (view === 'power') return gpu.power_watts === null ? '' : `${Math.round(gpu.power_watts)} W`;
  const level = levelOf(gpu, view, 0);
  return level === null ? '' : percent(level);
}

export const scaleOf = (view: View, powerMost: number): string | null =>
  ({
    utilization: 'Fill: utilization, full at 100 %',
    memory: 'Fill: memory in use, full at 100 %',
    temperature: 'Fill: temperature, full at 100 °C',
    power: `Fill: power, full at ${powerMost} W`,
    user: null,
    job: null
  })[view];

export interface Owner {
  name: string; // of a user, or the number of a job
  gpus: number;
  colour: number | null; // 0 to 7; null: one of the others
}

export const coloursMost = 8; // more cannot be told apart

export const ownerOf = (gpu: Gpu, view: View): string | null =>
  view === 'user' ? gpu.user : gpu.job_id === null ? null : String(gpu.job_id);

// Those who hold most GPUs first; equal ones in the order of their names, so that colours stay.
export function ownersOf(gpus: Gpu[], view: View): Owner[] {
  const counts = new Map<string, number>();
  for (const gpu of gpus) {
    const name = ownerOf(gpu, view);
    if (name !== null) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .sort(([a, more], [b, less]) => less - more || a.localeCompare(b, 'en', { numeric: true }))
    .map(([name, number], i) => ({ name, gpus: number, colour: i < coloursMost ? i : null }));
}
