import { headStart } from './lib/head_start';
import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';
import { live } from './lib/live.svelte';
import { fixBase, router } from './lib/router.svelte';
import { session } from './lib/session.svelte';

fixBase();
router.start();
await session.signInByAddress();
live.start();
await headStart;
const target = document.getElementById('page');
if (target) mount(App, { target });
