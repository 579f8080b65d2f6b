// The numbers of a chart that the controller has drawn, as curves and bars that the page draws itself.
import { rowsIn } from './csv';
import type { Curve, Line } from './line_chart';

// "panel,series,x,y,low,high": each panel with its series, on one axis. A point at the same place as the one before is
// a step there, so the last of them counts, until the next; not `isStep`: points that lines connect.
export function curvesOf(csv: string, isStep = true): { title: string; curve: Pick<Curve, 'x' | 'lines'> }[] {
  const [head = [], ...rows] = rowsIn(csv);
  const column = (name: string): number => head.indexOf(name);
  const [panel, series, x, y] = ['panel', 'series', 'x', 'y'].map(column) as [number, number, number, number];
  if (panel < 0 || series < 0 || x < 0 || y < 0) return [];
  const panels = new Map<string, Map<string, Map<number, number>>>();
  for (const row of rows) {
    const lines = panels.get(row[panel] ?? '') ?? new Map<string, Map<number, number>>();
    panels.set(row[panel] ?? '', lines);
    const points = lines.get(row[series] ?? '') ?? new Map<number, number>();
    lines.set(row[series] ?? '', points);
    points.set(Number(row[x]), Number(row[y]));
  }
  return [...panels].map(([title, lines]) => {
    const places = [...new Set([...lines.values()].flatMap((points) => [...points.keys()]))].sort((a, b) => a - b);
    return { title, curve: { x: places, lines: [...lines].map(([name, points]) => (isStep ? steps(name, points, places) : { name, y: places.map((place) => points.get(place) ?? null) })) } };
  });
}

function steps(name: string, points: Map<number, number>, places: number[]): Line {
  const last = Math.max(...points.keys());
  let value: number | null = null;
  const y = places.map((place) => (place > last ? null : (value = points.get(place) ?? value)));
  return { name, y, isStep: true };
}

export interface Bar {
  name: string;
  value: number;
  low: number | null; // 95 % interval over seeds
  high: number | null;
}

// "metric,name,mean,low,high", the bars of one metric.
export function barsOf(csv: string, metric: string): Bar[] {
  const [head = [], ...rows] = rowsIn(csv);
  const of = (row: string[], name: string): string => row[head.indexOf(name)] ?? '';
  const numberOf = (text: string): number | null => (text === '' ? null : Number(text));
  return rows
    .filter((row) => of(row, 'metric') === metric)
    .map((row) => ({
      name: of(row, 'name'),
      value: Number(of(row, 'mean')),
      low: numberOf(of(row, 'low')),
      high: numberOf(of(row, 'high'))
    }));
}
