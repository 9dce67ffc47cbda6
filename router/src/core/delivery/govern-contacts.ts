import type { Clock } from '../clock.ts';
import { NotOnWhatsAppError, Wa2aiError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { type Said, say } from '../phrases.ts';
import {
  decideFirstContact,
  decideQuietHours,
  FULL_BUCKET,
  type GovernorSettings,
  takeToken,
} from '../policies/governor.ts';
import type { ChatProvider } from '../ports/chat-provider.ts';
import type { DeadReplyReason, Outbox } from '../ports/outbox.ts';
import type { QueuedReply } from '../turns/turn.ts';

interface ContactGovernorDeps {
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
    { forMs, why }: { forMs: number; why: Said },
    reason: string,
    log: Logger,
  ): Promise<false> {
    await this.#deps.outbox.delay(outboxId, forMs, why);
    this.#deps.onDelayed?.(reason);
    log.info({ reason, delayMs: forMs }, 'message delayed by the governor');
    return false;
  }

  async #end({ outboxId }: QueuedReply, log: Logger): Promise<false> {
    await this.#deps.outbox.markDead(outboxId, new NotOnWhatsAppError().said, 'not-on-whatsapp');
    log.warn({}, 'message not sent: WhatsApp has no account with this number');
    return false;
  }
}

/** What is known of a number now. `why` is a sentence for the row that waits. */
type LookUp =
  | { kind: 'known'; isOnWhatsApp: boolean }
  | { kind: 'wait'; forMs: number; why: Said }
  /** The account is not connected: ask when it is. */
  | { kind: 'offline' };

interface NumberLookUpsDeps {
  provider: Pick<ChatProvider, 'accountId' | 'isOnWhatsApp' | 'status'>;
  outbox: Pick<Outbox, 'keepNumberCheck'>;
  clock: Pick<Clock, 'monotonicMs'>;
  log: Logger;
}

/** WhatsApp limits accounts that ask about many numbers: at most ten together, and ten a minute. */
const BUDGET = { burst: 10, perSecond: 10 / 60 };
/** After a look-up without an answer; it grows with each in a row. */
const RETRY_MS = 60_000;
const MAX_RETRY_MS = 900_000;

/**
 * Asks WhatsApp whether numbers have an account, for one account. Its answers are stored before they are used. The tokens of the budget
 * are in memory.
 */
export class NumberLookUps {
  readonly #deps: NumberLookUpsDeps;
  readonly #running = new Map<string, Promise<LookUp>>();
  #bucket = FULL_BUCKET;
  #failures = 0;

  constructor(deps: NumberLookUpsDeps) {
    this.#deps = deps;
  }

  /**
   * Asks about a number; calls for one number at a time share a question.
   * @param phone digits
   * @throws {StorageUnavailableError} the answer could not be stored: ask again
   */
  lookUp(phone: string): Promise<LookUp> {
    const running = this.#running.get(phone);
    if (running) return running;
    const asked = this.#ask(phone).finally(() => this.#running.delete(phone));
    this.#running.set(phone, asked);
    return asked;
  }

  async #ask(phone: string): Promise<LookUp> {
    const { provider, outbox, clock, log } = this.#deps;
    if (!provider.isOnWhatsApp) return { kind: 'known', isOnWhatsApp: true };
    const { state, isConnected } = provider.status();
    if (!(isConnected ?? state === 'open')) return { kind: 'offline' };
    const { bucket, waitMs } = takeToken(this.#bucket, BUDGET, clock.monotonicMs());
    this.#bucket = bucket;
    if (waitMs > 0) {
      const why = say('governor.asks-slowly');
      return { kind: 'wait', forMs: waitMs, why };
    }
    let isOnWhatsApp: boolean;
    try {
      isOnWhatsApp = await provider.isOnWhatsApp(phone);
    } catch (error) {
      if (error instanceof Wa2aiError && error.code === 'NOT_CONNECTED') return { kind: 'offline' };
      this.#failures += 1;
      log.warn({ err: error, failures: this.#failures }, 'WhatsApp did not answer about a number, retrying');
      const why = say('governor.number-unknown');
      return { kind: 'wait', forMs: Math.min(RETRY_MS * this.#failures, MAX_RETRY_MS), why };
    }
    this.#failures = 0;
    await outbox.keepNumberCheck(provider.accountId, phone, isOnWhatsApp);
    return { kind: 'known', isOnWhatsApp };
  }
}

/** Of an error ack: see `decideRefusal`. */
const REACH_OUT_REFUSED = '463';
/** Baileys asks the person's privacy token after error 463; so long it may take. */
const TOKEN_WAIT_MS = 15_000;
/** Sends with a privacy token that may be missing. */
const MAX_TOKEN_ATTEMPTS = 3;

/** What is known of a message that WhatsApp refused with an error ack. */
interface Refusal {
  code: string;
  /** For how long WhatsApp still limits the account; undefined: it does not. */
  limitLeftMs?: number;
  /** Sends so far. */
  attempts: number;
  /** Its person never wrote to the account. */
  isCold: boolean;
}

/** What happens to a refused message. `error` is a sentence for its row. */
interface RefusalDecision {
  error: Said;
  delayMs?: number;
  reason?: DeadReplyReason;
}

/**
 * Decides about a refused message. Error 463 of a person who never wrote is the lock of the account while there is one; without one it
 * concerns that person alone. A person who wrote has a privacy token, which may be missing here: the message is sent again with it, also
 * during a lock, which spares such chats. Pure.
 */
export function decideRefusal({ code, limitLeftMs, attempts, isCold }: Refusal): RefusalDecision {
  const error = say('send.refused', { code });
  if (code === REACH_OUT_REFUSED && !isCold && attempts < MAX_TOKEN_ATTEMPTS) {
    return { error: say('send.refused-token', { error }), delayMs: TOKEN_WAIT_MS };
  }
  if (limitLeftMs !== undefined) return { error, delayMs: limitLeftMs };
  if (code !== REACH_OUT_REFUSED || !isCold) return { error };
  return { error: say('send.contact-refused'), reason: 'contact-refused' };
}

/** Stores what happens to a message that WhatsApp refused. @throws {StorageUnavailableError} */
export async function messageRefused(
  outbox: Pick<Outbox, 'markRefused' | 'refusedRow'>,
  {
    accountId,
    waMessageId,
    ...refusal
  }: Pick<Refusal, 'code' | 'limitLeftMs'> & { accountId: string; waMessageId: string },
): Promise<void> {
  const row = await outbox.refusedRow(accountId, waMessageId);
  if (!row) return;
  const { error, ...outcome } = decideRefusal({ ...refusal, ...row });
  await outbox.markRefused(accountId, waMessageId, error, outcome);
}
