// The output of a job as it is written, as lines that a view can show a part of.
import { apiUrl, headers, problemOf, Refused, send } from './client';
import { readStream, type Message } from './event_stream';
import { Lines, type Line } from './lines';
import type { Problem } from './types';

const firstBytes = 4 << 20; // of a long output only the end is read at once
const linesMax = 200_000;
const silenceMs = 60_000;
const faults =
  /Traceback \(most recent call last\)|out of memory|\bNCCL (?:error|WARN)|Segmentation fault|\b\w*(?:Error|Exception):/i;

export class Log {
  lines = $state.raw<Line[]>([]);
  skippedBytes = $state(0); // before the first line shown
  attempt = $state<number | null>(null);
  end = $state<string | null>(null); // the state in which the job ended, once all of its output is here
  problem = $state.raw<Problem | null>(null);
  hasBegun = $state(false);
  fault: Line | null = null; // the first line that looks like the error the job failed with
  private kept: Line[] = [];
  private made = new Lines();
  private offset = 0;
  private stop = new AbortController();
  private isClosed = false;
  private isDue = false;

  constructor(
    private readonly job: number,
    private readonly chosenAttempt: number | null, // only this one; null: from the latest on
    attempts: number // so far
  ) {
    this.attempt = chosenAttempt ?? (attempts > 0 ? attempts : null);
  }

  async start(fromBeginning = false): Promise<void> {
    this.stop.abort();
    const stop = new AbortController();
    this.stop = stop;
    this.clear();
    this.offset = 0;
    this.skippedBytes = 0;
    try {
      const query = this.chosenAttempt === null ? '' : `&attempt=${this.chosenAttempt}`;
      const head = await send('GET', `jobs/${this.job}/logs?limit=0${query}`, undefined, stop.signal);
      const size = Number(head.headers.get('X-Schedulearn-Size') ?? 0);
      if (!fromBeginning && size > firstBytes) this.offset = this.skippedBytes = size - firstBytes;
    } catch (error) {
      if (stop.signal.aborted) return;
      this.problem = problemOf(error);
    }
    await this.follow(stop);
  }

  // A hidden tab lets go of its connection: a browser has few per server.
  pause(): void {
    this.stop.abort();
    this.stop = new AbortController();
  }

  resume(): void {
    if (this.end !== null || this.isClosed) return;
    this.pause();
    void this.follow(this.stop);
  }

  close(): void {
    this.isClosed = true;
    this.stop.abort();
  }

  private async follow(first: AbortController): Promise<void> {
    for (let tries = 0, stop = first; !this.isClosed && this.stop === stop && this.end === null; tries += 1) {
      try {
        const attempt = this.attempt;
        const response = await fetch(
          apiUrl(`jobs/${this.job}/logs/stream?offset=${this.offset}${attempt === null ? '' : `&attempt=${attempt}`}`),
          { headers: headers(), cache: 'no-store', signal: stop.signal }
        );
        if (!response.ok) throw new Refused((await response.json()) as Problem);
        this.problem = null;
        await readStream(response, (message) => ((tries = 0), this.hear(message)), silenceMs, stop);
      } catch (error) {
        if (this.isClosed || this.stop !== stop) return;
        this.problem = problemOf(error);
        if (this.problem.status === 403 || this.problem.status === 404 || this.problem.status === 410) return;
      }
      if (this.isClosed || this.stop !== stop || this.end !== null) return;
      await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 300 * 2 ** tries)));
      if (this.isClosed || this.stop !== stop) return;
      stop = this.stop = new AbortController();
    }
  }

  private hear(message: Message): void {
    this.hasBegun = true;
    const data = JSON.parse(message.data) as Record<string, unknown>;
    if (message.id !== null) this.offset = Number(message.id);
    if (message.event === 'line') {
      this.attempt ??= 1; // it was followed from before its start
      const line = this.made.add(String(data.x ?? ''), data.nl === true);
      if (line) this.add(line);
    }
    if (message.event === 'skip')
      this.remark(`${String(data.bytes)} bytes of output were dropped here: it is over its limit`);
    if (message.event === 'gone') this.remark(String(data.reason));
    if (message.event === 'closed') this.remark(`the connection was closed: ${String(data.reason)}`);
    if (message.event === 'attempt' && this.chosenAttempt !== null) {
      this.end = 'later attempt';
      this.stop.abort();
    } else if (message.event === 'attempt') {
      this.attempt = Number(data.attempt);
      this.offset = 0;
      if (this.made.hasOpen) this.add(this.made.end());
      this.remark(`attempt ${this.attempt}`);
    }
    if (message.event === 'end') {
      if (this.made.hasOpen) this.add(this.made.end());
      this.end = String(data.state);
      if (this.chosenAttempt === null) this.remark(`the job has ended: ${this.end}`);
    }
    this.publishSoon();
  }

  private remark(text: string): void {
    this.add({ number: 0, spans: [{ text, classes: '' }], text, rewrites: 0 });
  }

  private add(line: Line): void {
    this.kept.push(line);
    if (!this.fault && line.number > 0 && faults.test(line.text)) this.fault = line;
    if (this.kept.length > linesMax * 1.1) this.kept = this.kept.slice(-linesMax);
  }

  private clear(): void {
    this.kept = [];
    this.made = new Lines();
    this.fault = null;
    this.end = null;
    this.problem = null;
    this.hasBegun = false;
    this.lines = [];
  }

  // Thousands of lines may arrive between two frames.
  private publishSoon(): void {
    if (this.isDue) return;
    this.isDue = true;
    setTimeout(() => {
      this.isDue = false;
      this.lines = this.made.hasOpen ? [...this.kept, this.made.unfinished()] : [...this.kept];
    }, 60);
  }
}
