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

/**
 * The styles of a page apply inside of it only: they stay loaded when another page opens. `:where` adds no specificity, so that
 * rules have the order in which they are written. shell.tsx sets the class.
 */
const stylesOfPages = {
  postcssPlugin: 'styles-of-pages',
  Once(file) {
    const page = /[\\/]pages[\\/]([\w-]+)[\\/][^\\/]+\.css$/.exec(file.source?.input.file ?? '')?.[1];
    if (page === undefined) return;
    file.walkRules((rule) => {
      if (rule.parent?.type === 'atrule' && /keyframes$/.test(rule.parent.name)) return;
      rule.selectors = rule.selectors.map((selector) => `:where(.page-${page}) ${selector}`);
    });
  },
};

/** The console: relative URLs, so that it works behind any path prefix, and no inline script or style. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  publicDir: false,
  logLevel: 'error',
  plugins: [preloadStart],
  css: { postcss: { plugins: [stylesOfPages] } },
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
