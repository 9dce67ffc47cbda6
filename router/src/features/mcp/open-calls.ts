import { randomUUID } from 'node:crypto';
import { z } from 'zod';

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
