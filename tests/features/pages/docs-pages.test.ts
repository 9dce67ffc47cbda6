import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROBLEM_CODES } from '../../../router/src/infra/operations/problem.ts';
import { documents } from '../../support/documents.ts';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../support/http-api.ts';

let api: HttpApi;
beforeAll(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
});
afterAll(() => api.close());

/** Requests as a browser that is not logged in. */
const open = (path: string) => fetch(new URL(path, api.url), { headers: { accept: 'text/html' } });

describe('the pages of the documentation', () => {
  it('show the entry that an error response links to', async () => {
    const refused = await fetch(new URL('/api/routes', api.url));
    const { code, docs } = (await refused.json()) as { code: string; docs: string };
    const [path, anchor] = docs.split('#');
    const response = await open(path ?? '');
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(`<h3 id="${anchor}">${code}</h3>`);
  });

  it('begin at /docs', async () => {
    const response = await open('/docs');
    expect(response.url).toMatch(/\/docs\/README\.md$/);
    expect(response.status).toBe(200);
  });

  it('begin below the prefix that a proxy removes', async () => {
    const target = async (path: string) =>
      (await fetch(new URL(path, api.url), { redirect: 'manual' })).headers.get('location') ?? '';
    expect(new URL(await target('/docs'), 'https://x.test/waha/docs').pathname).toBe('/waha/docs/README.md');
    expect(new URL(await target('/docs/'), 'https://x.test/waha/docs/').pathname).toBe(
      '/waha/docs/README.md',
    );
  });

  it('open without the ending of the file too', async () => {
    expect(await (await open('/docs/settings')).text()).toContain('<h1');
    expect((await open('/docs/settings')).status).toBe(200);
    expect((await open('/docs/nothing')).status).toBe(404);
  });

  it('have an anchor for every code of the API', async () => {
    const text = await (await open('/docs/troubleshooting.md')).text();
    for (const code of PROBLEM_CODES) expect(text).toContain(`id="${code.toLowerCase()}"`);
  });

  it.each(documents().filter(({ path }) => path.startsWith('docs/')))(
    'are readable: $path',
    async ({ path }) => {
      const response = await open(`/${path}`);
      const text = await response.text();
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toMatch(/^text\/html/);
      for (const [, target = ''] of text.matchAll(/(?:href|src)="([^"#]+)(?:#[^"]*)?"/g)) {
        if (/^(https?:|data:|\.\.\/$)/.test(target)) continue;
        expect((await open(new URL(target, `http://x/${path}`).pathname)).status, target).toBe(200);
      }
    },
  );

  it('show markup in code as text', async () => {
    const text = await (await open('/docs/deployment.md')).text();
    expect(text).toContain('openssl rand -hex 16 &gt; secrets/api_key');
  });

  it.each([
    '/docs/none.md',
    '/docs/..%2Fpackage.json',
    '/docs/..%2FREADME.md',
    '/docs/images/..%2F..%2FREADME.md',
    '/docs/images',
    '/docs/%2e%2e%2f.env',
  ])('respond 404 to other paths: %s', async (path) => {
    expect((await open(path)).status).toBe(404);
  });
});
