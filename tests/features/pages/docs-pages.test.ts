import { readdir } from 'node:fs/promises';
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

  it('have a list of all pages and a search field beside each', async () => {
    const text = await (await open('/docs/routes.md')).text();
    const listed = [...text.matchAll(/<li><a href="([\w-]+\.md)"/g)].map(([, name]) => name);
    const files = (await readdir('docs')).filter((name) => name.endsWith('.md'));
    expect([...listed].sort()).toEqual(files.sort());
    expect(listed.slice(0, 2)).toEqual(['README.md', 'quick-start.md']);
    expect(text).toContain('<a href="routes.md" aria-current="page">Routes</a>');
    expect(text).toContain('<form action="search" role="search">');
  });

  it('find places that have all words, headings first, without running a script', async () => {
    const response = await open('/docs/search?q=order+ROUTES');
    expect(response.headers.get('content-security-policy')).toContain("script-src 'none'");
    const text = await response.text();
    const [first] = [...text.matchAll(/<ol class="found"><li><a href="([^"]+)">([^<]+)</g)];
    expect(first?.slice(1)).toEqual(['routes.md#order-of-routes', 'Routes › Order of routes']);
    expect(text).toContain('value="order ROUTES"');
    const hostile = await (await open('/docs/search?q=%22%3E%3Cimg%20src%3Dx%3E')).text();
    expect(hostile).not.toContain('<img');
    expect(hostile).toContain('0 places');
    expect(await (await open('/docs/search')).text()).toContain('Write what you look for.');
  });
});

describe('GET /api/docs/search', () => {
  const search = async (query: string) => {
    const answer = await fetch(new URL(`/api/docs/search?${query}`, api.url));
    return { status: answer.status, body: (await answer.json()) as { data: Array<Record<string, string>> } };
  };

  it('names pages and anchors that exist, with the text around the words', async () => {
    const { body } = await search('query=kubernetes%20probes&limit=5');
    expect(body.data.length).toBeGreaterThan(0);
    for (const { page, anchor, excerpt } of body.data) {
      const text = await (await open(`/docs/${page}`)).text();
      if (anchor !== undefined) expect(text, `${page}#${anchor}`).toContain(`id="${anchor}"`);
      expect(excerpt).not.toMatch(/[`|]/);
    }
    const [best] = (await search('query=console')).body.data;
    expect(best).toMatchObject({ page: 'console.md', title: 'Console and playground' });
    expect((await search('query=console%20zzzzqqqq')).body.data).toEqual([]);
    expect((await search('query=')).status).toBe(400);
  });
});
