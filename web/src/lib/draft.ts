// The form of a submission, and the job, the command line and the job file that it means. `items` is the one list of what
// can be asked for: the form, the three forms of a job and the way back from a job's specification follow from it. Between
// them stand the keys of a job file with their values: they are made of the form or of a specification, and a command line,
// a job file, or the form again is made of them.
import { jobFileKeys } from './api';
import { commandLine, commandText, gpuRange, localTime, rfc3339 } from './format';
import type { JobSpec } from './types';

export type Draft = Record<string, string>; // by an item's key, as typed

// How text stands for the value of a key.
//   text      itself                              number  a number if it is one
//   list      words separated by commas           jobs    the same, of numbers of jobs
//   lines     one per line                        values  NAME=a,b,c, one per line
//   pairs     NAME=value, one per line, a line break in a value as a sign of its own
//   truth     "true", or empty for the default    denial  "true" for false, or empty
//   notices   CHANNEL or EVENT,EVENT=CHANNEL, one per line
//   ports     NAME=NUMBER, one per line, with the word keep_path after it if the job sees whole paths
//   roles     NAME key=value …, one per line: count, count_min, gpus; of each member: cpus, memory
//   time      a time of this browser, as a field for one has it
//   document  JSON that nobody types
export type Kind = 'text' | 'number' | 'list' | 'jobs' | 'lines' | 'pairs' | 'values' | 'truth' | 'denial' | 'notices' | 'ports' | 'roles' | 'time' | 'document';

export interface Item {
  key: string;
  path: string[]; // in a job file
  kind: Kind;
  label: string;
  flag?: string; // of `schedulearn submit`; none: --set
  start?: string; // what an empty form has
  rows?: number;
  placeholder?: string;
  note?: string;
  choices?: [string, string][]; // value, title; the first is the default
  options?: string[]; // suggestions
  group?: string; // none: always shown
  spec?: string[]; // where a specification has it, if not at `path`
}

const item = (key: string, label: string, kind: Kind, more: Partial<Item> = {}): Item => ({
  key,
  path: [key],
  kind,
  label,
  ...more
});

// Facts about a training, as the API describes them: "size of the parameters (bytes)".
const typed: Record<string, Partial<Item>> = { bytes: { placeholder: '4MiB' }, seconds: { placeholder: '90s' } };
const trainingItems = Object.entries(jobFileKeys)
  .filter(([path]) => path.startsWith('training.'))
  .map(([path, note]): Item => {
    const name = path.split('.').at(-1) ?? '';
    const unit = /\((\w+)\)$/.exec(note)?.[1] ?? '';
    const words = name.replace(/_(bytes|s)$/, '').replaceAll('_', ' ');
    return {
      key: path,
      path: path.split('.'),
      kind: unit === '' || typed[unit] ? 'text' : 'number',
      label: words.charAt(0).toUpperCase() + words.slice(1),
      flag: `--${name.replaceAll('_', '-')}`,
      note,
      group: 'Training',
      ...typed[unit]
    };
  });

export const items: Item[] = [
  item('name', 'Name', 'text', { flag: '--name', placeholder: 'from the command' }),
  item('framework', 'Type', 'text', {
    flag: '--framework',
    placeholder: 'any',
    options: ['pytorch', 'tensorflow', 'keras', 'mxnet']
  }),
  item('image', 'Container image', 'text', { flag: '--image', placeholder: 'none: a process on the server' }),
  item('command', 'Command', 'text', { rows: 3, placeholder: 'python train.py --epochs 10' }),
  item('gpus', 'GPUs', 'number', { flag: '--gpus', start: '1', note: 'a number, or a range like 1..4 that policies may choose from; 0: CPUs and memory only' }),
  item('servers', 'Servers', 'number', { flag: '--servers', placeholder: '1', note: '2 or more lets its GPUs be on several servers' }),

  item('workdir', 'Folder', 'text', { group: 'Run', flag: '--workdir', placeholder: '/home/mei/mnist' }),
  item('launch', 'Launched by', 'text', {
    group: 'Run',
    flag: '--launch',
    choices: [
      ['', 'one process'],
      ['torchrun', 'torchrun'],
      ['ranks', 'one process per GPU'],
      ['mpi', 'MPI'],
      ['horovod', 'horovodrun, in its image']
    ]
  }),
  item('setup', 'Set-up', 'lines', { group: 'Run', rows: 2, placeholder: 'pip install -r requirements.txt', note: 'lines that run before the command' }),
  item('env', 'Environment', 'pairs', { group: 'Run', flag: '--env', rows: 2, placeholder: 'OMP_NUM_THREADS=4', note: 'a line break in a value is written ↵' }),
  item('secrets', 'Secrets', 'list', {
    group: 'Run',
    flag: '--secret',
    placeholder: 'WANDB_API_KEY=wandb',
    note: 'names of stored secrets; VARIABLE=NAME gives it as a variable too'
  }),
  item('mounts', 'Folders for its container', 'list', { group: 'Run', flag: '--mount', placeholder: '/data, /scratch:/out:rw' }),
  item('ports', 'Ports', 'ports', {
    group: 'Run',
    rows: 2,
    placeholder: 'board=0',
    note: 'reached through the controller; 0: any free one; NAME=8888 keep_path: the job sees whole paths'
  }),
  item('output_limit', 'Most output that is kept', 'text', {
    group: 'Run',
    spec: ['output_limit_bytes'],
    placeholder: '1GiB',
    note: 'beyond it the middle is dropped'
  }),
  item('user', 'In the name of', 'text', { group: 'Run', placeholder: 'yourself', note: 'another user: admins only' }),
  item('snapshot', 'Code', 'document', { group: 'Run', flag: '--snapshot' }),
  item('pty', 'It runs at a terminal, for schedulearn shell', 'truth', { group: 'Run' }),
  item('labels', 'Labels', 'pairs', { group: 'Run', flag: '--label', rows: 2, placeholder: 'team=vision' }),

  item('cpus', 'CPU cores', 'number', { group: 'Resources', path: ['resources', 'cpus'], flag: '--cpus' }),
  item('memory', 'Memory', 'text', {
    group: 'Resources',
    path: ['resources', 'memory'],
    spec: ['resources', 'memory_bytes'],
    flag: '--memory',
    placeholder: '64GiB'
  }),
  item('gpu_memory', 'Memory of each GPU', 'text', {
    group: 'Resources',
    path: ['resources', 'gpu_memory'],
    spec: ['resources', 'gpu_memory_bytes'],
    flag: '--gpu-memory',
    placeholder: '10GiB'
  }),
  item('gpu_type', 'GPU type', 'list', { group: 'Resources', path: ['resources', 'gpu_type'], flag: '--gpu-type', placeholder: 'any' }),
  item('on', 'Only on these servers', 'list', {
    group: 'Resources',
    path: ['resources', 'on'],
    flag: '--on',
    placeholder: 'any',
    note: 'names or labels: gpu4, rack=a'
  }),
  item('not_on', 'Not on these servers', 'list', { group: 'Resources', path: ['resources', 'not_on'], flag: '--not-on', placeholder: 'gpu5' }),
  item('shm', 'Shared memory of its container', 'text', {
    group: 'Resources',
    path: ['resources', 'shm'],
    spec: ['resources', 'shm_bytes'],
    flag: '--shm',
    placeholder: '1GiB'
  }),
  item('processes', 'Processes on each server', 'number', {
    group: 'Resources',
    path: ['resources', 'processes'],
    flag: '--processes',
    placeholder: '16384'
  }),
  item('pin_cpus', 'It has CPU cores of its own', 'truth', {
    group: 'Resources',
    path: ['resources', 'pin_cpus'],
    flag: '--pin-cpus'
  }),
  item('share', 'It may share its GPUs with other jobs that allow it', 'truth', {
    group: 'Resources',
    path: ['resources', 'share'],
    flag: '--share'
  }),

  item('priority', 'Priority', 'number', { group: 'Time and order', flag: '--priority', placeholder: '0' }),
  item('weight', 'Weight', 'number', {
    group: 'Time and order',
    flag: '--weight',
    placeholder: '1',
    note: "its user's share against other users', under fair policies"
  }),
  item('limit', 'Time limit', 'text', {
    group: 'Time and order',
    path: ['time', 'limit'],
    spec: ['time_limit_s'],
    flag: '--time-limit',
    placeholder: '2h, 1d'
  }),
  item('estimate', 'Expected length', 'text', {
    group: 'Time and order',
    path: ['time', 'estimate'],
    spec: ['estimate_s'],
    flag: '--estimate',
    placeholder: '45m'
  }),
  item('deadline', 'Deadline', 'text', {
    group: 'Time and order',
    path: ['time', 'deadline'],
    spec: ['deadline_s'],
    placeholder: '8h',
    note: 'after its submission'
  }),
  item('not_before', 'Not before', 'time', { group: 'Time and order', flag: '--not-before', note: 'in the time of this browser' }),
  item('after', 'After these have succeeded', 'jobs', { group: 'Time and order', flag: '--after', placeholder: '5, 7', note: 'numbers of jobs' }),
  item('after_any', 'After these have ended', 'jobs', { group: 'Time and order', flag: '--after-any' }),
  item('hold', 'Hold it until it is resumed', 'truth', { group: 'Time and order', flag: '--hold' }),

  item('array', 'Array', 'text', {
    group: 'Many jobs',
    flag: '--array',
    placeholder: '0-99',
    note: 'a job for each number, {index} in its command'
  }),
  item('matrix', 'Matrix', 'values', {
    group: 'Many jobs',
    flag: '--matrix',
    rows: 2,
    placeholder: 'lr=0.1,0.01',
    note: 'a job for each combination, {lr} in its command'
  }),
  item('max_running', 'At most this many at once', 'number', { group: 'Many jobs', flag: '--max-running' }),

  item('roles', 'Roles', 'roles', {
    group: 'Many jobs',
    rows: 3,
    placeholder: 'server gpus=0 cpus=4 memory=8GiB',
    note: 'members that run together, a role per line: NAME count=4 count_min=1 gpus=1; leave GPUs empty: they follow'
  }),

  ...trainingItems,
  item('pattern', 'Progress in its output', 'text', {
    group: 'Training',
    path: ['progress', 'pattern'],
    placeholder: 'epoch {done}/{total}',
    note: 'of a training that reports nothing'
  }),
  item('total', 'Its total, if the output has none', 'number', { group: 'Training', path: ['progress', 'total'] }),

  item('checkpoint', 'Checkpoint folder', 'text', {
    group: 'Interruptions',
    path: ['checkpoint', 'dir'],
    flag: '--checkpoint-dir',
    placeholder: 'checkpoints',
    note: 'with one, policies may stop, move and resize the job'
  }),
  item('signal', 'Signal to save its state', 'text', {
    group: 'Interruptions',
    path: ['checkpoint', 'signal'],
    flag: '--checkpoint-signal',
    placeholder: 'TERM'
  }),
  item('grace', 'Time to save it', 'text', {
    group: 'Interruptions',
    path: ['checkpoint', 'grace'],
    spec: ['checkpoint', 'grace_s'],
    flag: '--grace',
    placeholder: '120s'
  }),
  item('every', 'Saves by itself every', 'text', {
    group: 'Interruptions',
    path: ['checkpoint', 'every'],
    spec: ['checkpoint', 'every_s'],
    placeholder: '10m',
    note: 'the training is told'
  }),
  item('resize', 'Comes to other numbers of GPUs', 'text', {
    group: 'Interruptions',
    flag: '--resize',
    choices: [
      ['', 'by a restart'],
      ['in_place', 'in place: it is asked to go over']
    ]
  }),
  item('retries', 'Retries after failures', 'number', { group: 'Interruptions', path: ['retry', 'max'], flag: '--retry', placeholder: '0' }),
  item('retry_on', 'Retried after', 'list', {
    group: 'Interruptions',
    path: ['retry', 'on'],
    placeholder: 'any',
    note: 'kinds of failures: exit:3, signal, out_of_memory, …'
  }),
  item('backoff', 'Wait before a retry', 'text', {
    group: 'Interruptions',
    path: ['retry', 'backoff'],
    spec: ['retry', 'backoff_s'],
    placeholder: '0s',
    note: 'twice as long after each further failure'
  }),
  item('on_partition', 'If its server is cut off', 'text', {
    group: 'Interruptions',
    choices: [
      ['', 'it continues there'],
      ['stop', 'it stops there and starts elsewhere']
    ]
  }),
  item('freeze', 'It may be frozen where it is, and continued', 'truth', { group: 'Interruptions', flag: '--freeze' }),
  item('no_preempt', 'Never interrupt it', 'denial', { group: 'Interruptions', path: ['preemptible'], flag: '--no-preempt' }),
  item('no_migrate', 'Never move it', 'denial', { group: 'Interruptions', path: ['migratable'], flag: '--no-migrate' }),

  item('notify', 'Tell me through', 'notices', {
    group: 'Notifications',
    flag: '--notify',
    rows: 2,
    placeholder: 'team',
    note: 'a channel of the settings, told when the job ends; failed,preempted=CHANNEL for other events; one per line'
  })
];

export const groups = [...new Set(items.flatMap(({ group }) => group ?? []))];
export const emptyDraft: Draft = Object.fromEntries(items.map(({ key, start }) => [key, start ?? '']));

export type JobBody = Record<string, unknown>;

const parts = (text: string, separator: string): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter(Boolean);

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');

// In a field of one pair per line, for what would end the line.
const breaks = [
  ['\n', '↵'],
  ['\r', '␍']
] as const;
const onOneLine = (value: string): string => breaks.reduce((text, [sign, shown]) => text.replaceAll(sign, shown), value);
const withBreaks = (text: string): string => breaks.reduce((value, [sign, shown]) => value.replaceAll(shown, sign), text);

function pairsOf(text: string): [string, string][] {
  return linesOf(text).map((line) => {
    const equals = line.indexOf('=');
    return equals < 0 ? [line.trim(), ''] : [line.slice(0, equals).trim(), line.slice(equals + 1)];
  });
}

interface Notice {
  on?: string[];
  to: string;
}

// "failed,preempted=team", or "team".
function noticeOf(line: string): Notice {
  const equals = line.lastIndexOf('=');
  return equals < 0 ? { to: line.trim() } : { on: parts(line.slice(0, equals), ','), to: line.slice(equals + 1).trim() };
}

const noticeText = ({ on, to }: Notice): string => (on ? `${on.join(',')}=${to}` : to);

// What is no number is sent as it is: the controller says what is wrong with it.
const whole = /^-?\d+$/;
const decimal = /^-?\d+(\.\d+)?$/;
const numberOrText = (text: string): number | string => (decimal.test(text) ? Number(text) : text);

// "worker count=4 cpus=2": what is no key of a role is sent too.
function roleOf(line: string): Record<string, unknown> {
  const [name = '', ...words] = line.trim().split(/\s+/);
  const said = words.map((word) => [word.replace(/=.*/, ''), numberOrText(word.replace(/^[^=]*=?/, ''))] as const);
  const isOfMember = (key: string): boolean => key === 'cpus' || key === 'memory';
  const resources = Object.fromEntries(said.filter(([key]) => isOfMember(key)));
  return {
    name,
    ...Object.fromEntries(said.filter(([key]) => !isOfMember(key))),
    ...(Object.keys(resources).length > 0 ? { resources } : {})
  };
}

// "8888 keep_path"
function portOf(text: string): unknown {
  const [number = '', ...words] = text.trim().split(/\s+/);
  const port = numberOrText(number);
  return words.length === 0 ? port : { port, ...Object.fromEntries(words.map((word) => [word, true])) };
}

const values: Record<Kind, (text: string) => unknown> = {
  text: (text) => text.trim(),
  number: (text) => numberOrText(text.trim()),
  list: (text) => parts(text, ','),
  jobs: (text) => parts(text, ',').map((part) => (whole.test(part) ? Number(part) : part)),
  lines: linesOf,
  pairs: (text) => Object.fromEntries(pairsOf(text).map(([name, value]) => [name, withBreaks(value)])),
  values: (text) => Object.fromEntries(pairsOf(text).map(([name, list]) => [name, parts(list, ',')])),
  truth: () => true,
  denial: () => false,
  notices: (text) => linesOf(text).map(noticeOf),
  ports: (text) => Object.fromEntries(pairsOf(text).map(([name, port]) => [name, portOf(port)])),
  roles: (text) => linesOf(text).map(roleOf),
  time: (text) => rfc3339(text.trim()),
  document: (text) => JSON.parse(text) as unknown
};

const isSaid = (draft: Draft, { key }: Item): boolean => (draft[key] ?? '').trim() !== '';

// A line that gives no value: a command would mean the value that the variable has in its own shell.
function lineWithoutValue(text: string): string {
  const line = linesOf(text).find((each) => each.indexOf('=') < 1);
  return line === undefined ? '' : `write NAME=VALUE: "${line.trim()}" gives no value to a name`;
}

const faults: Partial<Record<string, (text: string) => string>> = {
  env: lineWithoutValue,
  labels: lineWithoutValue,
  matrix: lineWithoutValue,
  ports: lineWithoutValue,
  workdir: (text) => (text.trim().startsWith('/') ? '' : 'write the whole path, beginning with /')
};

// What is wrong with what is typed, by an item's key, where the controller and a command would each take it for something else.
export const faultsIn = (draft: Draft): Record<string, string> =>
  Object.fromEntries(
    items
      .filter((each) => isSaid(draft, each))
      .map(({ key }) => [key, faults[key]?.(draft[key] ?? '') ?? ''])
      .filter(([, fault]) => fault !== '')
  );

// Keys of a job file; those that say nothing are left out.
export function bodyOf(draft: Draft): JobBody {
  const body: JobBody = { command: draft['command'] ?? '' };
  for (const each of items) {
    if (each.key === 'command' || !isSaid(draft, each)) continue;
    put(body, each.path, values[each.kind](draft[each.key] ?? ''));
  }
  return body;
}

function put(body: JobBody, path: string[], value: unknown): void {
  let place = body;
  for (const key of path.slice(0, -1)) place = (place[key] ??= {}) as JobBody;
  place[path.at(-1) ?? ''] = value;
}

// What follows the flag, once per time that it is given; nothing: the flag alone.
function argumentsOf({ kind, flag }: Item, value: unknown): string[] {
  if (kind === 'truth' || kind === 'denial') return [''];
  if (kind === 'ports' || kind === 'roles' || kind === 'lines' || (kind === 'list' && !flag)) return [JSON.stringify(value)];
  if (flag === '--secret' || flag === '--mount') return value as string[];
  if (kind === 'list' || kind === 'jobs') return [(value as unknown[]).join(',')];
  if (kind === 'values') return Object.entries(value as Record<string, string[]>).map(([name, list]) => `${name}=${list.join(',')}`);
  if (kind === 'pairs') return Object.entries(value as Record<string, string>).map(([name, one]) => `${name}=${one}`);
  if (kind === 'notices') return (value as Notice[]).map(noticeText);
  if (kind === 'document') return [(value as { kind: string }).kind];
  return [String(value)];
}

// What is at a place of a document; undefined: nothing.
const valueAt = (document: unknown, path: string[]): unknown =>
  path.reduce<unknown>((value, step) => (value as JobBody | null | undefined)?.[step], document);

// What the same job is in a terminal. Keys without a flag are given with --set.
export function commandLineOf(body: JobBody): string {
  const words = ['submit'];
  for (const each of items) {
    const value = valueAt(body, each.path);
    if (each.key === 'command' || value === undefined) continue;
    for (const one of argumentsOf(each, value)) {
      if (each.flag) words.push(...(one === '' ? [each.flag] : [each.flag, one]));
      else words.push('--set', `${each.path.join('.')}=${one}`);
    }
  }
  const { command } = body;
  return commandLine(...words, '--', ...(Array.isArray(command) ? (command as string[]) : ['bash', '-c', String(command)]));
}

const tomlText = (text: string): string => JSON.stringify(text).replaceAll('\u007f', '\\u007F');
const tomlKey = (key: string): string => (/^[\w-]+$/.test(key) ? key : tomlText(key));

function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([key, inner]) => `${tomlKey(key)} = ${tomlValue(inner)}`)
      .join(', ')} }`;
  return typeof value === 'string' ? tomlText(value) : String(value);
}

// A job file that means the same.
export function tomlOf(body: JobBody): string {
  const lines: string[] = [];
  const tables: string[] = [];
  for (const [key, value] of Object.entries(body)) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      tables.push('', `[${key}]`);
      for (const [name, inner] of Object.entries(value)) tables.push(`${tomlKey(name)} = ${tomlValue(inner)}`);
    } else lines.push(`${key} = ${tomlValue(value)}`);
  }
  return [...lines, ...tables].join('\n');
}

// Values of a specification that are written in another way in a job file.
const ofSpec: Partial<Record<Kind, (value: unknown) => unknown>> = {
  text: String,
  notices: (value) => (value as Required<Notice>[]).map(({ on, to }) => (on.join() === 'finished' ? { to } : { on, to })),
  ports: (value) =>
    Object.fromEntries(
      Object.entries(value as JobSpec['ports']).map(([name, { port, keep_path }]) => [name, keep_path ? { port, keep_path } : port])
    ),
  roles: (value) => (value as JobSpec['roles']).map(roleIn)
};

function roleIn({ name, count, count_min, gpus, resources: { cpus, memory_bytes } }: JobSpec['roles'][number]): JobBody {
  const resources = { ...(cpus === null ? {} : { cpus }), ...(memory_bytes === null ? {} : { memory: memory_bytes }) };
  return {
    name,
    ...(count === 1 ? {} : { count }),
    ...(count_min === count ? {} : { count_min }),
    ...(gpus === 1 ? {} : { gpus }),
    ...(Object.keys(resources).length > 0 ? { resources } : {})
  };
}

// Values that mean the same as none: of a key, or of all keys of its kind.
const defaults: Record<string, unknown> = {
  launch: 'none',
  servers: 1,
  priority: 0,
  weight: 1,
  retry_on: ['any'],
  signal: 'TERM',
  grace: 120,
  resize: 'restart',
  retries: 0,
  backoff: 0,
  max_running: 0,
  on_partition: 'continue'
};
const defaultsOfKind: Partial<Record<Kind, unknown>> = { truth: false, denial: true };

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

// Keys of a job file that asks for the same as a specification.
export function bodyOfSpec(spec: JobSpec): JobBody {
  const hasRoles = spec.roles?.length > 0;
  const leftOut = ['command', 'gpus', 'hold', 'user', ...(hasRoles ? ['cpus', 'memory'] : [])]; // `hold` and `user` concerned the earlier job
  const body: JobBody = { command: spec.command };
  for (const { key, path, kind, spec: place = path } of items) {
    const value = valueAt(spec, place);
    if (key === 'gpus' && !hasRoles) put(body, path, gpusIn(spec.gpus)); // else they follow from the roles
    if (leftOut.includes(key) || value === null || value === undefined || ['""', '[]', '{}'].includes(JSON.stringify(value))) continue;
    if (isSame(value, defaults[key] ?? defaultsOfKind[kind])) continue;
    const unit = place.at(-1)?.endsWith('_s') ? 's' : '';
    const written = ofSpec[kind]?.(value) ?? value;
    put(body, path, unit ? `${String(written)}${unit}` : written);
  }
  return body;
}

function gpusIn(gpus: JobSpec['gpus']): string | number {
  if (gpus.allowed?.length) return gpus.allowed.join(',');
  return numberOrText(gpuRange(gpus).replace('–', '..'));
}

// Values of a job file as they would be typed.
const texts: Partial<Record<Kind, (value: unknown) => string>> = {
  list: (value) => (value as string[]).join(', '),
  jobs: (value) => (value as unknown[]).join(', '),
  lines: (value) => (value as string[]).join('\n'),
  pairs: (value) =>
    Object.entries(value as Record<string, string>)
      .map(([name, one]) => `${name}=${onOneLine(one)}`)
      .join('\n'),
  values: (value) =>
    Object.entries(value as Record<string, string[]>)
      .map(([name, list]) => `${name}=${list.join(',')}`)
      .join('\n'),
  truth: () => 'true',
  denial: () => 'true',
  notices: (value) => (value as Notice[]).map(noticeText).join('\n'),
  ports: (value) =>
    Object.entries(value as Record<string, number | { port: number }>)
      .map(([name, port]) => `${name}=${typeof port === 'number' ? port : `${port.port} keep_path`}`)
      .join('\n'),
  roles: (value) =>
    (value as JobBody[])
      .map(({ name, resources, ...others }) =>
        [name, ...Object.entries({ ...others, ...(resources as JobBody | undefined) }).map(([key, one]) => `${key}=${String(one)}`)].join(' ')
      )
      .join('\n'),
  time: (value) => localTime(new Date(value as string)),
  document: (value) => JSON.stringify(value)
};

export function draftOf(spec: JobSpec): Draft {
  const body = bodyOfSpec(spec);
  const draft: Draft = { ...emptyDraft, gpus: '' };
  for (const { key, path, kind } of items) {
    const value = valueAt(body, path);
    if (value !== undefined) draft[key] = (texts[kind] ?? String)(value);
  }
  draft['command'] = commandText(spec.command);
  return draft;
}
