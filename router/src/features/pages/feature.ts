import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { RequestHandler } from 'express';
import { Marked } from 'marked';
import { z } from 'zod';
import { projectFolder } from '../../config/package-version.ts';
import type { Feature } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { dataResponse } from '../../infra/operations/fields.ts';
import { type StaticBody, sendStatic, staticBody } from '../../infra/operations/openapi.ts';
import { Html, html, page, pagePolicy } from '../../infra/operations/page-frame.ts';
import { problemSchema } from '../../infra/operations/problem.ts';
import type { ProtocolServer } from '../../infra/operations/protocol-server.ts';
import { type ApiResponse, type Call, requestOf } from '../../infra/operations/response.ts';
import { anchorOf, DOCS_FOLDER, type DocPage, Documentation, readListed } from './documentation.ts';
import { pages as pairingPages } from './pages.ts';

export const pages: Feature = {
  name: 'pages',
  tags: { Documentation: 'The documentation of this version.' },
  operations: () => [searchApi(new Documentation())],
  servers: () => [consoleServer()],
  pages: (app) => [...pairingPages(app), ...docsPages(new Documentation())],
};

/** Only files of this service, no inline script or style, and no frame around the page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Compressed copies that the build writes, the smallest first. */
const ENCODINGS = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
] as const;

/**
 * The console: the built files of `console/` under `/console/`. Public, because the files contain nothing of this
 * installation; the page calls the API with the session of the browser.
 * @param folder default: `dist/console` of this service; without it, the path does not exist
 */
export function consoleServer(folder = join(projectFolder(), 'dist', 'console')): ProtocolServer {
  let names: ReadonlySet<string> | undefined;
  // Read once, so that no path can leave the folder.
  const listed = () => {
    names ??= listOf(folder);
    return names;
  };
  return {
    path: '/console',
    scopes: 'public',
    isOn: async () => listed().has('index.html'),
    handle: handlerOf(folder, listed),
  };
}

function handlerOf(folder: string, listed: () => ReadonlySet<string>): RequestHandler {
  const read = new Map<string, Promise<StaticBody>>();
  const bodyOf = async (name: string, type: string): Promise<StaticBody> => {
    const copies = ENCODINGS.filter(({ ending }) => listed().has(name + ending));
    const encoded = await Promise.all(
      copies.map(async (copy) => ({
        name: copy.name,
        bytes: await readFile(join(folder, name + copy.ending)),
      })),
    );
    return staticBody(await readFile(join(folder, name)), type, encoded);
  };
  return async (request, response, next) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return next('router');
    const isBare = request.originalUrl.split('?')[0]?.endsWith('/console');
    // Relative, so that it also works behind a path prefix.
    if (isBare) return void response.redirect(308, 'console/');
    const name = request.path === '/' ? 'index.html' : request.path.slice(1);
    const type = TYPES[extname(name)];
    if (type === undefined || !listed().has(name)) return next('router');
    const body = read.get(name) ?? bodyOf(name, type);
    read.set(name, body);
    body.catch(() => read.delete(name));
    sendStatic(request, response, await body, {
      'Content-Security-Policy': POLICY,
      // Names in assets/ have a hash of their content.
      ...(name.startsWith('assets/') && { 'Cache-Control': 'public, max-age=31536000, immutable' }),
    });
  };
}

function listOf(folder: string): ReadonlySet<string> {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return new Set(names.map((name) => name.replaceAll('\\', '/')));
  } catch {
    return new Set();
  }
}

const markdown = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    // What scrolls can be reached by keyboard.
    code({ text, lang }) {
      return html`<pre tabindex="0"><code class="language-${lang ?? 'text'}">${text}</code></pre>\n`.toString();
    },
    // Files outside of docs/ are not served.
    link({ href, tokens }) {
      const text = this.parser.parseInline(tokens);
      return href.startsWith('../') ? text : `<a href="${encodeURI(href)}">${text}</a>`;
    },
  },
});

/**
 * The documentation of this version, `docs/*.md` as pages under the same paths: the `docs` of an error response, such as
 * `/docs/troubleshooting.md#invalid_body`, leads to its entry. Public: it contains nothing of this installation.
 */
function docsPages(documentation: Documentation): Endpoint[] {
  const notFound = { description: 'No such page.', schema: problemSchema };
  const unchanged = { description: 'The client has it: `If-None-Match` names its `ETag`.' };
  // Only what the folder lists: their number is small.
  const made = new Map<string, Promise<StaticBody>>();
  const answer = async (
    call: Pick<Call<unknown, unknown>, 'request'>,
    path: string,
    make: () => Promise<StaticBody>,
    headers?: Record<string, string>,
  ): Promise<ApiResponse> => {
    const making = made.get(path) ?? make();
    made.set(path, making);
    making.catch(() => made.delete(path));
    const body = await making;
    return { status: 200, stream: (response) => sendStatic(requestOf(call), response, body, headers) };
  };
  return [
    endpoint({
      tag: 'Documentation',
      method: 'get',
      path: '/docs',
      operationId: 'openDocumentation',
      scopes: 'public',
      summary: 'Opens the first page of the documentation',
      responses: { 302: { description: 'See `Location`.' } },
      // Relative to the address in the browser: a proxy may have removed a prefix from it.
      handle: async ({ request }) => {
        const isFolder = requestOf({ request }).path.endsWith('/');
        return { status: 302, headers: { location: isFolder ? './README.md' : './docs/README.md' } };
      },
    }),
    endpoint({
      tag: 'Documentation',
      method: 'get',
      path: '/docs/search',
      operationId: 'showDocumentationSearch',
      scopes: 'public',
      summary: 'The places of the documentation with some words',
      query: z.object({ q: z.string().max(MAX_QUERY_CHARS).default('') }),
      responses: { 200: { description: 'The places.', contentType: 'text/html' } },
      handle: async ({ query: { q } }) => {
        const found = await documentation.search(q, MAX_FOUND);
        const main = html`<h1>Search</h1>
<p role="status">${q.trim() === '' ? 'Write what you look for.' : `${found.length === MAX_FOUND ? 'The first ' : ''}${found.length} places with “${q}”.`}</p>
<ol class="found">${found.map(
          ({ page: name, title, heading, anchor, excerpt }) =>
            html`<li><a href="${name}${anchor !== undefined && `#${anchor}`}">${title}${heading !== undefined && ` › ${heading}`}</a><p class="faint">${excerpt}</p></li>`,
        )}</ol>`;
        return docPage(await documentation.pages(), undefined, 'Search', main, q);
      },
    }),
    endpoint({
      tag: 'Documentation',
      method: 'get',
      path: '/docs/{name}',
      operationId: 'showDocumentation',
      scopes: 'public',
      summary: 'A page of the documentation',
      params: { name: 'Name of the page, such as `troubleshooting.md`, or without its ending.' },
      responses: {
        200: { description: 'The page.', contentType: 'text/html' },
        304: unchanged,
        404: notFound,
      },
      handle: async (call) => {
        const { name = '' } = call.params;
        const file = name.includes('.') ? name : `${name}.md`;
        return answer(
          call,
          file,
          async () => {
            const text = (await readListed(DOCS_FOLDER, file, /\.md$/)).toString();
            const title = /^# (.+)$/m.exec(text)?.[1] ?? name;
            const main = new Html(await markdown.parse(text));
            const shown = docPage(await documentation.pages(), file, title, main);
            return staticBody(shown.html ?? '', 'text/html; charset=utf-8');
          },
          pagePolicy(),
        );
      },
    }),
    endpoint({
      tag: 'Documentation',
      method: 'get',
      path: '/docs/images/{name}',
      operationId: 'showDocumentationPicture',
      scopes: 'public',
      summary: 'A picture of the documentation',
      params: { name: 'Name of the file, such as `chat.svg`.' },
      responses: {
        200: { description: 'The picture.', contentType: 'image/*' },
        304: unchanged,
        404: notFound,
      },
      handle: async (call) => {
        const { name = '' } = call.params;
        return answer(call, `images/${name}`, async () => {
          const bytes = await readListed(join(DOCS_FOLDER, 'images'), name, /\.(svg|png)$/);
          return staticBody(bytes, name.endsWith('.png') ? 'image/png' : 'image/svg+xml; charset=utf-8');
        });
      },
    }),
  ];
}

/** On a narrow screen both are below the page. */
const TO_SEARCH = html`<a href="#q">Pages and search</a>`;
const MAX_QUERY_CHARS = 200;
/** Places that a search shows. */
const MAX_FOUND = 40;

/** A page with the list of all pages and a search field beside it. */
function docPage(
  pages: readonly DocPage[],
  open: string | undefined,
  title: string,
  main: Html,
  query = '',
): ApiResponse {
  const nav = html`<form action="search" role="search"><label for="q">Search the documentation</label>
<input id="q" name="q" type="search" maxlength="${MAX_QUERY_CHARS}" value="${query}"><button>Search</button></form>
<nav aria-label="Pages"><ul class="plain">${pages.map(
    ({ name, title: of }) =>
      html`<li><a href="${name}"${name === open && new Html(' aria-current="page"')}>${of}</a></li>`,
  )}</ul></nav>`;
  return page({ status: 200, title, aside: TO_SEARCH, main, side: nav, isWide: true, home: '../' });
}

const foundView = z
  .object({
    page: z.string().describe('Name of the page: `/docs/` with this name shows it.'),
    title: z.string(),
    heading: z.string().optional().describe('Absent: the beginning of the page.'),
    anchor: z.string().optional().describe('Of the heading, behind `#`.'),
    excerpt: z.string().describe('The text around the words.'),
  })
  .meta({ id: 'DocumentationPlace' });

/** `GET /api/docs/search`. */
function searchApi(documentation: Documentation): Endpoint {
  return endpoint({
    tag: 'Documentation',
    method: 'get',
    path: '/api/docs/search',
    operationId: 'searchDocumentation',
    scopes: 'public',
    isPolled: true,
    summary: 'Find places in the documentation',
    description: 'Those that have all of the words, headings first. The documentation is in English.',
    query: z.strictObject({
      query: z.string().trim().min(1).max(MAX_QUERY_CHARS).describe('Words.'),
      limit: z.coerce.number().int().min(1).max(MAX_FOUND).default(10).describe('Most places.'),
    }),
    responses: { 200: { description: 'The places.', schema: dataResponse(z.array(foundView)) } },
    handle: async ({ query: { query, limit } }) => ({
      status: 200,
      json: { success: true, data: await documentation.search(query, limit) },
    }),
  });
}
