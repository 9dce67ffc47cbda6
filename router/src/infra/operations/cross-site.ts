import type { Request } from 'express';
import { say } from '../../core/phrases.ts';
import { HttpProblem } from './problem.ts';

/** Requests that change something, by method. */
export const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/** With this header a page proves that it is one of wa2ai: another site cannot send it without asking before. */
export const CSRF_HEADER = 'X-Wa2ai-Csrf';

/** Refuses requests made by a page of another site, or of another port of this machine. */
export function refuseForeignOrigin(request: Request): void {
  const origin = request.get('origin');
  const isOwn = origin === undefined || isOwnOrigin(request, origin);
  const isCrossSiteWrite = WRITES.has(request.method) && request.get('sec-fetch-site') === 'cross-site';
  if (isOwn && !isCrossSiteWrite) return;
  throw new HttpProblem(403, 'FOREIGN_ORIGIN', say('problem.foreign-origin'));
}

/**
 * Refuses a write with a session unless the browser says that a page of wa2ai makes it, and the page sends the header. A
 * form of a page cannot send headers.
 */
export function requireOwnPage(request: Request, { isForm }: { isForm: boolean }): void {
  if (!WRITES.has(request.method)) return;
  const site = request.get('sec-fetch-site');
  const origin = request.get('origin');
  const hasProof = origin !== undefined || site !== undefined;
  const isOwn = (site ?? 'same-origin') === 'same-origin' && (!origin || isOwnOrigin(request, origin));
  if (!hasProof || !isOwn) {
    throw new HttpProblem(403, 'FOREIGN_ORIGIN', say('problem.session-origin'));
  }
  if (isForm || request.get(CSRF_HEADER) === '1') return;
  throw new HttpProblem(403, 'CSRF_HEADER_MISSING', say('problem.csrf', { header: CSRF_HEADER }));
}

function isOwnOrigin(request: Request, origin: string): boolean {
  return URL.canParse(origin) && new URL(origin).host.toLowerCase() === request.get('host')?.toLowerCase();
}
