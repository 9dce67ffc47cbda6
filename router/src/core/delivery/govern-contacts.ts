import { NotOnWhatsAppError } from '../errors.ts';
import { decideFirstContact, decideQuietHours, type GovernorSettings } from '../policies/governor.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { QueuedReply } from '../turns/turn.ts';
import type { NumberLookUps } from './number-look-ups.ts';

export interface ContactGovernorDeps {
  outbox: Pick<Outbox, 'firstContact' | 'countFirstContact' | 'isUnasked' | 'delay' | 'markDead'>;
  numbers: Pick<NumberLookUps, 'lookUp'>;
  /** Of the account. @throws {StorageUnavailableError} */
  settings(): Promise<GovernorSettings>;
  clock: Pick<Clock, 'now'>;
  random(): number;
  /** A message was delayed, for this reason. */
  onDelayed?(reason: string): void;
}

/**
 * Guards messages to people who never wrote to the account: spaces them, keeps the quiet hours, and sends none to a number that
 * WhatsApp does not know. What it counts and learns is stored, so that a restart or another node continues with the same. Replies pass
 * without a look.
 */
export class ContactGovernor {
  readonly #deps: ContactGovernorDeps;
  /** Decisions about first contacts are made one after the other: each counts for the next. */
  #deciding: Promise<unknown> = Promise.resolve();

  constructor(deps: ContactGovernorDeps) {
    this.#deps = deps;
  }

  /**
   * Whether the message may be sent now; else its row is delayed or dead, or stays queued because the account is not connected.
   * @throws {StorageUnavailableError} call again
   */
  async maySend(reply: QueuedReply, log: Logger): Promise<boolean> {
    if (reply.messageId !== undefined) return true;
    const decided = await this.#inOrder(() => this.#decide(reply, log));
    if (typeof decided === 'boolean') return decided;
    // Not in order: others do not wait for WhatsApp's answer.
    const found = await this.#deps.numbers.lookUp(decided.phone);
    if (found.kind === 'offline') return false;
    if (found.kind === 'wait') return this.#delay(reply, found, 'number-check', log);
    if (!found.isOnWhatsApp) return this.#end(reply, log);
    return (await this.#inOrder(() => this.#decide(reply, log, decided.phone))) === true;
  }

  #inOrder<T>(decide: () => Promise<T>): Promise<T> {
    const decided = this.#deciding.then(decide);
    this.#deciding = decided.catch(() => undefined);
    return decided;
  }

  /**
   * @param knownPhone WhatsApp just said that this number has an account
   * @returns the number that WhatsApp must be asked about first
   */
  async #decide(reply: QueuedReply, log: Logger, knownPhone?: string): Promise<boolean | { phone: string }> {
    const { outbox, settings, clock, random } = this.#deps;
    const { outboxId } = reply;
    const contact = await outbox.firstContact(outboxId);
    const inForce = await settings();
    const decision = contact
      ? decideFirstContact(contact, inForce, clock.now(), random())
      : decideQuietHours(inForce, clock.now(), random());
    if (decision.kind === 'send') {
      if (!contact) return true;
      const { number } = contact;
      if (number && number.phone !== knownPhone) {
        if (number.isOnWhatsApp === undefined) return { phone: number.phone };
        if (!number.isOnWhatsApp) return this.#end(reply, log);
      }
      await outbox.countFirstContact(outboxId);
      return true;
    }
    if (!contact && !(await outbox.isUnasked(outboxId))) return true;
    return this.#delay(reply, decision, decision.reason, log);
  }

  async #delay(
    { outboxId }: QueuedReply,
    { forMs, why }: { forMs: number; why: string },
    reason: string,
    log: Logger,
  ): Promise<false> {
    await this.#deps.outbox.delay(outboxId, forMs, why);
    this.#deps.onDelayed?.(reason);
    log.info({ reason, delayMs: forMs }, 'message delayed by the governor');
    return false;
  }

  async #end({ outboxId }: QueuedReply, log: Logger): Promise<false> {
    await this.#deps.outbox.markDead(outboxId, new NotOnWhatsAppError().message, 'not-on-whatsapp');
    log.warn({}, 'message not sent: WhatsApp has no account with this number');
    return false;
  }
}
