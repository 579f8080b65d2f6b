// The numbers of a Gantt chart as boxes that the page draws itself.
import { rowsIn } from './csv';
import type { Hold, Server } from './types';

export interface GanttBox {
  job: string;
  from: number; // seconds since the first submission
  to: number;
  where: string; // "gpu0:0-3"
  row: number; // its first GPU, counted over all servers from 0
  rows: number;
  end: string; // failed, interrupted or nothing
}

export interface Gantt {
  boxes: GanttBox[]; // by time, then by row
  servers: { name: string; row: number; gpus: number }[]; // those that held a job
  rows: number;
  seconds: number; // to the end of the last
}

export const boxesMost = 1500;

// "job_id,from_s,to_s,server,gpu_first,gpu_last,end". null if this is better left to a picture: there is too much of it, it
// is a map of shares, or jobs share GPUs, which one row per GPU cannot show.
export function ganttOf(csv: string): Gantt | null {
  const [head = [], ...lines] = rowsIn(csv);
  const at = (name: string): number => head.indexOf(name);
  const [job, from, to, server, first, last, end] = ['job_id', 'from_s', 'to_s', 'server', 'gpu_first', 'gpu_last', 'end'].map(at) as [number, number, number, number, number, number, number];
  if (Math.min(job, from, to, server, first, last, end) < 0 || lines.length > boxesMost || lines.length === 0) return null;
  const gpus = new Map<string, number>();
  for (const line of lines) gpus.set(line[server] ?? '', Math.max(gpus.get(line[server] ?? '') ?? 0, Number(line[last]) + 1));
  let rows = 0;
  const servers = [...gpus]
    .sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .map(([name, count]) => ({ name, row: (rows += count) - count, gpus: count }));
  const rowOf = new Map(servers.map(({ name, row }) => [name, row]));
  const boxes = lines
    .map((line): GanttBox => {
      const [low, high] = [Number(line[first]), Number(line[last])];
      const name = line[server] ?? '';
      return {
        job: line[job] ?? '',
        from: Number(line[from]),
        to: Number(line[to]),
        where: `${name}:${low}${high > low ? `-${high}` : ''}`,
        row: (rowOf.get(name) ?? 0) + low,
        rows: high - low + 1,
        end: line[end] ?? ''
      };
    })
    .sort((a, b) => a.from - b.from || a.row - b.row);
  const freeAt = new Array<number>(rows).fill(0);
  for (const box of boxes)
    for (let row = box.row; row < box.row + box.rows; row += 1) {
      if ((freeAt[row] ?? 0) > box.from + 1e-6) return null;
      freeAt[row] = box.to;
    }
  return { boxes, servers, rows, seconds: Math.max(...boxes.map((box) => box.to)) };
}

export interface Schedule {
  gantt: Gantt;
  endless: number; // boxes that have no known end
}

// The same jobs under several policies, as charts on one axis from `from` to the last known end of all; what has none goes on
// to the end of the axis. Jobs that share a GPU are drawn as if one of them had it.
export function schedulesOf(schedules: Hold[][], servers: Pick<Server, 'name' | 'gpus'>[], from: number): Schedule[] {
  const ends = schedules.flat().map(({ to, from: begin }) => Date.parse(to ?? begin));
  const seconds = Math.max(60, ((ends.length > 0 ? Math.max(...ends) : from) - from) / 1000);
  const used = new Set(schedules.flat().map(({ server }) => server));
  let rows = 0;
  const known = servers
    .filter(({ name }) => used.has(name))
    .map(({ name, gpus }) => ({ name, row: (rows += gpus.length) - gpus.length, gpus: gpus.length }));
  const rowOf = new Map(known.map(({ name, row }) => [name, row]));
  const boxesOf = ({ job_id, server, gpus, from: begin, to }: Hold): GanttBox[] =>
    runsOf(gpus).map(([low, high]) => ({
      job: String(job_id),
      from: Math.max(0, (Date.parse(begin) - from) / 1000),
      to: to === null ? seconds : (Date.parse(to) - from) / 1000,
      where: `${server}:${low}${high > low ? `-${high}` : ''}`,
      row: (rowOf.get(server) ?? 0) + low,
      rows: high - low + 1,
      end: to === null ? 'endless' : ''
    }));
  return schedules.map((holds) => ({
    gantt: {
      boxes: holds.flatMap(boxesOf).sort((a, b) => a.from - b.from || a.row - b.row),
      servers: known,
      rows,
      seconds
    },
    endless: holds.filter(({ to }) => to === null).length
  }));
}

// [0, 1, 3] is [[0, 1], [3, 3]].
function runsOf(numbers: number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs;
}

const steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400];

// Where the labels of an axis stand: at 0 and up to `most` round times after it.
export function ticksOf(seconds: number, most = 6): number[] {
  const days = Math.ceil(seconds / most / 86_400) * 86_400;
  const step = steps.find((each) => seconds / each <= most) ?? days;
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, i) => i * step);
}
