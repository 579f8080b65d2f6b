// Who this browser is, where the controller asks. A session has two halves: a cookie that no script sees, and a key that
// the page keeps for its own origin and sends with each request (docs/guide/rest.md).
import { apiUrl } from './address';
import { forgetDrafts, keyHere, remember, remembered } from './settings.svelte';
import type { Problem } from './types';

const keyName = keyHere('session');
const fragment = /^#sign-in=([0-9a-f]+)$/;

class Session {
  problem = $state.raw<Problem | null>(null); // the controller wants to know who this is
  key = $state(remembered(keyName));

  get headers(): Record<string, string> {
    return this.key === null ? {} : { 'X-Schedulearn-Session': this.key };
  }

  signIn(token: string): Promise<Problem | null> {
    return this.begin({ Authorization: `Bearer ${token}` });
  }

  // If the address of this tab ends with a code, as `schedulearn web --link` prints it. Nothing of it stays.
  async signInByAddress(): Promise<void> {
    const code = fragment.exec(location.hash)?.[1];
    if (code === undefined) return;
    history.replaceState(history.state, '', location.pathname + location.search);
    this.problem = await this.begin({ 'X-Schedulearn-Code': code });
  }

  async signOut(): Promise<void> {
    await fetch(apiUrl('sessions'), { method: 'DELETE', headers: this.headers }).catch(() => undefined);
    this.keep(null);
    forgetDrafts();
  }

  private async begin(headers: Record<string, string>): Promise<Problem | null> {
    try {
      const response = await fetch(apiUrl('sessions'), { method: 'POST', headers, cache: 'no-store' });
      const answer = (await response.json()) as { key: string } & Problem;
      if (!response.ok) return { ...answer, status: response.status };
      this.keep(answer.key);
      this.problem = null;
      return null;
    } catch {
      return {
        status: 0,
        code: 'no-answer',
        detail: 'the controller does not answer',
        notes: [],
        hints: [],
        errors: []
      };
    }
  }

  private keep(key: string | null): void {
    this.key = key;
    remember(keyName, key);
  }
}

export const session = new Session();
