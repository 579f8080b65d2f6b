// What this browser remembers. A browser may forbid it: then nothing is lost but the memory.
import { times as timesOfFormat } from './format';
import type { KeyChanges } from './shortcuts';

export function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // as if it had never been chosen
  }
}

// For what concerns one controller: others may have their pages at the same origin, below other prefixes.
export const keyHere = (name: string): string => `schedulearn.${name} ${new URL(document.baseURI).pathname}`;

// What a user has typed and not sent yet.
export const drafts = { job: keyHere('draft'), plan: keyHere('plan') };

// The next user of this browser sees none of it.
export function forgetDrafts(): void {
  for (const key of Object.values(drafts)) remember(key, null);
}

// One of a few words. `apply` makes it so, at the start and when another is chosen.
export class Choice<T extends string> {
  chosen = $state() as T;

  constructor(
    private readonly key: string,
    readonly options: readonly [T, ...T[]], // the first is the default
    private readonly apply: (chosen: T) => void = () => undefined
  ) {
    this.chosen = options.find((option) => option === remembered(key)) ?? options[0];
    apply(this.chosen);
  }

  choose(option: T): void {
    this.chosen = option;
    remember(this.key, option);
    this.apply(option);
  }

  next(): void {
    this.choose(this.options[(this.options.indexOf(this.chosen) + 1) % this.options.length] ?? this.options[0]);
  }
}

const dark = window.matchMedia('(prefers-color-scheme: dark)');
const root = document.documentElement;

// What the page is painted in now, whoever decided that: what draws its own colours draws again when it changes.
export const painted = $state({ theme: 'light' });

function paint(choice: string): void {
  painted.theme = choice === 'dark' || (choice === 'system' && dark.matches) ? 'dark' : 'light';
  root.dataset.theme = painted.theme;
}

export const theme = new Choice('schedulearn.theme', ['system', 'light', 'dark'], paint);
dark.addEventListener('change', () => paint(theme.chosen));
export const density = new Choice(
  'schedulearn.density',
  ['comfortable', 'dense'],
  (chosen) => (root.dataset.density = chosen)
);
export const times = new Choice(
  'schedulearn.times',
  ['local', 'UTC'],
  (chosen) => (timesOfFormat.areUtc = chosen === 'UTC')
);
export const keys = new Choice('schedulearn.keys', ['on', 'off']);

// A list or a record as JSON, `other` if nothing, or something else, is remembered.
export class Kept<T> {
  value = $state.raw() as T;

  constructor(
    private readonly key: string,
    other: T,
    isRight: (value: unknown) => boolean
  ) {
    this.value = other;
    try {
      const known: unknown = JSON.parse(remembered(key) ?? 'null');
      if (isRight(known)) this.value = known as T;
    } catch {
      // not ours
    }
  }

  keep(value: T): void {
    this.value = value;
    remember(this.key, JSON.stringify(value));
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';

export interface Filter {
  name: string;
  query: string; // "state=failed&user=mei"
}

export const filters = new Kept<Filter[]>(
  'schedulearn.filters',
  [],
  (value) => Array.isArray(value) && value.every((each: Filter) => isText(each?.name) && isText(each?.query))
);
export const shortcutKeys = new Kept<KeyChanges>(
  'schedulearn.shortcuts',
  {},
  (value) => typeof value === 'object' && value !== null && Object.values(value).every(isText)
);
export const jobColumns = new Kept<string[] | null>(
  'schedulearn.columns',
  null,
  (value) => Array.isArray(value) && value.every(isText)
);
