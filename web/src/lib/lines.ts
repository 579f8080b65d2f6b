// Puts pieces of output together to lines. Of a line that carriage returns rewrite for hours only the last state is kept.
import { collapse, TerminalText, type Span } from './terminal_text';

export interface Line {
  number: number; // 0: a remark of ours
  spans: Span[];
  text: string;
  rewrites: number; // how often a carriage return overwrote it
}

export class Lines {
  private terminal = new TerminalText();
  private open = ''; // what has come of the line that is not complete yet
  private rewrites = 0;
  private number = 0;

  // The line that this piece completes, if it does.
  add(piece: string, isComplete: boolean): Line | null {
    const raw = this.open + piece;
    const { text, rewrites } = collapse(raw);
    this.rewrites += rewrites;
    this.open = raw.endsWith('\r') && !isComplete ? `${text}\r` : text;
    return isComplete ? this.end() : null;
  }

  // Ends the open line, even an empty one.
  end(): Line {
    const line = this.render(this.terminal, ++this.number);
    this.open = '';
    this.rewrites = 0;
    return line;
  }

  get hasOpen(): boolean {
    return this.open !== '';
  }

  // The open line as it looks now.
  unfinished(): Line {
    return this.render(this.terminal.copy(), this.number + 1);
  }

  private render(terminal: TerminalText, number: number): Line {
    const spans = terminal.line(collapse(this.open).text);
    return { number, spans, text: spans.map(({ text }) => text).join(''), rewrites: this.rewrites };
  }
}
