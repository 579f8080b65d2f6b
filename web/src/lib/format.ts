// Numbers, times and sizes as people read them.
import type { Estimate, GpuRange, Job, TimeRange } from './types';

export const dash = '–';

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return dash;
  const s = Math.max(0, seconds);
  if (s < 1) return s === 0 ? '0 s' : `${Math.round(s * 1000)} ms`;
  if (s < 10) return `${s.toFixed(1).replace(/\.0$/, '')} s`;
  if (Math.round(s) < 60) return `${Math.round(s)} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60)
    return minutes < 10 && Math.floor(s % 60) > 0 ? `${minutes} min ${Math.floor(s % 60)} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 > 0 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return hours % 24 > 0 ? `${days} d ${hours % 24} h` : `${days} d`;
}

export function bytes(count: number | null | undefined): string {
  if (count === null || count === undefined) return dash;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export const percent = (value: number | null | undefined): string =>
  value === null || value === undefined ? dash : `${Math.round(value)} %`;

export const count = (value: number): string => value.toLocaleString('en-US');

export const plural = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

// "3 jobs, 8 GPUs": what is served before a job.
export function ahead(of: { jobs: number; gpus: number } | null | undefined): string {
  if (!of) return dash;
  return of.jobs === 0 ? 'nobody' : `${plural(of.jobs, 'job')}, ${plural(of.gpus, 'GPU')}`;
}

// "44 of 300 epochs"
export function progressText({ done, total, unit }: Pick<NonNullable<Job['progress']>, 'done' | 'total' | 'unit'>): string {
  if (done === null) return '';
  const many = unit && !unit.endsWith('s') && (total ?? done) !== 1 ? `${unit}s` : (unit ?? '');
  return `${Math.round(done * 10) / 10}${total === null ? '' : ` of ${total}`} ${many}`.trim();
}

// Of a training whose loss became infinite, or no number at all.
export const lossFault = 'Its loss is not a finite number.';

const two = (value: number): string => String(value).padStart(2, '0');

// How times are written; chosen in the settings.
export const times = { areUtc: false };

// Local time or UTC; the day only if it is not the one of `now`.
export function clock(at: string | null | undefined, now = new Date()): string {
  if (!at) return dash;
  const parts = (time: Date): number[] =>
    times.areUtc
      ? [
          time.getUTCFullYear(),
          time.getUTCMonth() + 1,
          time.getUTCDate(),
          time.getUTCHours(),
          time.getUTCMinutes(),
          time.getUTCSeconds()
        ]
      : [
          time.getFullYear(),
          time.getMonth() + 1,
          time.getDate(),
          time.getHours(),
          time.getMinutes(),
          time.getSeconds()
        ];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts(new Date(at));
  const today = parts(now);
  const text = `${two(hour)}:${two(minute)}:${two(second)}${times.areUtc ? ' UTC' : ''}`;
  return year === today[0] && month === today[1] && day === today[2]
    ? text
    : `${year}-${two(month)}-${two(day)} ${text}`;
}

const soonMs = 600_000;
// When something is expected: seconds only if it is soon, as `schedulearn ls` has it, and no year but another one.
export function soon(at: string | null | undefined, now = new Date()): string {
  if (!at) return dash;
  const text = clock(at, now).replace(`${times.areUtc ? now.getUTCFullYear() : now.getFullYear()}-`, '');
  return Date.parse(at) - now.getTime() > soonMs ? text.replace(/(\d\d:\d\d):\d\d/, '$1') : text;
}

// At a tick of an axis: the day only if it is not that of the tick before, no year, no seconds that are zero.
export const tickTime = (at: number, before: number): string =>
  clock(new Date(at).toISOString(), new Date(before)).replace(/^\d{4}-/, '').replace(/(\d\d:\d\d):00/, '$1');

// As a field for a date and a time has it, in the time of this browser: "2026-11-24T21:00".
export function localTime(time: Date): string {
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day}T${two(time.getHours())}:${two(time.getMinutes())}`;
}

// What such a field has, as the API takes it; what is no time stays as it is.
export function rfc3339(local: string): string {
  const time = new Date(local);
  return Number.isNaN(time.getTime()) ? local : time.toISOString().replace('.000Z', 'Z');
}

// 8 of 10 such ranges hold.
export const likely = (range: TimeRange | null | undefined, now = new Date()): string | null =>
  range ? `about ${soon(range.p50, now)} (${soon(range.p10, now)} to ${soon(range.p90, now)})` : null;

const atOnceMs = 5000;
// When a job that is not submitted yet would start.
export function expectedStart({ start, evaluated_at }: Pick<Estimate, 'start' | 'evaluated_at'>, now = new Date()): string {
  if (start && Date.parse(start.p90) - Date.parse(evaluated_at) <= atOnceMs) return 'at once';
  return likely(start, now) ?? dash;
}

export const since = (at: string | null | undefined, now: number): string =>
  at ? duration(Math.max(0, Math.floor((now - Date.parse(at)) / 1000))) : dash;

export function gpuRange(gpus: GpuRange): string {
  if (gpus.allowed && gpus.allowed.length > 0) return gpus.allowed.join(', ');
  return gpus.min === gpus.max ? String(gpus.max) : `${gpus.min}–${gpus.max}`;
}

// "gpu3:0-3", as tables of the command line print it; of a job without GPUs "gpu3".
export function place(job: Job): string {
  return job.placement
    .map(({ server, gpus }) => (gpus.length > 0 ? `${server}:${ranges(gpus.map(indexOf))}` : server))
    .join(', ');
}

const indexOf = (identifier: string): number => Number(identifier.slice(identifier.lastIndexOf('-') + 1));

export function ranges(numbers: number[]): string {
  const parts: string[] = [];
  const sorted = [...numbers].sort((a, b) => a - b);
  for (let i = 0; i < sorted.length;) {
    let end = i;
    while (end + 1 < sorted.length && sorted[end + 1] === (sorted[end] ?? 0) + 1) end += 1;
    parts.push(end > i ? `${sorted[i]}-${sorted[end]}` : `${sorted[i]}`);
    i = end + 1;
  }
  return parts.join(',');
}

export const commandText = (command: string | string[]): string =>
  typeof command === 'string' ? command : command.map(quoted).join(' ');

// As a shell would need it.
export const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;

// A call of `schedulearn` as a shell takes it. Every command with a word that was typed, or stood in an address, is made here.
export const commandLine = (...words: (string | number)[]): string =>
  ['schedulearn', ...words.map((word) => quoted(String(word)))].join(' ');

// A file's name, which the API encodes because it need not be UTF-8.
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const turning = /[\u202a-\u202e\u2066-\u2069]/g;

// Signs that turn the direction of what is written after them are shown as what they are, so that no name reads as another
// or turns what stands beside it. The specification of a job stays as it is: it may be submitted again.
export function unturned<T>(answer: T): T {
  if (typeof answer === 'string')
    return answer.replace(turning, (sign) => `\\u${sign.charCodeAt(0).toString(16).toUpperCase()}`) as T;
  if (Array.isArray(answer)) return answer.map(unturned) as T;
  if (typeof answer !== 'object' || answer === null) return answer;
  return Object.fromEntries(
    Object.entries(answer).map(([key, value]) => [key, key === 'spec' ? (value as unknown) : unturned<unknown>(value)])
  ) as T;
}

// The controller's sentences name times in UTC, "10:23:11 UTC", with the day if that matters: as this page names times.
export function withOwnTimes(sentence: string, now = new Date()): string {
  return sentence.replace(/(?:(\d{4}-\d\d-\d\d) )?\b(\d\d:\d\d:\d\d) UTC\b/g, (_, day: string | undefined, time: string) => {
    const at = `${day ?? now.toISOString().slice(0, 10)}T${time}Z`;
    return day ? clock(at, now) : clock(at, new Date(at));
  });
}

// Of an answer: where the controller says why.
function sentence(this: unknown, key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const isOne = ['summary', 'state_reason', 'followed'].includes(key);
  const beside = this as Record<string, unknown>;
  return isOne || (key === 'text' && ('code' in beside || 'fits' in beside || 'verdict' in beside)) ? withOwnTimes(value) : value;
}

// The document in the text of an answer.
export function documentIn<T>(text: string): T {
  const answer = JSON.parse(text, text.includes(' UTC') ? sentence : undefined) as T;
  return text.search(turning) < 0 ? answer : unturned(answer); // few answers have such signs
}
