import type { Readable } from 'node:stream';
import { HttpProblem } from '../../infra/operations/problem.ts';

/** Largest body of a request, in bytes. */
export const MAX_RPC_BYTES = 262_144;

/**
 * The body of a request as text; JSON-RPC has its own error for one that is no JSON.
 * @throws {HttpProblem} 413: it is too large; 415: it is compressed; 400: the connection broke
 */
export async function readBody(
  request: Readable & { headers: Record<string, string | string[] | undefined> },
  maxBytes = MAX_RPC_BYTES,
): Promise<string> {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new HttpProblem(415, 'UNSUPPORTED_MEDIA_TYPE', 'The body must not be compressed.');
  }
  // Events, because an asynchronous iterator costs several times as much for a small body.
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const broken = () => reject(new HttpProblem(400, 'BAD_REQUEST', 'The body did not arrive completely.'));
    const read = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) return void chunks.push(chunk);
      // A destroyed request would close the connection before its response.
      request.off('data', read).pause();
      reject(new HttpProblem(413, 'BODY_TOO_LARGE', 'The body is too large.'));
    };
    request.on('data', read);
    request.once('error', broken).once('close', broken);
    request.once('end', () => {
      request.off('close', broken);
      resolve(Buffer.concat(chunks).toString('utf8'));
    });
  });
}
