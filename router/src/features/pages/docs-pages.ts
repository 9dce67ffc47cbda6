import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Marked } from 'marked';
import { projectFolder } from '../../config/package-version.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { Html, html, page, pagePolicy } from '../../infra/operations/page-frame.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { type ApiResponse, type Call, requestOf } from '../../infra/operations/response.ts';
import { type StaticBody, sendStatic, staticBody } from '../../infra/operations/static-body.ts';

const FOLDER = join(projectFolder(), 'docs');
const ALL_PAGES = html`<a href="README.md">Documentation</a>`;

/** The anchor of a heading, as repository hosts generate it. Error responses link to these anchors. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
}

const markdown = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
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
export function docsPages(): Endpoint[] {
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
            const text = (await readListed(FOLDER, file, /\.md$/)).toString();
            const title = /^# (.+)$/m.exec(text)?.[1] ?? name;
            const main = new Html(await markdown.parse(text));
            const shown = page({ status: 200, title, aside: ALL_PAGES, main, isWide: true, home: '../' });
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
          const bytes = await readListed(join(FOLDER, 'images'), name, /\.(svg|png)$/);
          return staticBody(bytes, name.endsWith('.png') ? 'image/png' : 'image/svg+xml; charset=utf-8');
        });
      },
    }),
  ];
}

/** A file that the folder lists, so that no name can leave the folder. */
async function readListed(folder: string, name: string, ending: RegExp): Promise<Buffer> {
  const names: string[] = await readdir(folder).catch(() => []);
  if (ending.test(name) && names.includes(name)) return readFile(join(folder, name));
  throw new HttpProblem(404, 'NOT_FOUND', 'The documentation has no such page.');
}
