// The output of a job as it is written, as lines that a view can show a part of.
import { apiUrl, headers, problemOf, Refused, send } from './client';
import { readStream, type Message } from './event_stream';
import { collapse, TerminalText, type Span } from './terminal_text';
import type { Problem } from './types';

export interface Line {
  number: number; // 0: a remark of ours
  spans: Span[];
  text: string;
  rewrites: number; // how often a carriage return overwrote it
}

const firstBytes = 4 << 20; // of a long output only the end is read at once
const linesMax = 200_000;
const silenceMs = 60_000;

export class Log {
  lines = $state.raw<Line[]>([]);
  skippedBytes = $state(0); // before the first line shown
  attempt = $state<number | null>(null);
  end = $state<string | null>(null); // the state in which the job ended, once all of its output is here
  problem = $state.raw<Problem | null>(null);
  hasBegun = $state(false);
  private kept: Line[] = [];
  private terminal = new TerminalText();
  private open = ''; // the line that is not complete yet
  private openRewrites = 0;
  private number = 0;
  private offset = 0;
  private stop = new AbortController();
  private isClosed = false;
  private isDue = false;

  constructor(
    private readonly job: number,
    private readonly chosenAttempt: number | null
  ) {}

  async start(fromBeginning = false): Promise<void> {
    this.stop.abort();
    const stop = new AbortController();
    this.stop = stop;
    this.clear();
    this.number = 0;
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

  close(): void {
    this.isClosed = true;
    this.stop.abort();
  }

  private async follow(first: AbortController): Promise<void> {
    for (let tries = 0, stop = first; !this.isClosed && this.stop === stop && this.end === null; tries += 1) {
      try {
        const attempt = this.chosenAttempt ?? this.attempt;
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
    if (message.event === 'line') this.addPiece(String(data.x ?? ''), data.nl === true);
    if (message.event === 'skip') this.remark(`${String(data.bytes)} bytes of output were dropped here: it is over its limit`);
    if (message.event === 'gone') this.remark(String(data.reason));
    if (message.event === 'closed') this.remark(`the connection was closed: ${String(data.reason)}`);
    if (message.event === 'attempt') {
      this.attempt = Number(data.attempt);
      this.offset = 0;
      this.endLine();
      this.remark(`attempt ${this.attempt}`);
    }
    if (message.event === 'end') {
      this.endLine();
      this.end = String(data.state);
      if (this.chosenAttempt === null) this.remark(`the job has ended: ${this.end}`);
    }
    this.publishSoon();
  }

  private addPiece(text: string, isComplete: boolean): void {
    const { text: shown, rewrites } = collapse(this.open + text);
    // Of a progress bar that is rewritten for hours, only the last state is kept.
    this.open = isComplete || rewrites > 0 ? shown : this.open + text;
    this.openRewrites += rewrites;
    if (isComplete) this.endLine(true);
  }

  private endLine(evenEmpty = false): void {
    if (!this.open && !evenEmpty) return;
    const { text, rewrites } = collapse(this.open);
    const spans = this.terminal.line(text);
    this.add({ number: ++this.number, spans, text: spans.map((span) => span.text).join(''), rewrites: this.openRewrites + rewrites });
    this.open = '';
    this.openRewrites = 0;
  }

  private remark(text: string): void {
    this.add({ number: 0, spans: [{ text, classes: '' }], text, rewrites: 0 });
  }

  private add(line: Line): void {
    this.kept.push(line);
    if (this.kept.length > linesMax * 1.1) this.kept = this.kept.slice(-linesMax);
  }

  private clear(): void {
    this.kept = [];
    this.terminal = new TerminalText();
    this.open = '';
    this.openRewrites = 0;
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
      const unfinished = this.open ? [this.unfinished()] : [];
      this.lines = [...this.kept, ...unfinished];
    }, 60);
  }

  private unfinished(): Line {
    const { text } = collapse(this.open);
    const spans = new TerminalText().line(text);
    return { number: this.number + 1, spans, text: spans.map((span) => span.text).join(''), rewrites: this.openRewrites };
  }
}
