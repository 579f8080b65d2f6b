// A link that saves what the API answers. It cannot carry the key of a browser's session: then the answer is fetched.
import { send } from './client';
import { session } from './session.svelte';

export const fetchedBytesMost = 256 * 1024 * 1024; // what is fetched is held in memory

export async function download(click: MouseEvent, path: string): Promise<void> {
  const link = click.currentTarget as HTMLAnchorElement;
  if (session.key === null) return;
  click.preventDefault();
  saveAs(await (await send('GET', path)).blob(), link.download);
}

export function saveAs(contents: Blob, name: string): void {
  const anchor = document.createElement('a');
  anchor.href = URL.createObjectURL(contents);
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(anchor.href);
}
