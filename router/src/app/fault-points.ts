import type { FaultPlan, FaultPoint } from '../config/fault-plan.ts';
import type { AgentClient, AgentClients } from '../core/agent-client.ts';
import type { ProviderEvents } from '../core/ports/chat-provider.ts';
import type { Inbox } from '../core/ports/inbox.ts';
import type { KeyStore } from '../core/ports/key-store.ts';

/** How long after the request `in-agent-call` ends the process, in milliseconds. */
const ASKED_FOR_MS = 5;

/**
 * Ends the process with SIGKILL at one fault point, for crash tests. The adapters that it wraps work as before; without a
 * plan nothing is wrapped.
 */
export class FaultPoints {
  readonly #plan: FaultPlan | undefined;
  readonly #kill: () => void;
  #passes = 0;

  /** @param kill ends the process; another one in tests of this class */
  constructor(plan: FaultPlan | undefined, kill: () => void = killThisProcess) {
    this.#plan = plan;
    this.#kill = kill;
  }

  /** The process is at this point; it does not return from the planned pass of the planned one. */
  pass(point: FaultPoint): void {
    if (this.#plan?.point !== point) return;
    this.#passes += 1;
    if (this.#passes === this.#plan.pass) this.#kill();
  }

  keyStore(inner: KeyStore): KeyStore {
    return this.#wrapped(inner, {
      commit: async (scope, change) => {
        const hasPlaintext = change.journal.length > 0;
        if (hasPlaintext) this.pass('after-decrypt');
        await inner.commit(scope, change);
        if (hasPlaintext) this.pass('after-journal');
      },
    });
  }

  inbox(inner: Inbox): Inbox {
    return this.#wrapped(inner, {
      add: async (...message) => {
        const stored = await inner.add(...message);
        this.pass('after-inbox-commit');
        return stored;
      },
      finishTurn: async (...turn) => {
        const finished = await inner.finishTurn(...turn);
        if (finished.replies.length > 0) this.pass('after-outbox-write');
        return finished;
      },
    });
  }

  agents(inner: AgentClients): AgentClients {
    return this.#wrapped(inner, {
      clientFor: (route) => {
        const client = inner.clientFor(route);
        const sendMessage: AgentClient['sendMessage'] = (...ask) => {
          setTimeout(() => this.pass('in-agent-call'), ASKED_FOR_MS);
          return client.sendMessage(...ask);
        };
        return this.#wrapped(client, { sendMessage });
      },
    });
  }

  events(inner: ProviderEvents): ProviderEvents {
    return this.#wrapped(inner, {
      receipts: async (receipts) => {
        if (receipts.some((receipt) => receipt.state === 'acked')) this.pass('before-ack-recorded');
        await inner.receipts(receipts);
      },
    });
  }

  #wrapped<T extends object>(inner: T, changed: Partial<T>): T {
    if (!this.#plan) return inner;
    return new Proxy(inner, {
      get: (target, name) => {
        if (name in changed) return changed[name as keyof T];
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}

/** No handler runs and nothing is flushed, as when the machine loses power. */
function killThisProcess(): void {
  process.kill(process.pid, 'SIGKILL');
}
