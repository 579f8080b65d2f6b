import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { dashes } from './dashes';
import { clock } from './format';

export interface Line {
  name: string;
  y: (number | null)[]; // null: a gap
  isStep?: boolean; // it stays until the next value
}

export interface Curve {
  x: number[]; // of times: seconds since 1970
  lines: Line[];
  range?: { low: (number | null)[]; high: (number | null)[] }; // around the first line
  xLabel: string;
  yLabel: string;
  isTime?: boolean;
  most?: number; // the axis begins at 0 and reaches at least to this
  height?: number;
}

const clocks = (_: uPlot, seconds: number[]): string[] =>
  seconds.map((at) => clock(new Date(at * 1000).toISOString()).replace(/:\d\d( UTC)?$/, ''));

const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480].map((minutes) => minutes * 60);
const wholeSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000];

// Draws into an empty element as wide as its container.
export function draw(element: HTMLElement, curve: Curve): { destroy: () => void } {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const height = curve.height ?? 280;
  const axis = (label: string): uPlot.Axis => ({
    ...(label ? { label } : {}),
    stroke: colour('--ink-soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 }
  });
  const edge: uPlot.Series = { stroke: colour('--line-strong'), width: 1, points: { show: false } };
  const { range, lines, most } = curve;
  const size = (): { width: number; height: number } => ({ width: Math.max(240, element.clientWidth), height });
  const series = lines.map(({ y, isStep }, i): uPlot.Series => {
    return {
      stroke: colour(`--line-${i % dashes.length}`),
      dash: dashes[i % dashes.length] ?? [],
      width: 2,
      points: { show: y.filter((value) => value !== null).length < 60 && !isStep },
      ...(isStep && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {})
    };
  });
  const last = lines.length;
  const plot = new uPlot(
    {
      ...size(),
      scales: {
        x: { time: curve.isTime ?? false },
        ...(most === undefined
          ? {}
          : { y: { range: (_: uPlot, __: number, high: number): [number, number] => [0, Math.max(most, high)] } })
      },
      legend: { show: false },
      axes: [
        { ...axis(curve.xLabel), ...(curve.isTime ? { values: clocks, incrs: timeSteps } : { incrs: wholeSteps }) },
        { ...axis(curve.yLabel), size: 60 }
      ],
      series: [{}, ...series, ...(range ? [edge, edge] : [])],
      ...(range ? { bands: [{ series: [last + 2, last + 1], fill: colour('--sunken') }] } : {})
    },
    [curve.x, ...lines.map(({ y }) => y), ...(range ? [range.low, range.high] : [])],
    element
  );
  const watcher = new ResizeObserver(() => plot.setSize(size()));
  watcher.observe(element);
  return {
    destroy: () => {
      watcher.disconnect();
      plot.destroy();
    }
  };
}
