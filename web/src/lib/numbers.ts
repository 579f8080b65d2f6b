// Numbers that are typed.

const whole = /^-?\d+$/;
const digitsMost = 9; // so that the controller can hold every such number

// A whole number; null: what is typed, if anything, is none, or has too many digits.
export function wholeIn(typed: string): number | null {
  const text = typed.trim();
  return whole.test(text) && text.replace('-', '').length <= digitsMost ? Number(text) : null;
}

// What is wrong with what should be one; none: ''.
export const wholeFault = (typed: string, least = -Infinity): string => {
  if (!whole.test(typed.trim())) return 'write a whole number';
  const value = wholeIn(typed);
  if (value === null) return `too large: write at most ${digitsMost} digits`;
  return value < least ? `write a number from ${least} on` : '';
};

// Below this, numbers have a power of ten: too many zeros cannot be counted.
const smallest = 1e-4;

// As people write it, with what can be told apart: 1234, 41.7, 0.523, 2e-5.
export function numberText(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return String(Math.round(value));
  if (size >= 10) return String(Math.round(value * 10) / 10);
  const short = Number(value.toPrecision(3));
  return size > 0 && size < smallest ? short.toExponential() : String(short);
}

// How many decimals a step of an axis has: 0.025 has 3.
function decimalsOf(step: number): number {
  for (let decimals = 0; decimals < 12; ++decimals) {
    const scaled = step * 10 ** decimals;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return decimals;
  }
  return 12;
}

// The ticks of an axis that are `step` apart; null: one without a label.
export function tickTexts(ticks: (number | null)[], step: number): string[] {
  const most = Math.max(...ticks.map((tick) => Math.abs(tick ?? 0)));
  const decimals = decimalsOf(step);
  return ticks.map((tick) => {
    if (tick === null) return '';
    if (most < 10 * smallest && tick !== 0) return Number(tick.toPrecision(4)).toExponential();
    return tick.toLocaleString('en-US', { maximumFractionDigits: decimals });
  });
}
