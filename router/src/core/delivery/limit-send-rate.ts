import type { Clock } from '../clock.ts';
import {
  FULL_BUCKET,
  type GovernorSettings,
  governorOf,
  takeToken,
  typingMsOf,
} from '../policies/governor.ts';
import type { QueuedReply } from '../turns/turn.ts';

interface SendRateLimiterDeps {
  /** Of the account. @throws {StorageUnavailableError} the settings known before stay in force */
  settings(): Promise<GovernorSettings>;
  /** Best effort. */
  setTyping(to: string, isTyping: boolean): Promise<void>;
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>;
  random(): number;
}

interface Waiting {
  isCurrent(): boolean;
  go(mayBeSent: boolean): void;
}

/** Waits are longer by up to this share, so that messages do not leave at regular times. */
const JITTER = 0.2;

/**
 * Limits how fast messages of one account leave: a token for each, and the time that a person would type it. The tokens are in
 * memory: another node begins with all of them. While there are tokens and typing is off, nothing waits and no timer runs.
 */
export class SendRateLimiter {
  readonly #deps: SendRateLimiterDeps;
  #settings = governorOf(undefined);
  #bucket = FULL_BUCKET;
  /** Answers to people, who wait for them, go first. */
  readonly #replies: Waiting[] = [];
  readonly #others: Waiting[] = [];
  #isDraining = false;

  constructor(deps: SendRateLimiterDeps) {
    this.#deps = deps;
  }

  /** A message would leave now, by the settings of the last one. */
  get isFree(): boolean {
    return this.#isIdle && takeToken(this.#bucket, this.#settings.messages, this.#nowMs()).waitMs === 0;
  }

  /**
   * Resolves when the message may leave.
   * @returns false: `signal` was aborted, or the message is not current any more; it must not be sent
   */
  async admit(reply: QueuedReply, isCurrent: () => boolean, signal: AbortSignal): Promise<boolean> {
    try {
      this.#settings = await this.#deps.settings();
    } catch {
      // The settings known before stay in force.
    }
    if (this.#isIdle && this.#take() === 0) return true;
    return new Promise((go) => {
      (reply.messageId === undefined ? this.#others : this.#replies).push({ isCurrent, go });
      if (!this.#isDraining) void this.#drain(signal);
    });
  }

  /** Shows "typing..." as long as the settings say for the text. Never rejects; an abort ends it. */
  async type({ message: { to, text, special } }: QueuedReply, signal: AbortSignal): Promise<void> {
    // The words of an edit are in the chat for the most part.
    const ms = special ? 0 : typingMsOf(text, this.#settings.typing);
    if (ms === 0) return;
    void this.#deps.setTyping(to, true).catch(() => undefined);
    await this.#deps.clock.sleep(ms, signal).catch(() => undefined);
  }

  async #drain(signal: AbortSignal): Promise<void> {
    this.#isDraining = true;
    for (;;) {
      const from = this.#replies.length > 0 ? this.#replies : this.#others;
      const [next] = from;
      if (!next) break;
      const mayBeSent = !signal.aborted && next.isCurrent();
      const waitMs = mayBeSent ? this.#take() : 0;
      if (waitMs === 0) {
        from.shift();
        next.go(mayBeSent);
      } else {
        const longerMs = Math.ceil(waitMs * (1 + JITTER * this.#deps.random()));
        await this.#deps.clock.sleep(longerMs, signal).catch(() => undefined);
      }
    }
    this.#isDraining = false;
  }

  /** @returns how long until there is a token; 0: one was taken */
  #take(): number {
    const { bucket, waitMs } = takeToken(this.#bucket, this.#settings.messages, this.#nowMs());
    this.#bucket = bucket;
    return waitMs;
  }

  get #isIdle(): boolean {
    return this.#replies.length + this.#others.length === 0;
  }

  #nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }
}
