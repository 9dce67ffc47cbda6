import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** Loads the code of the start page together with that of the frame, instead of after it. */
const preloadStart = {
  name: 'preload-start',
  transformIndexHtml: {
    order: 'post',
    handler: (html, { bundle = {} }) => {
      const start = Object.values(bundle).find(({ name }) => name === 'start-page');
      return [start?.fileName, ...(start?.imports ?? [])]
        .filter((file) => file !== undefined && !html.includes(file))
        .map((file) => ({
          tag: 'link',
          attrs: { rel: 'modulepreload', crossorigin: true, href: `./${file}` },
          injectTo: 'head',
        }));
    },
  },
};

/** The console: relative URLs, so that it works behind any path prefix, and no inline script or style. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  publicDir: false,
  logLevel: 'error',
  plugins: [preloadStart],
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
