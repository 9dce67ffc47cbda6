import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { RequestHandler } from 'express';
import { projectFolder } from '../../config/package-version.ts';
import type { Face } from '../../infra/operations/face.ts';
import { type StaticBody, sendStatic, staticBody } from '../../infra/operations/static-body.ts';

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
export function consoleFace(folder = join(projectFolder(), 'dist', 'console')): Face {
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
