// What can be done where one is, by key and from the palette. A part adds what it can do while it is shown.
import { untrack } from 'svelte';
import { shortcutKeys } from './settings.svelte';
import { keyNow } from './shortcuts';

export interface Action {
  name: string;
  key?: string; // at first (shortcuts.ts): "j", or two in a row: "g j"
  act: () => void;
}

type Group = () => Action[];

class Actions {
  private groups = $state.raw<Group[]>([]);
  private begun = ''; // the first key of two

  // Within a component's setup.
  add(group: Group): void {
    $effect(() => {
      this.groups = [...untrack(() => this.groups), group];
      return () => (this.groups = this.groups.filter((other) => other !== group));
    });
  }

  // With the keys that the user has given them.
  get all(): Action[] {
    const changes = shortcutKeys.value;
    return this.groups
      .flatMap((group) => group())
      .map(({ key, ...action }) => {
        const now = key === undefined ? '' : keyNow(changes, key);
        return now === '' ? action : { ...action, key: now };
      });
  }

  // Whether the key meant something. Of two actions with one key, the part that was shown last has it.
  press(key: string): boolean {
    const all = this.all.reverse();
    const both = all.find((action) => action.key === `${this.begun} ${key}`);
    const found = both ?? all.find((action) => action.key === key);
    this.begun = !both && all.some((action) => action.key?.startsWith(`${key} `)) ? key : '';
    found?.act();
    return found !== undefined || this.begun !== '';
  }
}

export const actions = new Actions();
