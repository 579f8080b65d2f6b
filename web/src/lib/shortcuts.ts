// The keys that mean something by themselves, and what a user has made of them. A key is known by what it is at first.

export interface Shortcut {
  key: string; // "j", or two in a row: "g j"
  name: string;
  where: string;
}

const everywhere = 'everywhere';
const inTables = 'in tables of jobs';
const inQueue = 'in the queue';
const onJob = 'on the page of a job';
const inOutput = 'in the output of a job';

export const shortcuts: readonly Shortcut[] = [
  { key: 'g o', name: 'Overview', where: everywhere },
  { key: 'g j', name: 'Jobs', where: everywhere },
  { key: 'g s', name: 'Submit', where: everywhere },
  { key: 'g p', name: 'Policy', where: everywhere },
  { key: 'g l', name: 'Lab', where: everywhere },
  { key: 'g v', name: 'Servers', where: everywhere },
  { key: 'g e', name: 'Events', where: everywhere },
  { key: 'g ,', name: 'Settings', where: everywhere },
  { key: 'c', name: 'Submit a job', where: everywhere },
  { key: '/', name: 'Search on the page', where: everywhere },
  { key: '.', name: 'Copy the equal command', where: everywhere },
  { key: '?', name: 'Keyboard shortcuts', where: everywhere },
  { key: 'j', name: 'Next job', where: inTables },
  { key: 'k', name: 'Previous job', where: inTables },
  { key: 'o', name: 'Open the job', where: inTables },
  { key: 'x', name: 'Choose the job', where: inTables },
  { key: 'a', name: 'Members of the array', where: inTables },
  { key: 'K', name: 'Move the job up in line', where: inQueue },
  { key: 'J', name: 'Move the job down in line', where: inQueue },
  { key: 'l', name: 'Log', where: onJob },
  { key: 'm', name: 'Measurements', where: onJob },
  { key: 't', name: 'Timeline', where: onJob },
  { key: 'u', name: 'Usage', where: onJob },
  { key: 'i', name: 'Files', where: onJob },
  { key: 's', name: 'Specification', where: onJob },
  { key: 'w', name: 'Why it waits', where: onJob },
  { key: 'f', name: 'Follow the output', where: inOutput },
  { key: 'e', name: 'First error', where: inOutput },
  { key: 'n', name: 'Next hit', where: inOutput },
  { key: 'N', name: 'Previous hit', where: inOutput }
];

export type KeyChanges = Record<string, string>; // by the key at first; "": turned off

export const keyNow = (changes: KeyChanges, key: string): string => changes[key] ?? key;

// Why a shortcut cannot have this key, in words; null: it can. One key means one thing, on whichever page.
export function refusalOf(changes: KeyChanges, key: string, wanted: string): string | null {
  if (wanted === '') return null;
  if (!/^\S( \S)?$/u.test(wanted)) return 'A shortcut is one key, or two with a space between them: g x';
  const others = shortcuts
    .filter((other) => other.key !== key)
    .map((other) => ({ ...other, now: keyNow(changes, other.key) }))
    .filter(({ now }) => now !== '');
  const said = ({ now, name, where }: (typeof others)[number]): string => `${now} is “${name}” ${where}`;
  const same = others.find(({ now }) => now === wanted);
  if (same) return `${said(same)}. Give that another key first, or turn it off.`;
  const begun = others.find(({ now }) => now.startsWith(`${wanted} `));
  if (begun) return `${wanted} begins another shortcut: ${said(begun)}.`;
  const first = others.find(({ now }) => wanted.startsWith(`${now} `));
  if (first) return `${said(first)}, so that nothing can begin with it.`;
  return null;
}
