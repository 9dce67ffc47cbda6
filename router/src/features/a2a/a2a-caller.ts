import type { User } from '@a2a-js/sdk/server';
import type { Request, Response } from 'express';
import { type Caller, taskOwnerOf, taskOwnersOf } from '../../core/access/caller.ts';
import { connectionOf } from '../../infra/operations/guard.ts';
import { baseUrlOf } from '../../infra/operations/own-address.ts';

/** A reader that takes nothing for so long is disconnected. */
const MAX_DRAIN_MS = 60_000;
/** Comments that keep a quiet stream open through proxies. */
const KEEP_ALIVE_MS = 15_000;

/** Who calls, and the connection of the call; the SDK carries it to the handler. */
export class A2aCaller implements User {
  readonly isAuthenticated = true;
  readonly caller: Caller;
  readonly requestId: string;
  readonly address: string;
  readonly baseUrl: string;
  readonly #response: Response;

  /** @param publicUrl of this installation */
  constructor(request: Request, response: Response, publicUrl?: string) {
    this.caller = response.locals.caller;
    this.requestId = response.locals.requestId;
    this.address = connectionOf(request).address;
    this.baseUrl = baseUrlOf(request, publicUrl);
    this.#response = response;
  }

  /** Who owns the tasks that the caller opens. */
  get userName(): string {
    return taskOwnerOf(this.caller);
  }

  /** Whose tasks the caller sees. */
  get owners(): readonly string[] {
    return taskOwnersOf(this.caller);
  }

  /** The response of the call gets status 429. */
  overLimit(): void {
    if (!this.#response.headersSent) this.#response.status(429);
  }

  /** Aborts when the caller has disconnected. */
  disconnected(): AbortSignal {
    const gone = new AbortController();
    if (this.#response.closed) gone.abort();
    else this.#response.once('close', () => gone.abort());
    return gone.signal;
  }

  /** Resolves when the caller has taken what was written. A caller who is too slow is disconnected. */
  async drained(): Promise<void> {
    const response = this.#response;
    if (!response.writableNeedDrain || response.closed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => response.destroy(), MAX_DRAIN_MS);
      const done = () => {
        clearTimeout(timer);
        response.off('drain', done).off('close', done);
        resolve();
      };
      response.once('drain', done).once('close', done);
    });
  }

  /** Keeps the stream of the call open while nothing happens. @returns stops it */
  keepAlive(): () => void {
    const response = this.#response;
    const timer = setInterval(() => {
      if (response.headersSent && !response.writableNeedDrain && !response.writableEnded) {
        response.write(': keep-alive\n\n');
      }
    }, KEEP_ALIVE_MS);
    timer.unref();
    return () => clearInterval(timer);
  }
}
