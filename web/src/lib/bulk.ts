// One thing done to several jobs, past those that refuse it: the others are done, and the refusals are told together.
import { plural } from './format';
import type { Job, Problem } from './types';

type Each = Pick<Job, 'id' | 'name'>;

const sentencesMost = 5;
// After these the next job would fare no better: there is no answer, or nobody knows who asks.
const endsAll = ({ status }: Problem): boolean => status === 0 || status === 401;

// What was refused as one problem; null: nothing.
export function togetherOf(refused: { job: Each; problem: Problem }[], asked: number): Problem | null {
  const [first] = refused;
  if (!first) return null;
  const isAlike = refused.every(({ problem }) => problem.code === first.problem.code);
  const more = refused.length - sentencesMost;
  return {
    ...first.problem,
    status: isAlike ? first.problem.status : 409,
    code: isAlike ? first.problem.code : 'several',
    detail: `${refused.length} of ${plural(asked, 'job')} ${refused.length === 1 ? 'was' : 'were'} refused`,
    notes: [
      ...refused.slice(0, sentencesMost).map(({ job, problem }) => `${job.id} ${job.name}: ${problem.detail}`),
      ...(more > 0 ? [`and ${more} more`] : [])
    ],
    hints: isAlike && refused.length === 1 ? first.problem.hints : []
  };
}

interface Deed<T extends Each> {
  act: (job: T) => Promise<unknown>;
  problemOf: (error: unknown) => Problem;
  isDone: (problem: Problem) => boolean; // this refusal says that it is so already
  done: (job: T) => void;
}

export async function actOnEach<T extends Each>(jobs: T[], { act, problemOf, isDone, done }: Deed<T>): Promise<Problem | null> {
  const refused: { job: T; problem: Problem }[] = [];
  for (const job of jobs) {
    try {
      await act(job);
    } catch (error) {
      const problem = problemOf(error);
      if (endsAll(problem)) throw error;
      if (!isDone(problem)) {
        refused.push({ job, problem });
        continue;
      }
    }
    done(job);
  }
  return togetherOf(refused, jobs.length);
}
