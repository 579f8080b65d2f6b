// Which rows of a long list are elements: those in view and some around them. A browser bounds the height of an element,
// so that of very many rows the scroll position is a share of the way, not a number of pixels.

export const tallest = 12_000_000; // pixels, within what every browser can

export interface Window {
  first: number; // index of the first row that is an element
  end: number; // and the one after the last
  offset: number; // pixels from the top of the list to the first of them
  height: number; // of the whole list
}

const together = 2; // rows become elements two at a time: more would make the slowest frames slower, one all of them

export function windowOf(count: number, rowHeight: number, top: number, view: number, margin: number): Window {
  const full = count * rowHeight;
  const height = Math.min(full, tallest);
  // The row at the top edge, as a real number.
  const place = placeOf(top, count, rowHeight, view);
  const step = Math.max(1, Math.min(together, margin));
  const first = Math.max(0, Math.min(count, Math.floor((Math.floor(place) - margin) / step) * step));
  const end = Math.min(count, Math.ceil((Math.ceil(place + view / rowHeight) + margin) / step) * step);
  return { first, end, offset: full === height ? first * rowHeight : top + (first - place) * rowHeight, height };
}

// The scroll position at which a row is `share` of the view below its top edge.
export function topOf(row: number, count: number, rowHeight: number, view: number, share = 0): number {
  const wanted = Math.max(0, row * rowHeight - share * view);
  const full = count * rowHeight;
  return full <= tallest ? wanted : wanted * scale(full, view);
}

function placeOf(top: number, count: number, rowHeight: number, view: number): number {
  const full = count * rowHeight;
  return (full <= tallest ? top : top / scale(full, view)) / rowHeight;
}

const scale = (full: number, view: number): number => (tallest - view) / (full - view);
