// Asks for what the first page shows first, while the rest of the page is still being set up (main.ts imports this before
// all else). Not with a code to sign in: what is asked before that is refused.
import { begin } from './client';
import { router } from './router.svelte';

if (router.path === '' && location.hash === '') begin('cluster');
