// Where the lines of a log are when a line may take several rows of the screen, or none.

export class LogRows {
  private tops = new Uint32Array(1 << 12); // the row at which each line begins, and after the last of them the next row
  private lines = 0;

  get count(): number {
    return this.tops[this.lines] ?? 0;
  }

  // There are `lines` of them now; those from `from` on are counted again. `rowsOf`: of the line at an index.
  update(from: number, lines: number, rowsOf: (index: number) => number): void {
    if (lines >= this.tops.length) {
      const more = new Uint32Array(lines * 2);
      more.set(this.tops);
      this.tops = more;
    }
    for (let i = Math.min(from, this.lines); i < lines; i += 1) this.tops[i + 1] = (this.tops[i] ?? 0) + rowsOf(i);
    this.lines = lines;
  }

  rowOf(line: number): number {
    return this.tops[Math.min(line, this.lines)] ?? 0;
  }

  heightOf(line: number): number {
    return this.rowOf(line + 1) - this.rowOf(line);
  }

  // The line that a row belongs to.
  lineAt(row: number): number {
    let [low, high] = [0, this.lines];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.tops[middle + 1] ?? 0) > row) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

// How many cells of a terminal a text takes at most: signs of East Asia and pictures are twice as wide.
export function cellsOf(text: string): number {
  // eslint-disable-next-line no-control-regex
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let cells = 0;
  for (const sign of text) cells += sign === '\t' ? 8 : (sign.codePointAt(0) ?? 0) >= 0x1100 ? 2 : 1;
  return cells;
}
