// Which page is shown. Addresses are below the base of the page, wherever that is; the query holds what is chosen there.

import * as places from './places';

const base = new URL(document.baseURI);

class Router {
  path = $state(''); // "jobs/5"
  query = $state.raw(new URLSearchParams());
  hash = $state(''); // "#L12"

  constructor() {
    this.read();
  }

  start(): void {
    places.begin();
    window.addEventListener('popstate', ({ state }) => {
      places.come(state);
      this.read();
    });
    window.addEventListener('hashchange', () => this.read());
    document.addEventListener('click', (click) => this.follow(click));
  }

  // `address` is relative to the base: "jobs/5?tab=log".
  go(address: string, replaces = false): void {
    const url = new URL(address, base);
    if (replaces) history.replaceState(places.same(), '', url);
    else history.pushState(places.next(), '', url);
    const isOther = this.pathOf(url) !== this.path;
    this.read();
    if (isOther) {
      window.scrollTo(0, 0);
      queueMicrotask(() => document.getElementById('main')?.focus({ preventScroll: true }));
    }
  }

  // Changes only the query; empty values are left out. The part after # stays only if it is given.
  choose(changes: Record<string, string>, hash = ''): void {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      if (value) query.set(name, value);
      else query.delete(name);
    }
    const text = query.toString();
    this.go(`${base.pathname}${this.path}${text ? `?${text}` : ''}${hash}`, true);
  }

  private read(): void {
    this.path = this.pathOf(new URL(location.href));
    this.query = new URLSearchParams(location.search);
    this.hash = location.hash;
  }

  private pathOf(url: URL): string {
    return url.pathname.slice(base.pathname.length).replace(/\/+$/, '');
  }

  private follow(click: MouseEvent): void {
    if (
      click.defaultPrevented ||
      click.button !== 0 ||
      click.metaKey ||
      click.ctrlKey ||
      click.shiftKey ||
      click.altKey
    )
      return;
    const link = (click.target as Element | null)?.closest?.('a[href]') as HTMLAnchorElement | null;
    if (!link || link.target || link.hasAttribute('download')) return;
    const url = new URL(link.href);
    if (url.origin !== base.origin || !url.pathname.startsWith(base.pathname)) return;
    click.preventDefault();
    this.go(url.href);
  }
}

// The base is written relative to the first address of the tab and must not move with later ones.
export function fixBase(): void {
  document.querySelector('base')?.setAttribute('href', base.href);
}

export const router = new Router();
