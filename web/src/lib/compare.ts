// How a figure of a tried policy differs from the one in force, in words and as better or worse.

export interface Difference {
  text: string; // "12 % less"
  tone: 'good' | 'bad' | 'gone'; // classes of app.css
}

// Less than this is not told from chance: the figures are of some possible futures.
export const noisePct = 2;

export function differenceOf(value: number | null, now: number | null, lessIsBetter = true): Difference | null {
  if (value === null || now === null) return null;
  if (value === now) return { text: 'the same', tone: 'gone' };
  if (now === 0) return { text: 'more', tone: lessIsBetter ? 'bad' : 'good' };
  const share = (100 * (value - now)) / Math.abs(now);
  if (Math.abs(share) < noisePct) return { text: 'about the same', tone: 'gone' };
  const isLess = share < 0;
  const text =
    share >= 1000 ? 'over ten times as much' : `${Math.round(Math.abs(share))} % ${isLess ? 'less' : 'more'}`;
  return { text, tone: isLess === lessIsBetter ? 'good' : 'bad' };
}

// Of two instants, how much earlier or later the first is.
export function shiftOf(at: string | null, now: string | null): { seconds: number; isLater: boolean } | null {
  if (at === null || now === null) return null;
  const seconds = (Date.parse(at) - Date.parse(now)) / 1000;
  return { seconds: Math.abs(seconds), isLater: seconds > 0 };
}
