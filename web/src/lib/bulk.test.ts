import assert from 'node:assert/strict';
import test from 'node:test';
import { actOnEach } from './bulk';
import type { Problem } from './types';

const problem = (status: number, code: string, detail: string): Problem => ({ status, code, detail, notes: [], hints: [], errors: [] });
const jobs = [1, 2, 3, 4].map((id) => ({ id, name: `j${id}` }));

async function run(refusals: Record<number, Problem>): Promise<{ answer: Problem | null; done: number[] }> {
  const done: number[] = [];
  const answer = await actOnEach(jobs, {
    act: ({ id }) => (refusals[id] ? Promise.reject(refusals[id]) : Promise.resolve()),
    problemOf: (error) => error as Problem,
    isDone: ({ code }) => code === 'job-finished',
    done: ({ id }) => done.push(id)
  });
  return { answer, done };
}

test('a refusal does not keep the others from being done, and is told at the end', async () => {
  const { answer, done } = await run({ 2: problem(403, 'not-yours', 'it is of mei') });
  assert.deepEqual(done, [1, 3, 4]);
  assert.deepEqual(answer, { ...problem(403, 'not-yours', '1 of 4 jobs was refused'), notes: ['2 j2: it is of mei'] });
});

test('what is so already is done', async () => {
  const { answer, done } = await run({ 1: problem(409, 'job-finished', 'job 1 has already ended: succeeded') });
  assert.deepEqual([answer, done], [null, [1, 2, 3, 4]]);
});

test('different refusals are one problem with a sentence of each', async () => {
  const { answer } = await run({ 1: problem(403, 'not-yours', 'it is of mei'), 3: problem(409, 'job-held', 'it is held') });
  assert.deepEqual([answer?.status, answer?.code, answer?.detail], [409, 'several', '2 of 4 jobs were refused']);
  assert.deepEqual(answer?.notes, ['1 j1: it is of mei', '3 j3: it is held']);
});

test('without an answer the rest is not tried', async () => {
  await assert.rejects(run({ 2: problem(0, 'no-answer', 'the controller does not answer') }));
});
