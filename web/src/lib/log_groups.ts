// Parts of an output that can be folded: from `::group::NAME` to `::endgroup::`, and from a heading, `--- NAME` or
// `+++ NAME`, to the next one. Within the former, headings are output like any other.
// eslint-disable-next-line no-control-regex
const mark = /^(?:\x1b\[[0-9;]*m)*(?:::(group)::|::(endgroup)::|--- (?=\S)|\+\+\+ (?=\S))/;

export interface Group {
  head: number; // index of its first line, which names it
  end: number | null; // of the first line that is no part of it; null: it goes on
  isExplicit: boolean; // ::group::
  isFolded: boolean;
}

export class LogGroups {
  all: Group[] = []; // ascending
  readonly ends = new Set<number>(); // lines that only say `::endgroup::`

  // The line at `index` is `raw`. Whether this changes which groups there are.
  add(raw: string, index: number): boolean {
    const found = mark.exec(raw);
    if (!found) return false;
    const open = this.open;
    if (found[2]) {
      if (!open?.isExplicit) return false; // it ends nothing
      open.end = index + 1;
      this.ends.add(index);
      return true;
    }
    if (open?.isExplicit && !found[1]) return false;
    if (open) open.end = index;
    this.all.push({ head: index, end: null, isExplicit: found[1] !== undefined, isFolded: false });
    return true;
  }

  // Another attempt begins: what is open ends before this line.
  close(index: number): void {
    const open = this.open;
    if (open) open.end = index;
  }

  // The first lines are gone.
  drop(lines: number): void {
    for (const group of this.all) {
      group.head -= lines;
      if (group.end !== null) group.end -= lines;
    }
    this.all = this.all.filter(({ head }) => head >= 0);
    const ends = [...this.ends].map((index) => index - lines).filter((index) => index >= 0);
    this.ends.clear();
    for (const index of ends) this.ends.add(index);
  }

  headedBy(index: number): Group | undefined {
    const group = this.before(index);
    return group?.head === index ? group : undefined;
  }

  // Whether this line is not shown: within a folded group, or only the end of one.
  hides(index: number): boolean {
    return this.ends.has(index) || this.foldOf(index) !== undefined;
  }

  // The folded group that hides this line.
  foldOf(index: number): Group | undefined {
    const group = this.before(index);
    return group?.isFolded && index > group.head && (group.end === null || index < group.end) ? group : undefined;
  }

  private get open(): Group | undefined {
    const last = this.all.at(-1);
    return last?.end === null ? last : undefined;
  }

  // The last group that begins at or before a line.
  private before(index: number): Group | undefined {
    let [low, high] = [0, this.all.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.all[middle]?.head ?? 0) <= index) low = middle + 1;
      else high = middle;
    }
    return this.all[low - 1];
  }
}

// What a line that begins a group is called.
export const titleOf = (text: string): string => text.replace(/^(?:::group::|--- |\+\+\+ )/, '') || 'group';
