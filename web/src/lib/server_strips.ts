// A day of each server as a strip of cells: how busy its GPUs were, or which part of them jobs held.
import type { Series, Server } from './types';

export type StripView = 'busy' | 'held';

export interface Strip {
  server: string;
  cells: (number | null)[]; // 0 to 100 each; null: not measured
  mean: number | null;
}

export interface Strips {
  from: number; // ms since 1970, of the first cell
  stepMs: number;
  strips: Strip[]; // as the servers
}

const meanOf = (cells: (number | null)[]): number | null => {
  const known = cells.filter((cell) => cell !== null);
  return known.length > 0 ? known.reduce((sum, cell) => sum + cell, 0) / known.length : null;
};

// Of servers that were not measured all cells are null.
export function stripsOf(series: Series, servers: Pick<Server, 'name' | 'gpus'>[], view: StripView): Strips {
  const name = view === 'busy' ? 'gpu_utilization_pct' : 'gpus_allocated';
  const lines = new Map(
    series.series.filter((line) => line.name === name).map((line) => [line.labels['server'], line.values])
  );
  const steps = series.series[0]?.values.length ?? 0;
  const strips = servers.map(({ name: server, gpus }) => {
    const values = lines.get(server) ?? new Array<null>(steps).fill(null);
    const cells = values.map((value) =>
      value === null ? null : view === 'busy' ? value : gpus.length > 0 ? Math.min(100, (100 * value) / gpus.length) : null
    );
    return { server, cells, mean: meanOf(cells) };
  });
  return { from: Date.parse(series.from), stepMs: series.step_s * 1000, strips };
}

export const isMeasured = ({ strips }: Strips): boolean => strips.some(({ mean }) => mean !== null);

// As a background: bands of equal cells, darker for more. What was not measured is left empty.
export function bandsOf(cells: (number | null)[]): string {
  const shades = cells.map((cell) => (cell === null ? null : Math.round(cell / 10) * 10));
  const stops: string[] = [];
  for (let i = 0; i < shades.length;) {
    let end = i + 1;
    while (end < shades.length && shades[end] === shades[i]) end += 1;
    const shade = shades[i] ?? null;
    const colour = shade === null ? 'transparent' : `color-mix(in srgb, var(--runs) ${shade}%, var(--sunken))`;
    const at = (cell: number): string => `${((100 * cell) / shades.length).toFixed(2)}%`;
    stops.push(`${colour} ${at(i)} ${at(end)}`);
    i = end;
  }
  return stops.length > 0 ? `linear-gradient(to right, ${stops.join(', ')})` : 'none';
}

// Means of an hour each, the latest first, for a table.
export function hoursOf({ from, stepMs, strips }: Strips): { at: number; values: (number | null)[] }[] {
  const perHour = Math.max(1, Math.round(3_600_000 / stepMs));
  const steps = strips[0]?.cells.length ?? 0;
  return Array.from({ length: Math.ceil(steps / perHour) }, (_, hour) => ({
    at: from + hour * perHour * stepMs,
    values: strips.map(({ cells }) => meanOf(cells.slice(hour * perHour, (hour + 1) * perHour)))
  }))
    .filter(({ values }) => values.some((value) => value !== null))
    .reverse();
}
