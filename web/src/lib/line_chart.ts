import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { clock } from './format';

export interface Curve {
  x: number[]; // of times: seconds since 1970
  y: (number | null)[]; // null: a gap
  range?: { low: (number | null)[]; high: (number | null)[] };
  xLabel: string;
  yLabel: string;
  isTime?: boolean;
}

const clocks = (_: uPlot, seconds: number[]): string[] =>
  seconds.map((at) => clock(new Date(at * 1000).toISOString()).replace(/:\d\d( UTC)?$/, ''));

// Draws into an empty element as wide as its container.
export function draw(element: HTMLElement, curve: Curve): { destroy: () => void } {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = (label: string): uPlot.Axis => ({
    label,
    stroke: colour('--ink-soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1 }
  });
  const edge: uPlot.Series = { stroke: colour('--line-strong'), width: 1, points: { show: false } };
  const { range } = curve;
  const plot = new uPlot(
    {
      width: Math.max(260, element.clientWidth),
      height: 280,
      scales: { x: { time: curve.isTime ?? false } },
      legend: { show: false },
      axes: [{ ...axis(curve.xLabel), ...(curve.isTime ? { values: clocks } : {}) }, axis(curve.yLabel)],
      series: [
        {},
        { stroke: colour('--accent'), width: 2, points: { show: curve.y.length < 60 } },
        ...(range ? [edge, edge] : [])
      ],
      ...(range ? { bands: [{ series: [3, 2], fill: colour('--sunken') }] } : {})
    },
    [curve.x, curve.y, ...(range ? [range.low, range.high] : [])],
    element
  );
  const watcher = new ResizeObserver(() => plot.setSize({ width: Math.max(260, element.clientWidth), height: 280 }));
  watcher.observe(element);
  return {
    destroy: () => {
      watcher.disconnect();
      plot.destroy();
    }
  };
}
