// Which rows of a long list are elements: those in view and some around them. A browser bounds the height of an element,
// so that of very many rows the scroll position is a share of the way, not a number of pixels.

export const tallest = 12_000_000; // pixels, within what every browser can

export interface Window {
  first: number; // index of the first row that is an element
  end: number; // and the one after the last
  offset: number; // pixels from the top of the list to the first of them
  height: number; // of the whole list
}

export function windowOf(count: number, rowHeight: number, top: number, view: number, margin: number): Window {
  const full = count * rowHeight;
  const height = Math.min(full, tallest);
  const place = rowAt(top, count, rowHeight, view);
  const step = Math.max(1, margin >> 1); // so many rows enter at once: a frame that only scrolls costs less than one in which even one enters
  const shown = Math.min(count, Math.ceil(view / rowHeight) + 2 * margin + step); // everywhere as many, so that none is made on the way
  const first = Math.max(0, Math.min(count - shown, Math.floor((Math.floor(place) - margin) / step) * step));
  return { first, end: first + shown, offset: full === height ? first * rowHeight : top + (first - place) * rowHeight, height };
}

// The scroll position at which a row is `share` of the view below its top edge.
export function topOf(row: number, count: number, rowHeight: number, view: number, share = 0): number {
  const wanted = Math.max(0, row * rowHeight - share * view);
  const full = count * rowHeight;
  return full <= tallest ? wanted : wanted * scale(full, view);
}

// The row at the top edge, as a real number.
export function rowAt(top: number, count: number, rowHeight: number, view: number): number {
  const full = count * rowHeight;
  return (full <= tallest ? top : top / scale(full, view)) / rowHeight;
}

const scale = (full: number, view: number): number => (tallest - view) / (full - view);

// Which element shows which row of such a list: one that leaves the view is moved to where another row enters it, and filled
// again. That costs less than a new one, and rows that stay are not touched.
export class Reused {
  private shown = new Map<number, Shown>();
  private made = 0;

  // The rows that are elements now, ascending. After a jump all are new: elements that stay must be the more, as it is the
  // fewer that an {#each} moves, and what moves loses its focus and selection.
  of(rows: number[]): Shown[] {
    const leaving = new Map(this.shown);
    for (const row of rows) leaving.delete(row);
    const free = leaving.size * 2 < this.shown.size ? [...leaving.values()] : [];
    const next = rows.map((row) => this.shown.get(row) ?? { row, key: free.shift()?.key ?? this.made++ });
    this.shown = new Map(next.map((shown) => [shown.row, shown]));
    return next;
  }
}

// The same object for as long as its element shows the row.
export interface Shown {
  row: number;
  key: number; // of the element
}
