import { decideFirstContact, decideQuietHours, type GovernorSettings } from '../policies/governor.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { QueuedReply } from '../turns/turn.ts';

export interface ContactGovernorDeps {
  outbox: Pick<Outbox, 'firstContact' | 'countFirstContact' | 'isUnasked' | 'delay'>;
  /** Of the account. @throws {StorageUnavailableError} */
  settings(): Promise<GovernorSettings>;
  clock: Pick<Clock, 'now'>;
  random(): number;
  /** A message was delayed, for this reason. */
  onDelayed?(reason: string): void;
}

/**
 * Spaces messages to people who never wrote to the account, and keeps the quiet hours. What it counts is stored with the rows, so that a restart or
 * another node continues with the same numbers. Replies pass without a look.
 */
export class ContactGovernor {
  readonly #deps: ContactGovernorDeps;
  /** Decisions about first contacts are made one after the other: each counts for the next. */
  #deciding: Promise<unknown> = Promise.resolve();

  constructor(deps: ContactGovernorDeps) {
    this.#deps = deps;
  }

  /**
   * Whether the message may be sent now; else its row is delayed.
   * @throws {StorageUnavailableError} call again
   */
  maySend(reply: QueuedReply, log: Logger): Promise<boolean> {
    if (reply.messageId !== undefined) return Promise.resolve(true);
    const decided = this.#deciding.then(() => this.#decide(reply, log));
    this.#deciding = decided.catch(() => undefined);
    return decided;
  }

  async #decide({ outboxId }: QueuedReply, log: Logger): Promise<boolean> {
    const { outbox, settings, clock, random, onDelayed } = this.#deps;
    const contact = await outbox.firstContact(outboxId);
    const inForce = await settings();
    const decision = contact
      ? decideFirstContact(contact, inForce, clock.now(), random())
      : decideQuietHours(inForce, clock.now(), random());
    if (decision.kind === 'send') {
      if (contact) await outbox.countFirstContact(outboxId);
      return true;
    }
    if (!contact && !(await outbox.isUnasked(outboxId))) return true;
    const { forMs, reason, why } = decision;
    await outbox.delay(outboxId, forMs, why);
    onDelayed?.(reason);
    log.info({ reason, delayMs: forMs }, 'message delayed by the governor');
    return false;
  }
}
