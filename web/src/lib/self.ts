// Who asks: known once for the whole page, as the bar, the settings and lists of one's own jobs show it.
import { getContext, setContext } from 'svelte';
import { Resource } from './resource.svelte';
import type { Self } from './types';

const key = Symbol('self');

// Both within a component's setup; the page's frame asks.
export function askWhoAsks(): Resource<Self> {
  return setContext(
    key,
    new Resource<Self>(
      () => 'whoami',
      () => false
    )
  );
}

export const whoAsks = (): Resource<Self> => getContext<Resource<Self>>(key);
