// The pages, each by its address below the base. Only the first of them is fetched at once, with what is around them;
// the others when the browser has time (`prefetch`), or when they are opened before that.
import type { Component } from 'svelte';
import { isJobNumber, isMemberNumber } from './members';
import Overview from '../pages/Overview.svelte';

type Properties = Record<string, unknown>;
export type Load = () => Promise<{ default: Component<never> }>;

export interface Route {
  page?: Component; // is there at once
  load?: Load;
  properties?: Properties;
  key: string; // another page, or another job, begins anew
}

const ofPlace = new Map<string, Load>([
  ['jobs', () => import('../pages/Jobs.svelte')],
  ['submit', () => import('../pages/Submit.svelte')],
  ['policy', () => import('../pages/Policy.svelte')],
  ['lab', () => import('../pages/Lab.svelte')],
  ['servers', () => import('../pages/Servers.svelte')],
  ['events', () => import('../pages/Events.svelte')],
  ['settings', () => import('../pages/Settings.svelte')],
  ['login', () => import('../pages/Settings.svelte')] // who one is; or, as every page, the form to sign in
]);
const ofOne = new Map<string, Load>([
  ['jobs', () => import('../pages/Job.svelte')],
  ['lab', () => import('../pages/Simulation.svelte')],
  ['servers', () => import('../pages/Server.svelte')]
]);
const member: Load = () => import('../pages/Member.svelte');
export const signIn: Load = () => import('../pages/SignIn.svelte');
const notFound: Load = () => import('../pages/NotFound.svelte');

// `path` as the router has it: "", "jobs", "jobs/5", "servers/gpu3".
export function routeOf(path: string): Route {
  if (path === '') return { page: Overview, key: '' };
  const [place = '', one, ...rest] = path.split('/');
  if (place === 'jobs' && one !== undefined && isMemberNumber(one) && rest.length === 0)
    return { load: member, properties: { member: one }, key: path };
  const properties = one === undefined ? {} : propertiesOf(place, one);
  const load = (one === undefined ? ofPlace : ofOne).get(place);
  return load && properties && rest.length === 0 ? { load, properties, key: path } : { load: notFound, key: path };
}

function propertiesOf(place: string, one: string): Properties | null {
  if (place === 'servers') return { name: decoded(one) };
  return isJobNumber(one) ? { id: Number(one) } : null;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // not as a browser would write it: no server has this name
  }
}

const quietMs = 1000; // the first page comes first

// While the browser has nothing else to do: whoever opens another page then need not wait, and can still open it after the
// controller has been replaced by one with another page.
export function prefetch(): void {
  const waiting = [...ofPlace.values(), ...ofOne.values(), member, notFound];
  const idle = (then: () => void): unknown => ('requestIdleCallback' in window ? requestIdleCallback(then) : setTimeout(then));
  const next = (): void =>
    void waiting.shift()?.().then(
      () => idle(next),
      () => undefined // the page says so when it is opened
    );
  setTimeout(() => idle(next), quietMs);
}
