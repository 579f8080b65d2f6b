// A diff as git prints it, taken apart into files. It comes from whoever submitted the job: what is no diff, or ends in the
// middle, is shown as far as it goes, and every line of it stays text.
import { withSigns } from './terminal_text';

export interface DiffRow {
  kind: 'added' | 'removed' | 'same' | 'place' | 'note'; // place: where the next lines are
  before: number | null; // number of the line in the commit
  after: number | null; // and now
  text: string;
}

export interface DiffFile {
  name: string;
  was: string | null; // if it had another name
  state: 'changed' | 'new' | 'removed' | 'renamed';
  rows: DiffRow[];
  added: number;
  removed: number;
}

export interface Diff {
  files: DiffFile[];
  notes: string[]; // of the whole: what was left out
}

const binaryPatch = 'GIT binary patch'; // the rest of the file is for git
const kinds: Record<string, DiffRow['kind']> = { '+': 'added', '-': 'removed', ' ': 'same', '': 'same' };
const letters: Record<string, number> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };

// A name that git has put in quotes: "ne\303\274 \"1\"".
export function unquoted(name: string): string {
  if (!/^".*"$/s.test(name)) return name;
  const bytes: number[] = [];
  for (const [part, escaped] of name.slice(1, -1).matchAll(/\\([0-7]{3}|.)|[^\\]+/gsu)) {
    if (escaped === undefined) bytes.push(...new TextEncoder().encode(part));
    else if (escaped.length === 3) bytes.push(parseInt(escaped, 8) & 255);
    else bytes.push(...(letters[escaped] ? [letters[escaped]] : new TextEncoder().encode(escaped)));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

// The name of a file on one line.
export const fileName = (name: string): string => withSigns(name).replaceAll('\n', '␊');
const shownName = (name: string): string => fileName(unquoted(name.replace(/\t$/, '')));
// "a/lib/net.py" or "b/lib/net.py"; null: /dev/null
const sideName = (name: string): string | null => (name === '/dev/null' ? null : shownName(name).slice(2));

// Of "diff --git a/x b/x", where nothing else names it: the two halves are alike.
function nameIn(line: string): string {
  const names = line.replace(/^diff --\S+ /, '');
  const half = names.slice(0, (names.length - 1) / 2);
  return half.length > 2 && names.slice(half.length + 1).replace(/^("?)b/, '$1a') === half
    ? shownName(half).slice(2)
    : shownName(names);
}

function readHeader(file: DiffFile, line: string): void {
  const rest = (start: string): string | null => (line.startsWith(start) ? line.slice(start.length) : null);
  const from = rest('rename from ') ?? rest('copy from ');
  const side = rest('--- ') ?? rest('+++ ');
  if (from !== null) {
    file.was = shownName(from);
    file.state = 'renamed';
  } else if (side !== null) file.name = sideName(side) ?? file.name;
  else if (line.startsWith('new file mode')) file.state = 'new';
  else if (line.startsWith('deleted file mode')) file.state = 'removed';
  else if (line.startsWith('Binary files ')) addNote(file, 'A binary file: what it differs in is not kept.');
  else if (line === binaryPatch) addNote(file, 'A binary file: git apply makes it what it was.');
  else if (/^(rename|copy) to /.test(line)) file.name = shownName(line.replace(/^\w+ to /, ''));
  else if (!/^(index|similarity index|dissimilarity index) /.test(line)) addNote(file, line);
}

const addNote = (file: DiffFile, text: string): number =>
  file.rows.push({ kind: 'note', before: null, after: null, text: withSigns(text) });

export function parseDiff(text: string): Diff {
  const diff: Diff = { files: [], notes: [] };
  let file: DiffFile | undefined;
  let before = 0; // of the next line
  let after = 0;
  let beforeEnd = 0; // of the lines that the place has told of
  let afterEnd = 0;
  let isBinary = false;
  const isInside = (): boolean => before < beforeEnd || after < afterEnd;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const kind = kinds[line.slice(0, 1)];
    const place = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (file && kind && isInside()) {
      if (kind === 'added') file.added += 1;
      if (kind === 'removed') file.removed += 1;
      file.rows.push({
        kind,
        before: kind === 'added' ? null : before++,
        after: kind === 'removed' ? null : after++,
        text: withSigns(line.slice(1))
      });
    } else if (file && line.startsWith('\\')) {
      addNote(file, line.slice(2));
    } else if (line.startsWith('diff --')) {
      file = { name: nameIn(line), was: null, state: 'changed', rows: [], added: 0, removed: 0 };
      diff.files.push(file);
      beforeEnd = afterEnd = 0;
      isBinary = false;
    } else if (file && place) {
      before = Number(place[1]);
      after = Number(place[3]);
      beforeEnd = before + Number(place[2] ?? 1);
      afterEnd = after + Number(place[4] ?? 1);
      file.rows.push({ kind: 'place', before: null, after: null, text: withSigns(line) });
    } else if (!file || line.startsWith('# ')) {
      if (line !== '') diff.notes.push(withSigns(line.replace(/^# /, '')));
    } else if (!isBinary) {
      readHeader(file, line);
      isBinary = line === binaryPatch;
    }
  }
  if (isInside()) diff.notes.push('It ends in the middle.');
  return diff;
}
