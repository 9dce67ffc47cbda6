import { randomUUID } from 'node:crypto';
import type { AuthInfo } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type Caller, taskOwnerOf } from '../../core/access/caller.ts';

interface Exchange {
  caller: Caller;
  requestId: string;
  address: string;
  /** Aborts when the client disconnects or the server stops. */
  signal: AbortSignal;
}

/** Who calls, and the request of the call; the SDK carries it to the handlers. */
export class McpCaller {
  readonly caller: Caller;
  readonly requestId: string;
  readonly address: string;
  readonly signal: AbortSignal;

  constructor({ caller, requestId, address, signal }: Exchange) {
    this.caller = caller;
    this.requestId = requestId;
    this.address = address;
    this.signal = signal;
  }

  /** The caller that `authInfo` has carried. */
  static of(authInfo: AuthInfo | undefined): McpCaller {
    const carried = authInfo?.extra?.caller;
    if (!(carried instanceof McpCaller)) throw new TypeError('the call has no caller');
    return carried;
  }

  /** Who owns the tasks that the caller opens. */
  get owner(): string {
    return taskOwnerOf(this.caller);
  }

  /** The form in which the SDK carries it; the key itself is not part of it. */
  authInfo(): AuthInfo {
    return { token: '', clientId: this.owner, scopes: [], extra: { caller: this } };
  }
}

/** Carries cancellations to the other nodes, and those of other nodes to this one. */
export interface CancelRelay {
  publish(message: { kind: 'mcp-cancelled'; call: string }): void;
  on(kind: 'mcp-cancelled', handler: (message: { call: string }) => void): void;
}

const requestId = z.union([z.string().max(200), z.number()]);
const message = z.object({ method: z.string(), id: requestId.optional(), params: z.unknown() });
const cancelled = z.object({ requestId });

/**
 * The calls of protocol version 2025-11-25 that run. Its `notifications/cancelled` is a request apart, which may reach another
 * node: the header `Mcp-Session-Id`, which each `initialize` gets, says whose call it means. A session has no other state.
 */
export class OpenCalls {
  readonly #relay: CancelRelay;
  readonly #open = new Map<string, AbortController>();

  constructor(relay: CancelRelay) {
    this.#relay = relay;
    relay.on('mcp-cancelled', ({ call }) => this.#open.get(call)?.abort());
  }

  /**
   * Takes note of a request before it is handled.
   * @param owner whose key it has
   * @param sessionId of its header
   * @param gone is aborted when the call is cancelled
   * @returns the id of a new session, when the request asks for one, and what to do when the request has ended
   */
  enter(
    owner: string,
    sessionId: string | undefined,
    body: string,
    gone: AbortController,
  ): { newSession?: string; leave(): void } {
    const leave = () => undefined;
    const { method, id, params } = parsed(body) ?? {};
    if (method === 'initialize') return { newSession: randomUUID(), leave };
    if (sessionId === undefined || sessionId.length > 200) return { leave };
    const callOf = (named: string | number) => JSON.stringify([owner, sessionId, named]);
    if (method === 'notifications/cancelled') {
      const named = cancelled.safeParse(params).data?.requestId;
      if (named === undefined) return { leave };
      const call = callOf(named);
      const open = this.#open.get(call);
      if (open) open.abort();
      else this.#relay.publish({ kind: 'mcp-cancelled', call });
    }
    if (id === undefined) return { leave };
    const call = callOf(id);
    this.#open.set(call, gone);
    return {
      leave: () => {
        if (this.#open.get(call) === gone) this.#open.delete(call);
      },
    };
  }
}

function parsed(body: string): z.output<typeof message> | undefined {
  try {
    return message.safeParse(JSON.parse(body)).data;
  } catch {
    // the handler refuses it
    return undefined;
  }
}
