// What this browser remembers: the theme, and whether single keys are shortcuts.

function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // a browser may forbid it
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // nothing is lost but the memory
  }
}

export { remembered };

export type ThemeChoice = 'system' | 'light' | 'dark';

class Theme {
  choice = $state<ThemeChoice>('system');
  private dark = window.matchMedia('(prefers-color-scheme: dark)');

  start(): void {
    const known = remembered('schedulearn.theme');
    if (known === 'light' || known === 'dark') this.choice = known;
    this.dark.addEventListener('change', () => this.apply());
    this.apply();
  }

  next(): void {
    this.choice = this.choice === 'system' ? 'light' : this.choice === 'light' ? 'dark' : 'system';
    remember('schedulearn.theme', this.choice);
    this.apply();
  }

  private apply(): void {
    const isDark = this.choice === 'dark' || (this.choice === 'system' && this.dark.matches);
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  }
}

class Keys {
  areOn = $state(remembered('schedulearn.keys') !== 'off');

  choose(on: boolean): void {
    this.areOn = on;
    remember('schedulearn.keys', on ? 'on' : 'off');
  }
}

export const theme = new Theme();
export const keys = new Keys();
