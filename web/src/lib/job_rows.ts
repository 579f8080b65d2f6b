// What is known of a long list of jobs, newest first: its beginning, read piece by piece. An answer of the API tells the
// truth about a range of numbers: all jobs of the list in it are in the answer.
import type { Job, List } from './types';

export interface JobRows {
  jobs: Job[]; // the newest ones
  isWhole: boolean; // there are no others
  total: number; // as the controller counts; more or fewer may have come since the first piece
}

// `above`: the cursor of the request, null for the newest. `limit`: how many it asked for.
export function withAnswer(known: JobRows | undefined, answer: List<Job>, above: number | null): JobRows {
  const { items, next_cursor } = answer;
  const total = answer.total ?? items.length;
  const lowest = items.at(-1)?.id ?? above ?? Infinity; // what is below this number the answer does not tell
  const isEnd = next_cursor === null;
  if (!known) return { jobs: items, isWhole: isEnd, total };
  const before = above === null ? [] : known.jobs.slice(0, firstBelow(known.jobs, above - 1));
  const after = isEnd ? [] : known.jobs.slice(firstBelow(known.jobs, lowest - 1));
  // Between an answer for the newest and what was known before there may be others.
  const newest = known.jobs[0]?.id;
  if (above === null && !isEnd && newest !== undefined && newest < lowest)
    return { jobs: items, isWhole: false, total };
  return { jobs: [...before, ...items, ...after], isWhole: isEnd || (known.isWhole && after.length > 0), total };
}

// The index of the first job whose number is `most` or less.
export function firstBelow(jobs: Job[], most: number): number {
  let low = 0;
  let high = jobs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((jobs[middle]?.id ?? 0) > most) low = middle + 1;
    else high = middle;
  }
  return low;
}
