// The lines of a log that contain a word or match a pattern, found piece by piece: a million lines take a while, and
// more may be arriving.
import type { Log } from './log.svelte';

const pieceMs = 8;

export class LogSearch {
  hits = $state.raw<number[]>([]); // indexes of lines
  isDone = $state(true);
  private found: number[] = [];
  private searched = 0;
  private next: ReturnType<typeof setTimeout> | undefined;
  private log: Log | null = null;
  private pattern: RegExp | null = null;

  // Begins anew.
  begin(log: Log | null, pattern: RegExp | null): void {
    this.log = log;
    this.pattern = pattern;
    this.found = [];
    this.hits = [];
    this.searched = 0;
    this.goOn();
  }

  // There are more lines.
  goOn(): void {
    clearTimeout(this.next);
    const { log, pattern } = this;
    this.isDone = !log || !pattern || this.searched >= log.complete;
    if (this.isDone || !log || !pattern) return;
    const until = performance.now() + pieceMs;
    let fresh = 0;
    for (
      ;
      this.searched < log.complete && (this.searched % 500 !== 0 || performance.now() < until);
      this.searched += 1
    ) {
      if (!pattern.test(log.at(this.searched)?.text ?? '')) continue;
      this.found.push(this.searched);
      fresh += 1;
    }
    if (fresh > 0) this.hits = [...this.found];
    this.isDone = this.searched >= log.complete;
    if (!this.isDone) this.next = setTimeout(() => this.goOn());
  }

  close(): void {
    clearTimeout(this.next);
  }
}
