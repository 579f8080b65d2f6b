// Where a page was scrolled to, per entry of the browser's history: whoever goes back finds the list where it was left. The
// browser itself cannot do that, since what it shows comes from the controller a moment later.

interface Place {
  window: number;
  boxes: number[]; // of those that are marked `data-place`, in the order of the document
}

const places = new Map<number, Place>();
const boxes = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('[data-place]')];
const waitMost = 3000; // milliseconds, for what is to be scrolled
let entry = 0;
let last = 0; // the number given last
let stop: () => void = () => undefined;

const kept = 'schedulearn.places'; // over a reload

const numberOf = (state: unknown): number | null =>
  typeof state === 'object' && state !== null && 'entry' in state ? Number(state.entry) : null;

export function begin(): void {
  history.scrollRestoration = 'manual';
  const known = numberOf(history.state);
  entry = last = known ?? 0;
  history.replaceState({ entry }, '');
  window.addEventListener('pagehide', () => {
    leave();
    try {
      sessionStorage.setItem(kept, JSON.stringify([...places]));
    } catch {
      // full, or not allowed here: then a reload begins at the top
    }
  });
  if (known === null) return;
  try {
    for (const [number, place] of JSON.parse(sessionStorage.getItem(kept) ?? '[]') as [number, Place][]) {
      places.set(number, place);
      last = Math.max(last, number);
    }
  } catch {
    return;
  }
  restore();
}

function leave(): void {
  stop();
  places.set(entry, { window: window.scrollY, boxes: boxes().map((box) => box.scrollTop) });
}

// Before another address is shown. The state of its entry of the history.
export function next(): { entry: number } {
  leave();
  entry = ++last;
  return { entry };
}

export const same = (): { entry: number } => ({ entry });

// Another entry is shown, or a new one that the browser made, of an address with another part after #.
export function come(state: unknown): void {
  leave();
  const known = numberOf(state);
  entry = known ?? ++last;
  if (known === null) history.replaceState({ entry }, '');
  else restore();
}

// The page is scrolled to where it was as soon as it is long enough, unless the reader scrolls first.
function restore(): void {
  const place = places.get(entry);
  if (!place) return;
  const until = performance.now() + waitMost;
  let isOver = false;
  const over = (): void => {
    isOver = true;
    for (const kind of ['wheel', 'touchstart', 'keydown', 'mousedown']) window.removeEventListener(kind, over, true);
  };
  for (const kind of ['wheel', 'touchstart', 'keydown', 'mousedown']) window.addEventListener(kind, over, true);
  stop = over;
  const look = (): void => {
    if (isOver) return;
    window.scrollTo(0, place.window);
    const now = boxes();
    place.boxes.forEach((top, i) => now[i]?.scrollTo({ top }));
    const isThere =
      Math.abs(window.scrollY - place.window) < 2 && place.boxes.every((top, i) => Math.abs((now[i]?.scrollTop ?? 0) - top) < 2);
    if (isThere || performance.now() > until) over();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
