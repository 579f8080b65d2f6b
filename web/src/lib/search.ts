// "user:mei state:failed bert": which words of a search for jobs are filters.
import { jobStates } from './states';

export interface Search {
  rest: string; // what is looked for in names
  user: string | null; // null: not named
  label: string | null; // KEY=VALUE, or KEY; null: not named
  states: string[];
}

// `isWhole`: nothing more will be typed, so that the last word is one.
export function searchOf(text: string, isWhole: boolean): Search {
  const search: Search = { rest: '', user: null, label: null, states: [] };
  const rest = text.replace(isWhole ? /(?:^|\s)(user|state|label):(\S+)(?=\s|$)/g : /(?:^|\s)(user|state|label):(\S+)(?=\s)/g, take);
  return { ...search, rest: rest.trim() };

  function take(word: string, key: string, value: string): string {
    if (key === 'user') search.user = value;
    if (key === 'label') search.label = value;
    const states = value.split(',');
    if (key === 'state' && !states.every((state) => (jobStates as string[]).includes(state))) return word;
    if (key === 'state') search.states.push(...states);
    return ' ';
  }
}
