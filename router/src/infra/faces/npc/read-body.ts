import type { Readable } from 'node:stream';
import { HttpProblem } from '../rest/problem.ts';

/** Largest body of a request, in bytes. */
export const MAX_RPC_BYTES = 262_144;

/**
 * The body of a request as text; JSON-RPC has its own error for one that is no JSON.
 * @throws {HttpProblem} 413: it is too large; 415: it is compressed; 400: the connection broke
 */
export async function readBody(
  request: Readable & { headers: Record<string, string | string[] | undefined> },
): Promise<string> {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new HttpProblem(415, 'UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed.');
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // A destroyed request would close the connection before its response.
    const read: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
    for await (const chunk of read) {
      bytes += chunk.length;
      if (bytes > MAX_RPC_BYTES) throw new HttpProblem(413, 'BODY_TOO_LARGE', 'The body is too large.');
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof HttpProblem) throw error;
    throw new HttpProblem(400, 'BAD_REQUEST', 'The body did not arrive completely.');
  }
  return Buffer.concat(chunks).toString('utf8');
}
