// Requests to the API. A refusal or a missing answer becomes a Refused with the problem that the page shows.
import type { Problem } from './types';

export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail);
  }
}

// The page is at PREFIX/ui/, the API beside it at PREFIX/api/v1/.
export const apiUrl = (path: string): string => new URL(`../api/v1/${path}`, document.baseURI).href;

const tokenKey = 'schedulearn.token';

// Needed only by users whom the controller does not know by the kernel's word; kept until the tab is closed.
export const token = {
  get: (): string | null => sessionStorage.getItem(tokenKey),
  set: (text: string): void => sessionStorage.setItem(tokenKey, text)
};

export function headers(more: Record<string, string> = {}): Record<string, string> {
  const known = token.get();
  return known ? { ...more, Authorization: `Bearer ${known}` } : more;
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
    return { ...other, ...((await response.json()) as Partial<Problem>), status: response.status };
  } catch {
    return other;
  }
}

export async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const options: RequestInit = { method, headers: headers(), cache: 'no-store', redirect: 'error' };
  if (body !== undefined) {
    options.headers = headers({ 'Content-Type': 'application/json' });
    options.body = JSON.stringify(body);
  }
  if (signal) options.signal = signal;
  const response = await fetch(apiUrl(path), options);
  if (!response.ok) throw new Refused(await problemIn(response));
  return response;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await send('GET', path, undefined, signal)).json() as Promise<T>;
}

export async function call<T>(method: string, path: string, body: unknown = {}): Promise<T> {
  return (await send(method, path, body)).json() as Promise<T>;
}

// A submission that is repeated because its answer was lost must not become a second job.
export async function submit<T>(body: unknown, key: string): Promise<T> {
  const response = await fetch(apiUrl('jobs'), {
    method: 'POST',
    headers: headers({ 'Content-Type': 'application/json', 'Idempotency-Key': key }),
    body: JSON.stringify(body),
    redirect: 'error'
  });
  if (!response.ok) throw new Refused(await problemIn(response));
  return response.json() as Promise<T>;
}
