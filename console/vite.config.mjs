import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** The console: relative URLs, so that it works behind any path prefix, and no inline script or style. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  publicDir: false,
  logLevel: 'error',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2022',
    // a data URL would need a wider content security policy
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
