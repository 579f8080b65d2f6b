// Simulations: what is asked for, and what its figures mean.
import { csvOf } from './csv';
import { count, duration, plural } from './format';
import type { NewSimulation, Simulation, SimulationDetails, PolicyInfo, PolicyParameter, SimulationResult, Workload } from './types';

export const policiesMost = 4;
export const traceBytesMost = 900_000; // a request is at most 1 MiB

export interface ChosenPolicy {
  name: string;
  parameters: Record<string, string>; // as typed; several values separated by commas, lists by semicolons
}

export interface Plan {
  source: 'workload' | 'uploaded' | 'csv' | 'history';
  workload: string;
  parameters: Record<string, string>; // of the workload; empty: as they are by default
  uploaded: string; // the name of a trace
  csv: string;
  days: string;
  keepCpuJobs: boolean; // those without GPUs are simulated too
  jobCounts: string; // "50, 100": a run with each; empty: one with all
  loads: string; // "0.5, 0.8": a run at each; empty: one as the jobs come
  servers: string; // empty: those of this cluster
  policies: ChosenPolicy[];
  seeds: string;
}

export const emptyPlan: Plan = {
  source: 'workload',
  workload: 'poisson',
  parameters: {},
  uploaded: '',
  csv: '',
  days: '30',
  keepCpuJobs: false,
  jobCounts: '',
  loads: '',
  servers: '',
  policies: [
    { name: 'fifo', parameters: {} },
    { name: 'srtf', parameters: {} }
  ],
  seeds: '1'
};

const isList = ({ type }: PolicyParameter): boolean => type === 'ascending' || type === 'names';

// What a parameter's text stands for in the request: one value, or several.
function valueOf(info: PolicyParameter | undefined, text: string): unknown {
  const parts = (separator: string): string[] =>
    text
      .split(separator)
      .map((part) => part.trim())
      .filter(Boolean);
  if (!info || !isList(info)) return parts(',');
  return parts(';').map((list) => list.split(',').map((item) => item.trim()));
}

const given = (typed: Record<string, string>): [string, string][] =>
  Object.entries(typed).filter(([, text]) => text.trim() !== '');

export function bodyOf(plan: Plan, policies: PolicyInfo[]): NewSimulation {
  const trace =
    plan.source === 'csv'
      ? { csv: plan.csv }
      : plan.source === 'uploaded'
        ? { name: plan.uploaded }
        : plan.source === 'history'
          ? { history_days: Number(plan.days) }
          : {
              workload: plan.workload,
              parameters: Object.fromEntries(given(plan.parameters).map(([name, text]) => [name, text.trim()]))
            };
  return {
    trace,
    ...(plan.servers.trim() ? { servers: plan.servers.trim() } : {}),
    policies: plan.policies.map(({ name, parameters }) => {
      const infos = policies.find((info) => info.name === name)?.parameters ?? [];
      return {
        name,
        parameters: Object.fromEntries(
          given(parameters).map(([key, text]) => [
            key,
            valueOf(
              infos.find((info) => info.name === key),
              text
            )
          ])
        )
      };
    }),
    ...jobsOf(plan.jobCounts),
    ...(numbersIn(plan.loads).length > 0 ? { loads: numbersIn(plan.loads) } : {}),
    ...(plan.keepCpuJobs && plan.source !== 'workload' ? { keep_cpu_jobs: true } : {}),
    ...(plan.source === 'workload' ? { seeds: Number(plan.seeds) } : {})
  };
}

// The parameters that people set most come first; the rest is shown on request.
export const shownFirst = ({ parameters }: Workload): number => Math.min(parameters.length, 3);

const partsOf = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean);
const numbersIn = (text: string): number[] => partsOf(text).map(Number);

// What is wrong with a field for numbers, of jobs or loads; '': nothing.
function numbersFault(text: string, isRight: (value: number) => boolean, what: string): string {
  const wrong = partsOf(text).find((part) => !isRight(Number(part)));
  return wrong === undefined ? '' : `"${wrong}" is no ${what}`;
}
export const countsFault = (text: string): string =>
  numbersFault(text, (value) => Number.isInteger(value) && value > 0, 'number of jobs');
export const loadsFault = (text: string): string => numbersFault(text, (value) => Number.isFinite(value) && value > 0, 'load: write 0.8');

function jobsOf(text: string): Pick<NewSimulation, 'jobs' | 'job_counts'> {
  const counts = numbersIn(text);
  if (counts.length === 0) return {};
  return counts.length === 1 && counts[0] !== undefined ? { jobs: counts[0] } : { job_counts: counts };
}

// Of runs with several numbers of jobs those with most, of those at several loads those at the highest, in all seeds: only these
// can be compared with each other. They are the last of each setting.
export function fullest({ results, job_counts, loads, seeds }: Pick<SimulationDetails, 'results' | 'job_counts' | 'loads' | 'seeds'>): SimulationResult[] {
  const counts = Math.max(1, job_counts.length, loads.length);
  return results.filter((_, i) => i % (counts * seeds) >= (counts - 1) * seeds);
}

// What its runs with the same policy differ in besides the seed; null: nothing.
export function variedIn({ job_counts, loads }: Pick<SimulationDetails, 'job_counts' | 'loads'>): { by: 'number of jobs' | 'load'; most: string } | null {
  if (job_counts.length > 1) return { by: 'number of jobs', most: `With the first ${count(job_counts.at(-1) ?? 0)} jobs.` };
  return loads.length > 1 ? { by: 'load', most: `At a load of ${loads.at(-1)}.` } : null;
}

export interface Figure {
  key: keyof SimulationResult;
  title: string;
  note: string;
  kind: 'time' | 'share' | 'count' | 'ratio';
  better?: 'less' | 'more';
}

export const figures: Figure[] = [
  { key: 'avg_jct_s', title: 'Mean completion', note: 'submission to end', kind: 'time', better: 'less' },
  { key: 'p50_jct_s', title: 'Median completion', note: 'half are faster', kind: 'time', better: 'less' },
  { key: 'p95_jct_s', title: 'Slowest twentieth', note: '19 of 20 are faster', kind: 'time', better: 'less' },
  { key: 'avg_wait_s', title: 'Mean wait', note: 'submission to first start', kind: 'time', better: 'less' },
  { key: 'makespan_s', title: 'Makespan', note: 'first submission to last end', kind: 'time', better: 'less' },
  { key: 'gpu_utilization_pct', title: 'GPUs used', note: 'on average', kind: 'share', better: 'more' },
  { key: 'jain_fairness', title: 'Fairness', note: 'Jain, 1 is even', kind: 'ratio', better: 'more' },
  { key: 'preemptions', title: 'Preemptions', note: 'jobs interrupted', kind: 'count', better: 'less' },
  { key: 'migrations', title: 'Moves', note: 'to other GPUs', kind: 'count', better: 'less' },
  { key: 'unfinished', title: 'Unfinished', note: 'jobs', kind: 'count', better: 'less' }
];

// The runs of one policy with one set of parameters: one per seed.
export interface Row {
  name: string;
  first: number; // place of its first run among the results
  runs: SimulationResult[];
}

export function rowsOf(results: SimulationResult[]): Row[] {
  const rows = new Map<string, Row>();
  results.forEach((result, first) => {
    const parameters = Object.entries(result.parameters).map(([name, value]) => `${name}=${value}`);
    const name = parameters.length > 0 ? `${result.policy} (${parameters.join(', ')})` : result.policy;
    const row = rows.get(name);
    if (row) row.runs.push(result);
    else rows.set(name, { name, first, runs: [result] });
  });
  return [...rows.values()];
}

// The mean over the seeds; null if one of them has no such figure.
export function meanOf({ runs }: Row, key: keyof SimulationResult): number | null {
  const values = runs.map((run) => run[key]);
  return values.every((value) => typeof value === 'number')
    ? values.reduce((sum, value) => sum + value, 0) / values.length
    : null;
}

export function textOf(value: number | null, kind: Figure['kind']): string {
  if (value === null) return '–';
  if (kind === 'time') return duration(value < 10 ? value : Math.round(value));
  if (kind === 'share') return `${value.toFixed(1)} %`;
  if (kind === 'ratio') return value.toFixed(3);
  return (Math.round(value * 10) / 10).toLocaleString('en-US');
}

// The rows that are best in a figure; none if all are alike or there is only one. Figures of those that leave jobs are
// about other jobs, so they are best in nothing.
export function bestOf(rows: Row[], { key, better }: Figure): Set<Row> {
  const compared = rows.filter((row) => key === 'unfinished' || !row.runs.some(({ unfinished }) => unfinished > 0));
  const values = compared.map((row) => meanOf(row, key)).filter((value) => value !== null);
  const best = better === 'more' ? Math.max(...values) : Math.min(...values);
  if (!better || values.length < 2 || values.every((value) => value === best)) return new Set();
  return new Set(compared.filter((row) => meanOf(row, key) === best));
}

// Why jobs are left that never ran to their end; empty: it is not known, or there are none.
export function faultOf({ runs }: Row): string {
  const standstill = runs.find((run) => run.standstill)?.standstill;
  if (standstill) return standstill;
  const first = runs.find((run) => run.first_unfinished)?.first_unfinished;
  return first ? `the first that never ran is ${first}` : '';
}

// Every figure of every run.
export function tableOf(results: SimulationResult[]): string {
  const columns = Object.keys(results[0] ?? {}).filter((key) => key !== 'parameters') as (keyof SimulationResult)[];
  return csvOf([
    ['parameters', ...columns],
    ...results.map((result) => [
      Object.entries(result.parameters)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
      ...columns.map((key) => String(result[key] ?? ''))
    ])
  ]);
}

// The jobs of the trace that are not simulated, and why: "2 jobs left out, too wide for these servers".
export function leftOutOf({ left_out, left_out_reasons }: Pick<Simulation, 'left_out' | 'left_out_reasons'>): string[] {
  const { oversize, without_gpus, impossible } = left_out_reasons ?? { oversize: left_out, without_gpus: 0, impossible: {} };
  const reasons: [number, string][] = [
    [oversize, 'too wide for these servers'],
    [without_gpus, 'without a GPU'],
    ...Object.entries(impossible).map(([lack, jobs]): [number, string] => [jobs, `which no server can ever run (${lack})`])
  ];
  return reasons.filter(([jobs]) => jobs > 0).map(([jobs, why]) => `${plural(jobs, 'job')} left out, ${why}`);
}
