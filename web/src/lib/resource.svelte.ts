// A document of the API that a part of the page shows: loaded when its address is known, loaded again when something
// happens that concerns it. What was loaded stays, marked as old, while the controller does not answer, and until more of
// the same list is there.
import { get, problemOf } from './client';
import { live, type Notice } from './live.svelte';
import type { Problem } from './types';

const pauseMs = 250; // between two loads: many events may come at once

const withoutLimit = (path: string | null): string | undefined => path?.replace(/\blimit=\d+/, '');

// What a card needs to know of what it shows.
export interface Loaded<T> {
  readonly data: T | undefined;
  readonly problem: Problem | null;
  readonly loadedAt: number;
  readonly isOld: boolean;
  refresh(): void;
}

export class Resource<T> implements Loaded<T> {
  data = $state.raw<T | undefined>(undefined);
  problem = $state.raw<Problem | null>(null);
  loadedAt = $state(0);
  private path: string | null = null;
  private stop: AbortController | null = null;
  private isWanted = false;
  private next: ReturnType<typeof setTimeout> | undefined;

  // Calls within a component's setup. `address`: null while there is nothing to load.
  constructor(address: () => string | null, concerns: (notice: Notice) => boolean) {
    $effect(() => {
      const path = address();
      if (path !== this.path) {
        const isMoreOfIt = path !== null && withoutLimit(path) === withoutLimit(this.path);
        this.close();
        this.path = path;
        if (!isMoreOfIt) this.data = undefined;
        this.problem = null;
        this.load();
      }
    });
    $effect(() =>
      live.listen((notice) => {
        if (notice.type === 'begin' || notice.type === 'lost' || concerns(notice)) this.refresh();
      })
    );
    $effect(() => () => this.close());
  }

  get isOld(): boolean {
    return this.data !== undefined && this.problem !== null;
  }

  refresh(): void {
    this.isWanted = true;
    if (!this.stop && !this.next) this.load();
  }

  private load(): void {
    const path = this.path;
    if (path === null) return;
    const stop = new AbortController();
    this.stop = stop;
    this.isWanted = false;
    get<T>(path, stop.signal)
      .then((data) => {
        if (this.stop !== stop) return;
        this.data = data;
        this.problem = null;
        this.loadedAt = Date.now();
      })
      .catch((error: unknown) => {
        if (this.stop === stop) this.problem = problemOf(error);
      })
      .finally(() => {
        if (this.stop !== stop) return;
        this.stop = null;
        this.next = setTimeout(() => {
          this.next = undefined;
          if (this.isWanted) this.load();
        }, pauseMs);
      });
  }

  private close(): void {
    clearTimeout(this.next);
    this.next = undefined;
    this.stop?.abort();
    this.stop = null;
  }
}
