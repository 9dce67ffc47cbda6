import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import { isKnown } from './etags.ts';

/** Below this, compressing saves nothing that matters. */
const MIN_GZIP_BYTES = 1_024;

const compressed = promisify(gzip);

/** Bytes that are the same for every caller as long as the process runs, ready to be sent. */
export interface StaticBody {
  bytes: Buffer;
  /** The same, compressed; the preferred one first. */
  encoded: ReadonlyArray<{ name: 'br' | 'gzip'; bytes: Buffer }>;
  /** By which a client asks whether they have changed, in quotes. */
  etag: string;
  /** `Content-Type`. */
  type: string;
}

/** @param encoded absent: the bytes are compressed here, once */
export async function staticBody(
  given: Buffer | string,
  type: string,
  encoded?: StaticBody['encoded'],
): Promise<StaticBody> {
  const bytes = Buffer.from(given);
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  if (encoded) return { bytes, encoded, etag, type };
  const small = bytes.length < MIN_GZIP_BYTES ? bytes : await compressed(bytes);
  return {
    ...{ bytes, etag, type },
    encoded: small.length < bytes.length ? [{ name: 'gzip', bytes: small }] : [],
  };
}

/**
 * Sends the bytes, in an encoding that the client reads, or 304 when the client has them. Clients may keep them and ask
 * each time, unless `headers` say otherwise.
 */
export function sendStatic(
  request: Request,
  response: Response,
  body: StaticBody,
  headers: Record<string, string> = {},
): void {
  const encoding = body.encoded.find(({ name }) => request.acceptsEncodings(name) === name);
  // Weak: the encodings have the same content and not the same bytes (RFC 9110, 8.8.1).
  const etag = `W/${body.etag}`;
  response.set({ 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding', ETag: etag, ...headers });
  if (isKnown(request.get('if-none-match'), body.etag)) {
    response.status(304).end();
    return;
  }
  const bytes = encoding?.bytes ?? body.bytes;
  // Not `set`, which adds a charset of its own.
  response.setHeader('Content-Type', body.type);
  response.setHeader('Content-Length', bytes.length);
  if (encoding) response.setHeader('Content-Encoding', encoding.name);
  response.status(200).end(request.method === 'HEAD' ? undefined : bytes);
}
