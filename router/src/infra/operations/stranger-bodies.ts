import type { Request, Response } from 'express';
import { say } from '../../core/phrases.ts';
import { HttpProblem } from './problem.ts';

/** Largest body of a request that anybody may send, in bytes: a name and a password fit. */
export const MAX_PUBLIC_BODY_BYTES = 8_192;

/** Memory for the bodies of all such requests that are open, in bytes. */
const MAX_OPEN_BYTES = 16_777_216;

/**
 * The memory that bodies of callers take of whom nothing is known. It is reserved before the first byte is read, and free
 * again when the response has ended, so that callers cannot take more by sending slowly or many at once.
 */
export class StrangerBodies {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes = MAX_OPEN_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** What is reserved now, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @throws {HttpProblem} 413: the body is too large; 503: the memory is used */
  reserve(request: Request, response: Response): void {
    const isChunked = request.get('transfer-encoding') !== undefined;
    const bytes = isChunked ? MAX_PUBLIC_BODY_BYTES : Number(request.get('content-length') ?? 0);
    if (bytes === 0) return;
    if (bytes > MAX_PUBLIC_BODY_BYTES) {
      throw new HttpProblem(
        413,
        'BODY_TOO_LARGE',
        say('problem.stranger-body', { bytes: MAX_PUBLIC_BODY_BYTES }),
      );
    }
    if (this.#bytes + bytes > this.#maxBytes) {
      response.set('Retry-After', '5');
      throw new HttpProblem(503, 'OVERLOADED', say('problem.overloaded'));
    }
    this.#bytes += bytes;
    response.once('close', () => {
      this.#bytes -= bytes;
    });
  }
}
