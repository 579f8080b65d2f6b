import { svelte, vitePreprocess } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// Addresses of files are relative: the page works below any prefix (index.html says where it is by its base).
export default defineConfig({
  base: './',
  plugins: [svelte({ preprocess: vitePreprocess(), compilerOptions: { runes: true } })],
  build: {
    target: 'es2022',
    outDir: 'dist',
    cssCodeSplit: false, // small, and a page that is fetched later is whole when its script is there
    assetsInlineLimit: 0, // no data: addresses, which the content rules forbid
    modulePreload: { polyfill: false },
    reportCompressedSize: false
  },
  // `npm run dev` beside a running controller.
  server: { proxy: { '/api': process.env.SCHEDULEARN_URL ?? 'http://127.0.0.1:5000' } }
});
