// Asks for what the first page shows first, while the rest of the page is still being set up (main.ts imports this before
// all else). Not with a code to sign in: what is asked before that is refused.
import { begin } from './client';
import { router } from './router.svelte';

const patienceMs = 100; // a page without figures is drawn first if they take longer

const answered = router.path === '' && location.hash === '' ? begin('cluster') : Promise.resolve();
export const headStart = Promise.race([answered, new Promise<void>((resolve) => setTimeout(resolve, patienceMs))]);
