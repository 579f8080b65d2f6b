import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { dashes } from './dashes';
import { clock, duration } from './format';
import { tickTexts } from './numbers';

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
  isLong?: boolean; // of durations from less than a second to days: the axis is logarithmic, but for its beginning
  hasDurations?: boolean; // x is in seconds
  areDurations?: boolean; // the values are
  areCounts?: boolean; // the values are, or means of such
  group?: string; // charts of a group have one cursor, and one zoom
  most?: number; // the axis begins at 0 and reaches at least to this
  height?: number;
}

const clocks = (_: uPlot, seconds: number[]): string[] =>
  seconds.map((at) => clock(new Date(at * 1000).toISOString()).replace(/:\d\d( UTC)?$/, ''));

const day = 86_400;
const durationSteps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200, day, 2 * day, 5 * day, 10 * day, 30 * day, 100 * day, 365 * day];
const longDurations = [0, 1, 10, 60, 600, 3600, 21_600, day, 7 * day, 30 * day, 365 * day];
const longNumbers = [0, 1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 100_000];
const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480].map((minutes) => minutes * 60);
const fineSteps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
const wholeSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000];

const durations = (_: uPlot, seconds: number[]): string[] =>
  seconds.map((each) => (each === null ? '' : duration(Math.round(each))));

const numbers = (_: uPlot, ticks: (number | null)[], __: number, ___: number, step: number): string[] => tickTexts(ticks, step);

// As wide as the longest label of its ticks, so that none is under the axis' name.
const roomOf = (least: number) => (_: uPlot, labels: string[] | null): number =>
  Math.max(least, 20 + 7.5 * Math.max(0, ...(labels ?? []).map((label) => label.length)));

// Those that leave room for their labels.
function roomy(plot: uPlot, splits: number[]): (number | null)[] {
  let last = -Infinity;
  return splits.map((split) => {
    const at = plot.valToPos(split, 'x');
    if (at - last < 58) return null;
    last = at;
    return split;
  });
}

export interface Drawn {
  destroy: () => void;
  point: (index: number) => void; // puts the cursor there
  mark: (span: Span | null) => void; // shades that part
  stress: (line: string | null) => void; // the other lines fade; null, or one that is not here: none does
}

export interface Span {
  from: number; // of x
  to: number;
}

// Draws into an empty element as wide as its container; tells which point the cursor is at, and which line is near it;
// null: none.
export function draw(
  element: HTMLElement,
  curve: Curve,
  tell: (index: number | null) => void,
  near: (line: string | null) => void = () => undefined
): Drawn {
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
  const shade = document.createElement('div');
  shade.className = 'span';
  let span: Span | null = null;
  function place(drawn: uPlot): void {
    const [left, right] = span ? [drawn.valToPos(span.from, 'x'), drawn.valToPos(span.to, 'x')] : [0, 0];
    const [first, end] = [Math.max(0, left), Math.min(drawn.over.clientWidth, right)];
    shade.style.display = span && end >= first ? '' : 'none';
    shade.style.left = `${first}px`;
    shade.style.width = `${Math.max(2, end - first)}px`;
  }
  const plot = new uPlot(
    {
      ...size(),
      scales: {
        x: { time: curve.isTime ?? false, ...(curve.isLong ? { distr: 4 as const, asinh: 1 } : {}) },
        ...(most === undefined
          ? {}
          : { y: { range: (_: uPlot, __: number, high: number): [number, number] => [0, high > most ? 1.05 * high : most] } })
      },
      legend: { show: false },
      padding: [null, 24, null, null],
      focus: { alpha: 0.25 },
      cursor: {
        points: { size: 7 },
        focus: { prox: lines.length > 1 ? 24 : -1 },
        ...(curve.group ? { sync: { key: curve.group, scales: ['x', null] as [string, null] } } : {})
      },
      hooks: {
        setCursor: [({ cursor }) => tell(cursor.idx ?? null)],
        setSeries: [(_, at) => near(lines[(at ?? 0) - 1]?.name ?? null)],
        draw: [place]
      },
      axes: [
        { ...axis(curve.xLabel), ...(curve.isTime
            ? { values: clocks, incrs: timeSteps }
            : curve.hasDurations
              ? { values: durations, incrs: durationSteps, space: 80 }
              : { incrs: curve.x.every(Number.isInteger) ? wholeSteps : [...fineSteps, ...wholeSteps] }),
          ...(curve.isLong
            ? {
                filter: roomy, // uPlot would label powers of ten only
                splits: (_: uPlot, __: number, low: number, high: number): number[] =>
                  (curve.hasDurations ? longDurations : longNumbers).filter((each) => each >= low && each <= high)
              }
            : {})
        },
        { ...axis(curve.yLabel), size: roomOf(curve.areDurations ? 84 : 60), ...(curve.areDurations ? { values: durations, incrs: durationSteps } : { values: numbers, ...(curve.areCounts ? { incrs: wholeSteps } : {}) }) }
      ],
      series: [{}, ...series, ...(range ? [edge, edge] : [])],
      ...(range ? { bands: [{ series: [last + 2, last + 1], fill: colour('--sunken') }] } : {})
    },
    [curve.x, ...lines.map(({ y }) => y), ...(range ? [range.low, range.high] : [])],
    element
  );
  plot.over.prepend(shade);
  const watcher = new ResizeObserver(() => plot.setSize(size()));
  watcher.observe(element);
  return {
    // Far from all lines, so that none counts as pointed at.
    point: (index) => plot.setCursor({ left: plot.valToPos(curve.x[index] ?? 0, 'x'), top: -1000 }),
    mark: (wanted) => {
      span = wanted;
      place(plot);
    },
    stress: (line) => {
      const at = lines.findIndex(({ name }) => name === line);
      plot.setSeries(at < 0 ? null : at + 1, { focus: true }, false); // what is told from elsewhere is not told again
    },
    destroy: () => {
      watcher.disconnect();
      plot.destroy();
    }
  };
}
