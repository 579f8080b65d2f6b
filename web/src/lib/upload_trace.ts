// How a file becomes a trace on the controller.
import { send } from './client';
import type { Trace, TraceUpload } from './types';

const pieceBytes = 512 * 1024; // a request has at most 1 MiB

// `onPart`: how much of it is there, 0 to 1.
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
