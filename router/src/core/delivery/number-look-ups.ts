import { Wa2aiError } from '../errors.ts';
import { FULL_BUCKET, takeToken } from '../policies/send-pace.ts';
import type { ChatProvider } from '../ports/chat-provider.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbox } from '../ports/outbox.ts';

/** What is known of a number now. `why` is a sentence for the row that waits. */
export type LookUp =
  | { kind: 'known'; isOnWhatsApp: boolean }
  | { kind: 'wait'; forMs: number; why: string }
  /** The account is not connected: ask when it is. */
  | { kind: 'offline' };

export interface NumberLookUpsDeps {
  provider: Pick<ChatProvider, 'accountId' | 'isOnWhatsApp' | 'status'>;
  outbox: Pick<Outbox, 'keepNumberCheck'>;
  clock: Pick<Clock, 'monotonicMs'>;
  log: Logger;
}

/** WhatsApp limits accounts that ask about many numbers: at most ten at once, and ten a minute. */
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
      const why = 'It is a first contact, and WhatsApp is asked about at most 10 new numbers a minute.';
      return { kind: 'wait', forMs: waitMs, why };
    }
    let isOnWhatsApp: boolean;
    try {
      isOnWhatsApp = await provider.isOnWhatsApp(phone);
    } catch (error) {
      if (error instanceof Wa2aiError && error.code === 'NOT_CONNECTED') return { kind: 'offline' };
      this.#failures += 1;
      log.warn({ err: error, failures: this.#failures }, 'WhatsApp did not answer about a number, retrying');
      const why = 'It is a first contact, and WhatsApp did not say whether the number has an account.';
      return { kind: 'wait', forMs: Math.min(RETRY_MS * this.#failures, MAX_RETRY_MS), why };
    }
    this.#failures = 0;
    await outbox.keepNumberCheck(provider.accountId, phone, isOnWhatsApp);
    return { kind: 'known', isOnWhatsApp };
  }
}
