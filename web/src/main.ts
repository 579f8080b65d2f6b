import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';
import { live } from './lib/live.svelte';
import { fixBase, router } from './lib/router.svelte';
import { theme } from './lib/settings.svelte';

fixBase();
theme.start();
router.start();
live.start();
const target = document.getElementById('page');
if (target) mount(App, { target });
