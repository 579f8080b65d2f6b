// Traces that users have uploaded: what is said of one, and which files can become one.
import { bytes, duration, plural } from './format';
import type { Trace } from './types';

export const traceFileBytesMost = 64 * 1024 * 1024;

// "philly.csv.gz" is called philly.
export const traceNameOf = (file: string): string => file.replace(/(\.csv)?(\.gz)?$/i, '').replace(/[^A-Za-z0-9._-]+/g, '-');

// "82,247 jobs of up to 128 GPUs in 108.9 d"
export function traceFacts({ figures }: Pick<Trace, 'figures'>): string {
  if (!figures) return '';
  const most = figures.gpus.at(-1)?.gpus ?? 0;
  return `${plural(figures.jobs, 'job')} of up to ${plural(most, 'GPU')} in ${duration(Math.round(figures.span_s))}`;
}

// Why a file cannot be uploaded; '': it can.
export function fileFault(file: File): string {
  if (file.size === 0) return `${file.name} is empty`;
  if (file.size <= traceFileBytesMost) return '';
  return `${file.name} has ${bytes(file.size)}; up to ${bytes(traceFileBytesMost)} can be uploaded, compressed or not`;
}
