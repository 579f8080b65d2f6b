// A list of jobs of any length for a table that shows a part of it. It reads the beginning, further pieces as the reader
// gets there, and again what is in view when something happens to it.
import { untrack } from 'svelte';
import { get, problemOf } from './client';
import { ofJobs } from './concerns';
import { withAnswer, type JobRows } from './job_rows';
import { live, type Notice } from './live.svelte';
import type { Loaded } from './resource.svelte';
import type { Job, List, Problem } from './types';

const head = 200; // jobs of the first request
const piece = 5000; // and of the ones after it
const pauseMs = 250; // between two refreshes

interface Request {
  above: number | null; // cursor; null: the newest
  limit: number;
  isRefresh: boolean;
}

export class JobList implements Loaded<JobRows> {
  data = $state.raw<JobRows | undefined>(undefined);
  problem = $state.raw<Problem | null>(null);
  loadedAt = $state(0);
  private query = '';
  private stop = new AbortController();
  private isReading = false;
  private view = { first: 0, end: head };
  private isViewDue = false; // to be read again
  private isHeadDue = false; // likewise the newest: new jobs, and how many there are
  private outdated = new Set<number>(); // jobs to which something has happened since they were read

  // Calls within a component's setup. `filter`: a query without limit, null while there is nothing to load.
  constructor(filter: () => string | null) {
    $effect(() => {
      const query = filter();
      untrack(() => this.begin(query));
    });
    $effect(() => live.listen((notice) => this.hear(notice)));
    $effect(() => () => this.close());
  }

  private begin(query: string | null): void {
    this.close();
    this.data = undefined;
    this.problem = null;
    this.outdated.clear();
    this.view = { first: 0, end: head };
    if (query === null) return;
    this.query = query;
    this.isHeadDue = true;
    void this.read();
  }

  get isOld(): boolean {
    return this.data !== undefined && this.problem !== null;
  }

  // These rows are in view.
  show(first: number, end: number): void {
    this.view = { first, end };
    if (this.outdated.size > 0 && this.data?.jobs.slice(first, end).some(({ id }) => this.outdated.has(id)))
      this.isViewDue = true;
    void this.read();
  }

  refresh(): void {
    this.isViewDue = this.isHeadDue = true;
    void this.read();
  }

  private hear(notice: Notice): void {
    if (notice.type === 'event' && notice.event.job_id !== null) this.outdated.add(notice.event.job_id);
    if (notice.type === 'begin') for (const { id } of this.data?.jobs ?? []) this.outdated.add(id);
    if (notice.type !== 'event' || ofJobs(notice)) this.refresh();
  }

  private next(): Request | null {
    const { first, end } = this.view;
    const jobs = this.data?.jobs ?? [];
    if (this.isViewDue && first > 0 && jobs.length > first) {
      this.isViewDue = false;
      return { above: jobs[first - 1]?.id ?? null, limit: end - first, isRefresh: true };
    }
    if (this.isHeadDue || this.isViewDue) {
      this.isHeadDue = this.isViewDue = false;
      return { above: null, limit: Math.max(head, first > 0 ? 0 : end), isRefresh: true };
    }
    const last = jobs.at(-1);
    const isMissing = this.data && !this.data.isWhole && last && jobs.length < end;
    return isMissing ? { above: last.id, limit: piece, isRefresh: false } : null;
  }

  // One request at a time, until everything in view is known.
  private async read(): Promise<void> {
    if (this.isReading || this.query === '') return;
    this.isReading = true;
    const { stop } = this;
    try {
      for (let request = this.next(); request; request = this.next()) {
        const { above, limit, isRefresh } = request;
        const answer = await get<List<Job>>(
          `jobs?${this.query}&limit=${limit}${above === null ? '' : `&before=${above}`}`,
          stop.signal
        );
        if (this.stop !== stop) return;
        for (const { id } of answer.items) this.outdated.delete(id);
        this.data = withAnswer(this.data, answer, above);
        this.problem = null;
        this.loadedAt = Date.now();
        if (isRefresh && !this.isHeadDue) await new Promise((resolve) => setTimeout(resolve, pauseMs));
        if (this.stop !== stop) return;
      }
    } catch (error) {
      if (this.stop === stop) this.problem = problemOf(error);
    } finally {
      if (this.stop === stop) this.isReading = false;
    }
  }

  private close(): void {
    this.stop.abort();
    this.stop = new AbortController();
    this.isReading = false;
    this.query = '';
  }
}
