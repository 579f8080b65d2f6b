// The output of a job as it is written, as lines that a view can show a part of.
import { problemOf, send } from './client';
import { readStream, type Message } from './event_stream';
import { Line, Lines } from './lines';
import { LogGroups } from './log_groups';
import type { Problem } from './types';

const firstBytes = 4 << 20; // of a long output only the end is read at once
const linesMax = 2_000_000;
const charactersMax = 300 << 20; // of all lines together
const silenceMs = 60_000;
const nothingMs = 1000; // without a line on a new connection: what was written is none yet
// The rule of `schedulearn logs --errors` too (src/cli/output_filter.cpp), in words in docs/guide/jobs.md.
const faults =
  /Traceback \(most recent call last\)|out of memory|\bNCCL (error|WARN)|Segmentation fault|\b\w*(Error|Exception):/i;

export interface Part {
  job: number;
  attempt: number | null; // null: from the latest on
  rank: number; // of the job's servers
  hasTimes?: boolean; // ask when each line was written
  isRaw?: boolean; // everything that was written, nothing obeyed; no groups
}

export class Log {
  count = $state(0); // lines; `at` gives them
  dropped = $state(0); // how many there were before the first: more than are kept
  skippedBytes = $state(0); // before the first line shown
  attempt = $state<number | null>(null);
  end = $state<string | null>(null); // the state in which the job ended, once all of its output is here
  problem = $state.raw<Problem | null>(null);
  isReading = $state(false); // it is being asked for, or lines that were written before are still arriving
  fault = $state.raw<Line | null>(null); // the first line that looks like the error the job failed with
  version = $state(0); // changes with everything that `at` may give
  private kept: Line[] = [];
  private characters = 0;
  private unfinished: Line | null = null;
  private attemptBegin = 0; // index of its first line
  groups = new LogGroups(); // of lines that can be folded
  private made: Lines;
  private size = 0; // of the output when reading began
  private offset = 0;
  private stop = new AbortController();
  private isClosed = false;
  private isDue = false;

  constructor(
    private readonly part: Part,
    attempts: number // so far
  ) {
    this.made = new Lines(part.isRaw);
    this.attempt = part.attempt ?? (attempts > 0 ? attempts : null);
  }

  async start(fromBeginning = false): Promise<void> {
    this.stop.abort();
    const stop = new AbortController();
    this.stop = stop;
    this.clear();
    this.isReading = true;
    this.offset = 0;
    this.skippedBytes = 0;
    try {
      const head = await send('GET', `jobs/${this.part.job}/logs?limit=0${this.query}`, { signal: stop.signal });
      this.size = Number(head.headers.get('X-Schedulearn-Size') ?? 0);
      if (!fromBeginning && this.size > firstBytes) this.offset = this.skippedBytes = this.size - firstBytes;
      this.isReading = this.size > this.offset;
    } catch (error) {
      if (stop.signal.aborted) return;
      this.isReading = false;
      this.problem = problemOf(error);
    }
    await this.follow(stop);
  }

  // The line at an index below `count`.
  at(index: number): Line | undefined {
    return index < this.kept.length ? this.kept[index] : (this.unfinished ?? undefined);
  }

  // How many of them will not change any more.
  get complete(): number {
    return this.kept.length;
  }

  // The index of a line of the latest attempt, -1 if it is not here.
  indexOf(number: number): number {
    for (let i = this.attemptBegin + Math.max(0, number - 1 - this.dropped); i < this.count; i += 1)
      if (this.at(i)?.number === number) return i;
    return -1;
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

  private get query(): string {
    const { attempt, rank } = this.part;
    return `${attempt === null ? '' : `&attempt=${attempt}`}${rank === 0 ? '' : `&rank=${rank}`}`;
  }

  private async follow(first: AbortController): Promise<void> {
    for (let tries = 0, stop = first; !this.isClosed && this.stop === stop && this.end === null; tries += 1) {
      try {
        const attempt = this.attempt === null ? '' : `&attempt=${this.attempt}`;
        const rank = this.part.rank === 0 ? '' : `&rank=${this.part.rank}`;
        const times = this.part.hasTimes ? '&timestamps=true' : '';
        const path = `jobs/${this.part.job}/logs/stream?offset=${this.offset}${attempt}${rank}${times}`;
        const response = await send('GET', path, { signal: stop.signal });
        this.problem = null;
        setTimeout(() => this.stop === stop && this.count === 0 && (this.isReading = false), nothingMs);
        await readStream(response, (message) => ((tries = 0), this.hear(message)), silenceMs, stop);
      } catch (error) {
        if (this.isClosed || this.stop !== stop) return;
        this.problem = problemOf(error);
        if (this.problem.status >= 400 && this.problem.status < 500) return;
      }
      if (this.isClosed || this.stop !== stop || this.end !== null) return;
      await new Promise((resolve) => setTimeout(resolve, Math.min(5000, 300 * 2 ** tries)));
      if (this.isClosed || this.stop !== stop) return;
      stop = this.stop = new AbortController();
    }
  }

  private hear(message: Message): void {
    const data = JSON.parse(message.data) as Record<string, unknown>;
    if (message.id !== null) {
      const [attempt = 0, offset = 0] = message.id.split('-').map(Number);
      if (attempt > 0) this.attempt = this.part.attempt ?? attempt;
      this.offset = offset;
    }
    if (message.event === 'line') {
      const written = typeof data.t === 'string' ? Date.parse(data.t) : null;
      const line = this.made.add(String(data.x ?? ''), data.nl === true, written);
      if (line) this.add(line);
    }
    if (message.event === 'skip')
      this.remark(`${String(data.bytes)} bytes of output were dropped here: it is over its limit`);
    if (message.event === 'gone') this.remark(String(data.reason));
    if (message.event === 'closed') this.remark(`the connection was closed: ${String(data.reason)}`);
    if (message.event === 'attempt' && this.part.attempt !== null) {
      this.end = 'later attempt';
      this.stop.abort();
    } else if (message.event === 'attempt') {
      if (this.made.hasOpen) this.add(this.made.end());
      this.groups.close(this.kept.length);
      this.remark(`attempt ${this.attempt}`);
      this.made = new Lines(this.part.isRaw);
      this.attemptBegin = this.kept.length;
    }
    if (message.event === 'end') {
      if (this.made.hasOpen) this.add(this.made.end());
      this.end = String(data.state);
      // Of an output without lines the page says so.
      if (this.part.attempt === null && this.kept.length > 0) this.remark(`the job has ended: ${this.end}`);
    }
    this.publishSoon();
  }

  private remark(text: string): void {
    this.add(new Line(0, text));
  }

  private add(line: Line): void {
    if (line.number > 0 && !this.part.isRaw) this.groups.add(line.raw, this.kept.length);
    this.kept.push(line);
    this.characters += line.length;
    if (!this.fault && line.number > 0 && faults.test(line.text)) this.fault = line;
    if (this.kept.length > linesMax * 1.1 || this.characters > charactersMax * 1.1) this.dropOldest();
  }

  private dropOldest(): void {
    let from = Math.max(0, this.kept.length - linesMax);
    for (let i = 0; i < from; i += 1) this.characters -= this.kept[i]?.length ?? 0;
    while (this.characters > charactersMax && from < this.kept.length - 1)
      this.characters -= this.kept[from++]?.length ?? 0;
    this.kept = this.kept.slice(from);
    this.attemptBegin = Math.max(0, this.attemptBegin - from);
    this.groups.drop(from);
    this.dropped += from;
  }

  private clear(): void {
    this.kept = [];
    this.groups = new LogGroups();
    this.characters = 0;
    this.unfinished = null;
    this.made = new Lines(this.part.isRaw);
    this.attemptBegin = 0;
    this.count = this.dropped = 0;
    this.fault = null;
    this.end = null;
    this.problem = null;
    this.version += 1;
  }

  // Thousands of lines may arrive between two frames.
  private publishSoon(): void {
    if (this.isDue) return;
    this.isDue = true;
    setTimeout(() => {
      this.isDue = false;
      this.unfinished = this.made.hasOpen ? this.made.unfinished() : null;
      this.count = this.kept.length + (this.unfinished ? 1 : 0);
      this.version += 1;
      if (this.isReading && (this.offset >= this.size || this.end !== null)) this.isReading = false; // they are shown now
    }, 60);
  }
}
