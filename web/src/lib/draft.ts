// The form of a submission, and the job, the command line and the job file that it means.
import { commandText, quoted } from './format';
import type { JobSpec } from './types';

export interface Draft {
  name: string;
  framework: string;
  image: string;
  command: string;
  gpus: string;
  servers: string;
  workdir: string;
  launch: string;
  priority: string;
  time_limit: string;
  estimate: string;
  checkpoint_dir: string;
  env: string; // NAME=value, one per line
  hold: boolean;
}

export const emptyDraft: Draft = {
  name: '',
  framework: '',
  image: '',
  command: '',
  gpus: '1',
  servers: '',
  workdir: '',
  launch: 'none',
  priority: '',
  time_limit: '',
  estimate: '',
  checkpoint_dir: '',
  env: '',
  hold: false
};

export type JobBody = Record<string, unknown>;

function variables(text: string): [string, string][] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const equals = line.indexOf('=');
      return equals < 0 ? [line.trim(), ''] : [line.slice(0, equals).trim(), line.slice(equals + 1)];
    });
}

// What is no number is sent as it is: the controller says what is wrong with it.
function numberOr(text: string): number | string {
  const wanted = text.trim();
  return /^-?\d+$/.test(wanted) ? Number(wanted) : wanted;
}

// Keys of a job file; those that say nothing are left out.
export function bodyOf(draft: Draft): JobBody {
  const body: JobBody = { command: draft.command };
  const text = (key: keyof Draft, name: string = key): void => {
    const value = String(draft[key]).trim();
    if (value) body[name] = value;
  };
  text('name');
  text('framework');
  text('image');
  text('workdir');
  body.gpus = numberOr(draft.gpus);
  if (draft.servers.trim()) body.servers = numberOr(draft.servers);
  if (draft.launch !== 'none') body.launch = draft.launch;
  if (draft.priority.trim()) body.priority = numberOr(draft.priority);
  const time: JobBody = {};
  if (draft.time_limit.trim()) time.limit = draft.time_limit.trim();
  if (draft.estimate.trim()) time.estimate = draft.estimate.trim();
  if (Object.keys(time).length > 0) body.time = time;
  if (draft.checkpoint_dir.trim()) body.checkpoint = { dir: draft.checkpoint_dir.trim() };
  const env = variables(draft.env);
  if (env.length > 0) body.env = Object.fromEntries(env);
  if (draft.hold) body.hold = true;
  return body;
}

// What the same job is in a terminal. Keys without a flag are given with --set.
export function commandLineOf(draft: Draft): string {
  const body = bodyOf(draft);
  const words = ['schedulearn', 'submit'];
  const flag = (name: string, value: unknown): void => {
    if (value !== undefined && value !== '') words.push(name, quoted(String(value)));
  };
  flag('--name', body.name);
  flag('--framework', body.framework);
  flag('--image', body.image);
  flag('--gpus', body.gpus);
  flag('--servers', body.servers);
  flag('--workdir', body.workdir);
  flag('--launch', body.launch);
  flag('--priority', body.priority);
  flag('--time-limit', draft.time_limit.trim());
  flag('--estimate', draft.estimate.trim());
  flag('--checkpoint-dir', draft.checkpoint_dir.trim());
  for (const [name, value] of variables(draft.env)) flag('--env', `${name}=${value}`);
  if (draft.hold) words.push('--hold');
  return `${words.join(' ')} -- bash -c ${quoted(draft.command)}`;
}

const tomlText = (text: string): string => JSON.stringify(text).replaceAll('\u007f', '\\u007F');

// A job file that means the same.
export function tomlOf(draft: Draft): string {
  const lines: string[] = [];
  const tables: string[] = [];
  for (const [key, value] of Object.entries(bodyOf(draft))) {
    if (typeof value === 'object' && value !== null) {
      tables.push('', `[${key}]`);
      for (const [name, inner] of Object.entries(value))
        tables.push(`${/^[\w-]+$/.test(name) ? name : tomlText(name)} = ${tomlText(String(inner))}`);
    } else lines.push(`${key} = ${typeof value === 'string' ? tomlText(value) : String(value)}`);
  }
  return [...lines, ...tables].join('\n');
}

export function draftOf(spec: JobSpec): Draft {
  const seconds = (value: number | null): string => (value === null ? '' : `${value}s`);
  return {
    name: spec.name,
    framework: spec.framework ?? '',
    image: spec.image ?? '',
    command: commandText(spec.command),
    gpus: spec.gpus.allowed?.length
      ? spec.gpus.allowed.join(',')
      : spec.gpus.min === spec.gpus.max
        ? String(spec.gpus.max)
        : `${spec.gpus.min}..${spec.gpus.max}`,
    servers: spec.servers > 1 ? String(spec.servers) : '',
    workdir: spec.workdir,
    launch: spec.launch,
    priority: spec.priority === 0 ? '' : String(spec.priority),
    time_limit: seconds(spec.time_limit_s),
    estimate: seconds(spec.estimate_s),
    checkpoint_dir: spec.checkpoint.dir ?? '',
    env: Object.entries(spec.env ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join('\n'),
    hold: false
  };
}
