// While a page is printed, long lists are whole, up to a length that paper has room for, and everything is on white.
import { flushSync } from 'svelte';
import { painted } from './settings.svelte';

export const printing = $state({ isOn: false });
export const printedMost = 5000; // rows of a list, lines of an output

const root = document.documentElement;

window.addEventListener('beforeprint', () => {
  flushSync(() => (printing.isOn = true)); // the browser takes the page as it is after this
  root.dataset.theme = 'light';
});
window.addEventListener('afterprint', () => {
  printing.isOn = false;
  root.dataset.theme = painted.theme;
});
