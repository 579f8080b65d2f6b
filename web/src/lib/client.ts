// Requests to the API. A refusal or a missing answer becomes a Refused with the problem that the page shows.
import { apiUrl } from './address';
import { documentIn } from './format';
import { session } from './session.svelte';
import type { Problem } from './types';

export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

export function problemOf(error: unknown): Problem {
  if (error instanceof Refused) return error.problem;
  return {
    status: 0,
    code: 'no-answer',
    detail: 'the controller does not answer',
    notes: [],
    hints: [{ text: 'it may be restarting: jobs keep running meanwhile' }],
    errors: []
  };
}

async function problemIn(response: Response): Promise<Problem> {
  const other: Problem = {
    status: response.status,
    code: `http-${response.status}`,
    detail: `the answer was ${response.status} ${response.statusText}`.trim(),
    notes: [],
    hints: [],
    errors: []
  };
  try {
    const problem = { ...other, ...documentIn<Partial<Problem>>(await response.text()), status: response.status };
    if (problem.code === 'token-required') session.problem = problem;
    return problem;
  } catch {
    return other;
  }
}

interface Options {
  body?: unknown;
  text?: string | Blob; // instead of a body: sent as it is
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

export async function send(method: string, path: string, { body, text, signal, headers }: Options = {}): Promise<Response> {
  const options: RequestInit = {
    method,
    headers: { ...session.headers, ...headers },
    cache: 'no-store',
    redirect: 'error'
  };
  if (body !== undefined) {
    options.headers = { ...options.headers, 'Content-Type': 'application/json' };
    options.body = JSON.stringify(body);
  }
  if (text !== undefined) options.body = text;
  if (signal) options.signal = signal;
  const response = await fetch(apiUrl(path), options);
  if (!response.ok) throw new Refused(await problemIn(response));
  return response;
}

// Answers that were asked for before what shows them is there.
const begun = new Map<string, Promise<unknown>>();

// Ends when the answer is there; what it is, and whether it was refused, learns whoever gets it.
export function begin(path: string): Promise<void> {
  const answer = get<unknown>(path);
  begun.set(path, answer);
  return answer.then(
    () => undefined,
    () => undefined
  );
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const known = begun.get(path);
  begun.delete(path);
  if (known) return known as Promise<T>;
  return documentIn<T>(await (await send('GET', path, signal ? { signal } : {})).text());
}

export async function call<T>(method: string, path: string, body: unknown = {}): Promise<T> {
  return documentIn<T>(await (await send(method, path, { body })).text());
}

// A submission that is repeated because its answer was lost must not become a second job.
export async function submit<T>(body: unknown, key: string): Promise<T> {
  return documentIn<T>(await (await send('POST', 'jobs', { body, headers: { 'Idempotency-Key': key } })).text());
}
