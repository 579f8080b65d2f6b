// The columns that a table of jobs can have, and what of a job each needs from the API.
import { ahead, clock, dash, duration, gpuRange, place, progressText, soon } from './format';
import { membersText } from './members';
import { isFinished, isWaiting } from './states';
import type { Job, QueuedJob } from './types';

export interface Column {
  key: string;
  title: string;
  fields: string; // of GET /jobs?fields=
  width: number; // pixels, in a table whose columns do not depend on its rows
  isNumber?: boolean;
  isMono?: boolean;
  grows?: boolean; // takes its share of the room that is left
  spare?: number; // may give way where there is too little, the highest first
  text: (job: Job, now: number) => string;
}

const seconds = (value: number): string => duration(value < 10 ? value : Math.floor(value));

// Of an array its members wait and run.
function waited(job: Job, now: number): string {
  if (job.members) return '';
  const waits = isWaiting(job.state) && job.started_at === null;
  return seconds(waits ? Math.max(0, (now - Date.parse(job.created_at)) / 1000) : job.wait_s);
}

function gpus(job: Job): string {
  const held = job.placement.reduce((sum, part) => sum + part.gpus.length, 0);
  return held > 0 ? String(held) : gpuRange(job.spec.gpus);
}

const lossNotFinite = (progress: Job['progress']): string => (progress?.loss_is_not_finite ? 'loss not finite' : '');

function howFar({ progress, state }: Job): string {
  return progress && !isFinished(state) ? [progressText(progress), lossNotFinite(progress)].filter(Boolean).join(', ') : '';
}

function why(job: Job): string {
  if (job.members) {
    const why = isFinished(job.state) ? undefined : job.reason?.text;
    return [membersText(job.members), why].filter(Boolean).join(': ');
  }
  if (job.failure) return job.failure.message;
  return [job.reason?.text, howFar(job)].filter(Boolean).join('; ');
}

// A row for an array has the start of the next of its members, whether or not others have started.
const starts = ({ members, started_at, estimate }: Job): string =>
  started_at && !members ? '' : estimate?.start ? `about ${soon(estimate.start.p50)}` : dash;

// What it says of its training: the last loss and accuracy.
function result({ progress }: Job): string {
  const figure = (name: string, value: number | null | undefined): string =>
    value === null || value === undefined ? '' : `${name} ${Number(value.toPrecision(4))}`;
  const loss = lossNotFinite(progress) || figure('loss', progress?.loss);
  return [loss, figure('accuracy', progress?.accuracy)].filter(Boolean).join(', ');
}

// Number, name and state are always shown and are more than text; these can be chosen.
export const columns: Column[] = [
  { key: 'gpus', title: 'GPUs', fields: 'placement,spec.gpus', width: 58, isNumber: true, text: gpus },
  { key: 'where', title: 'Where', fields: 'placement', width: 104, isMono: true, text: place },
  { key: 'waited', title: 'Waited', fields: 'created_at,started_at,wait_s', width: 90, isNumber: true, text: waited },
  {
    key: 'ran',
    title: 'Ran',
    fields: 'run_s,started_at',
    width: 90,
    isNumber: true,
    text: (job) => (!job.members && (job.run_s > 0 || job.started_at) ? seconds(job.run_s) : '')
  },
  {
    key: 'starts',
    title: 'Starts',
    fields: 'estimate,started_at',
    width: 140,
    text: starts
  },
  {
    key: 'ends',
    title: 'Ends',
    fields: 'finished_at,estimate',
    width: 150,
    text: (job) =>
      job.finished_at ? clock(job.finished_at) : job.estimate?.finish ? `about ${soon(job.estimate.finish.p50)}` : dash
  },
  { key: 'submitted', title: 'Submitted', fields: 'created_at', width: 150, text: (job) => clock(job.created_at) },
  { key: 'started', title: 'Started', fields: 'started_at', width: 150, text: (job) => clock(job.started_at) },
  { key: 'user', title: 'User', fields: 'user', width: 80, text: (job) => job.user },
  {
    key: 'priority',
    title: 'Priority',
    fields: 'priority',
    width: 76,
    isNumber: true,
    text: (job) => String(job.priority)
  },
  {
    key: 'attempt',
    title: 'Attempt',
    fields: 'attempt',
    width: 76,
    isNumber: true,
    text: (job) => String(job.attempt)
  },
  {
    key: 'gpu_time',
    title: 'GPU time',
    fields: 'gpu_seconds',
    width: 96,
    isNumber: true,
    text: (job) => (job.members ? '' : duration(Math.floor(job.gpu_seconds)))
  },
  { key: 'framework', title: 'Type', fields: 'spec.framework', width: 100, text: (job) => job.spec.framework ?? '' },
  {
    key: 'member',
    title: 'Member',
    fields: 'index',
    width: 80,
    isNumber: true,
    text: (job) => (job.index === null ? '' : String(job.index))
  },
  { key: 'result', title: 'Result', fields: 'progress', width: 170, grows: true, text: result },
  { key: 'why', title: 'Why, how far', fields: 'reason,failure,progress', width: 176, grows: true, text: why }
];

export const chosenColumns = (keys: string[]): Column[] => columns.filter(({ key }) => keys.includes(key));

export const usual = ['gpus', 'where', 'waited', 'ran', 'user', 'why'];

// In a line only: what is served before it.
const inLine: Column = {
  key: 'ahead',
  title: 'Ahead of it',
  fields: '',
  width: 144,
  text: (job) => ahead((job as Partial<QueuedJob>).ahead)
};
const spareInLine = ['starts', 'ahead', 'waited', 'user'];
export const ofQueue: Column[] = [inLine, ...chosenColumns(['gpus', 'waited', 'starts', 'user', 'why'])].map((each) => ({
  ...each,
  spare: spareInLine.indexOf(each.key) + 1
}));

export const ofMembers = ['member', 'gpus', 'where', 'ran', 'ends', 'result', 'why'];

export const widthOf = (shown: Column[]): number => shown.reduce((sum, { width }) => sum + width, 0);

// Those that `room` is enough for.
export function fitting(shown: Column[], room: number): Column[] {
  const most = Math.max(0, ...shown.map(({ spare }) => spare ?? 0));
  return widthOf(shown) <= room || most === 0 ? shown : fitting(shown.filter(({ spare }) => spare !== most), room);
}

export function fieldsOf(shown: Column[]): string {
  const fields = new Set(['id', 'name', 'state', 'members', 'group_id', 'index']);
  for (const column of shown) for (const field of column.fields.split(',')) fields.add(field);
  return [...fields].join(',');
}
