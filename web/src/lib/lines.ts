// Puts pieces of output together to lines. Of a line that carriage returns rewrite for hours only the last state is kept.
// A line costs little until it is looked at: there may be a million.
import { collapse, isObeyed, plain, TerminalText, withSigns, type Span, type Style } from './terminal_text';

export class Line {
  constructor(
    readonly number: number, // from 1 in each attempt; 0: a remark of ours
    readonly raw: string,
    private readonly style: Style = plain, // at its beginning
    readonly rewrites = 0, // how often a carriage return overwrote it
    readonly written: number | null = null, // milliseconds since 1970; null: not asked for, or unknown
    private readonly isRaw = false // everything is shown as a sign, nothing obeyed
  ) {}

  get spans(): Span[] {
    if (this.isRaw) return [{ text: withSigns(this.raw), classes: '' }];
    return new TerminalText(this.style).line(this.raw);
  }

  get text(): string {
    if (!isObeyed(this.raw)) return this.raw;
    if (this.isRaw) return withSigns(this.raw);
    return this.spans.map(({ text }) => text).join('');
  }

  get length(): number {
    return this.raw.length;
  }
}

export class Lines {
  private style = plain;
  private open = ''; // what has come of the line that is not complete yet
  private rewrites = 0;
  private number = 0;
  private written: number | null = null; // of the open line

  constructor(private readonly isRaw = false) {} // lines that carriage returns rewrote are kept whole, too

  // The line that this piece completes, if it does.
  add(piece: string, isComplete: boolean, written: number | null = null): Line | null {
    if (this.isRaw) {
      if (this.open === '') this.written = written;
      this.open += piece;
      return isComplete ? this.end() : null;
    }
    if (isComplete && this.open === '' && !isObeyed(piece))
      return new Line(++this.number, piece, this.style, 0, written);
    if (this.open === '') this.written = written;
    const raw = this.open + piece;
    const { text, rewrites } = collapse(raw);
    this.rewrites += rewrites;
    this.open = raw.endsWith('\r') && !isComplete ? `${text}\r` : text;
    return isComplete ? this.end() : null;
  }

  // Ends the open line, even an empty one.
  end(): Line {
    const line = this.unfinished();
    const terminal = new TerminalText(this.style);
    terminal.line(this.open);
    this.style = terminal.style;
    this.number += 1;
    this.open = '';
    this.rewrites = 0;
    return line;
  }

  get hasOpen(): boolean {
    return this.open !== '';
  }

  // The open line as it looks now.
  unfinished(): Line {
    if (this.isRaw) return new Line(this.number + 1, this.open, plain, 0, this.written, true);
    return new Line(this.number + 1, collapse(this.open).text, this.style, this.rewrites, this.written);
  }
}
