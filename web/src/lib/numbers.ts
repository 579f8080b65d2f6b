// Numbers that are typed.

// A whole number; null: what is typed, if anything, is none.
export function wholeIn(typed: string): number | null {
  const text = typed.trim();
  return /^-?\d{1,9}$/.test(text) ? Number(text) : null;
}

// What is wrong with what should be one; none: ''.
export const wholeFault = (typed: string, least = -Infinity): string => {
  const value = wholeIn(typed);
  if (value === null) return 'write a whole number';
  return value < least ? `write a number from ${least} on` : '';
};
