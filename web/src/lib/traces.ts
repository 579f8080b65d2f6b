// Traces that users have uploaded: what is said of one, and how a file becomes one.
import { send } from './client';
import { bytes, duration, plural } from './format';
import type { Trace, TraceUpload } from './types';

export const traceFileBytesMost = 64 * 1024 * 1024;
const pieceBytes = 512 * 1024; // a request has at most 1 MiB

// "philly.csv.gz" is called philly.
export const traceNameOf = (file: string): string => file.replace(/(\.csv)?(\.gz)?$/i, '').replace(/[^A-Za-z0-9._-]+/g, '-');

// "82,247 jobs of up to 128 GPUs in 108.9 d"
export function traceFacts({ figures }: Pick<Trace, 'figures'>): string {
  if (!figures) return '';
  const most = figures.gpus.at(-1)?.gpus ?? 0;
  return `${plural(figures.jobs, 'job')} of up to ${plural(most, 'GPU')} in ${duration(Math.round(figures.span_s))}`;
}

export async function uploadTrace(file: Blob, name: string, onPart: (part: number) => void): Promise<Trace> {
  for (let offset = 0; ; offset += pieceBytes) {
    const piece = file.slice(offset, offset + pieceBytes);
    const answer = await send('POST', `traces?name=${encodeURIComponent(name)}&offset=${offset}&size=${file.size}`, {
      text: piece,
      headers: { 'Content-Type': 'application/octet-stream' }
    });
    const { trace } = (await answer.json()) as TraceUpload;
    if (trace) return trace;
    onPart((offset + piece.size) / file.size);
  }
}

export const tooLarge = (file: File): string =>
  file.size > traceFileBytesMost
    ? `${file.name} has ${bytes(file.size)}; up to ${bytes(traceFileBytesMost)} can be uploaded, compressed or not`
    : '';
