// The one stream of events of this tab. Whoever shows something registers for what concerns it and reads it again then.
// A hidden tab lets go of its connection (a browser has few per server) and continues where it was.
import { problemOf, send } from './client';
import { readStream, type Message } from './event_stream';
import type { ClusterEvent, Problem } from './types';

// `begin`: a connection stands, anything may have changed. `sample`: measurements may have. `lost`: there is none.
// `simulation`: there is something new of this one.
export type Notice =
  | { type: 'begin' | 'sample' | 'lost' }
  | { type: 'event'; event: ClusterEvent }
  | { type: 'simulation'; id: number };

const silenceMs = 20_000; // the controller speaks every 5 s
const waitsMs = [300, 700, 1500, 3000, 5000];

class Live {
  state = $state<'connecting' | 'live' | 'lost' | 'refused'>('connecting');
  lastContact = $state<number | null>(null);
  problem = $state<Problem | null>(null);
  private listeners = new Set<(notice: Notice) => void>();
  private seen: string | null = null;
  private stop: AbortController | null = null;
  private failures = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;

  start(): void {
    document.addEventListener('visibilitychange', () => (document.hidden ? this.pause() : this.reconnect()));
    window.addEventListener('online', () => this.reconnect());
    if (!document.hidden) void this.connect();
  }

  listen(listener: (notice: Notice) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  reconnect(): void {
    this.pause();
    this.failures = 0;
    void this.connect();
  }

  private pause(): void {
    clearTimeout(this.retry);
    this.stop?.abort();
    this.stop = null;
  }

  private async connect(): Promise<void> {
    const stop = new AbortController();
    this.stop = stop;
    try {
      const response = await send('GET', 'events/stream', {
        headers: this.seen === null ? {} : { 'Last-Event-ID': this.seen },
        signal: stop.signal
      });
      await readStream(response, (message) => this.hear(message), silenceMs, stop);
    } catch (error) {
      this.problem = problemOf(error);
    }
    if (this.stop !== stop) return; // another connection has taken over
    const isRefused = this.problem?.status === 401 || this.problem?.status === 403;
    const wasLive = this.state === 'live';
    this.state = isRefused ? 'refused' : 'lost';
    if (wasLive) this.tell({ type: 'lost' }); // what is shown asks once more, and is then marked as old
    const wait = waitsMs[Math.min(this.failures++, waitsMs.length - 1)] ?? 5000;
    this.retry = setTimeout(() => void this.connect(), isRefused ? 30_000 : wait);
  }

  private hear(message: Message): void {
    this.failures = 0;
    this.problem = null;
    this.state = 'live';
    this.lastContact = Date.now();
    if (message.id !== null) this.seen = message.id;
    if (message.event === 'begin' || message.event === 'reset') this.tell({ type: 'begin' });
    if (message.event === 'sample') this.tell({ type: 'sample' });
    if (message.event === 'simulation')
      this.tell({ type: 'simulation', id: (JSON.parse(message.data) as { id: number }).id });
    if (message.event === 'event') this.tell({ type: 'event', event: JSON.parse(message.data) as ClusterEvent });
  }

  private tell(notice: Notice): void {
    for (const listener of this.listeners) listener(notice);
  }
}

export const live = new Live();
