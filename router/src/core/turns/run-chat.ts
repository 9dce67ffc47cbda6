import { chatHash } from '../chat-hash.ts';
import { StorageUnavailableError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { ChatClaim } from '../ports/inbox.ts';
import { storageRetryMs } from '../retry.ts';
import { type AnswerDeps, answerMessage, type TurnOutcome } from './answer-message.ts';
import type { PendingTurn } from './turn.ts';

/** A chat worker waits this long for the chat's next message before it releases the chat, which costs a transaction. */
const LINGER_MS = 5_000;

export interface ChatWorkerDeps {
  answer: AnswerDeps;
  clock: Clock;
  /** How long an idle worker waits for the chat's next message, in milliseconds. Default 5,000. */
  lingerMs?: number;
  /** Called when a turn starts (1) and when it ends (-1). */
  onTurns(change: 1 | -1): void;
}

/** How a worker ended. A chat that is still claimed may have unanswered messages; `isRepeat`: a turn was interrupted. */
export type WorkerEnd = { isClaimed: false } | { isClaimed: true; isRepeat: boolean };

/** Runs the turns of one chat, one at a time, until the chat is idle. */
export class ChatWorker {
  readonly claim: ChatClaim;
  readonly #deps: ChatWorkerDeps;
  #isRepeat: boolean;
  /** The chat's only unanswered message, as it was stored; not read since. */
  #stored: PendingTurn | undefined;
  #isWoken = false;
  #isDraining = false;
  #lingering: AbortController | undefined;

  /**
   * @param isRepeat a crash may have interrupted the chat's first turn
   * @param turn see `wake`
   */
  constructor(deps: ChatWorkerDeps, claim: ChatClaim, isRepeat: boolean, turn?: PendingTurn) {
    this.#deps = deps;
    this.claim = claim;
    this.#isRepeat = isRepeat;
    this.#stored = turn;
  }

  /**
   * The chat has a new message.
   * @param turn that message, when the chat had no other unanswered one: it is not read again
   */
  wake(turn?: PendingTurn): void {
    this.#isWoken = true;
    this.#stored = turn;
    this.#lingering?.abort();
  }

  /** Ends the worker after the turn that runs now. */
  drain(): void {
    this.#isDraining = true;
    this.#lingering?.abort();
  }

  /**
   * Runs turns until the chat was idle for a while or the worker is drained. Waits as long as the database does not answer.
   * @throws what a turn threw and no repeat would change; the chat is still claimed
   */
  async run(): Promise<WorkerEnd> {
    let keepClaim = true;
    while (!this.#isDraining) {
      this.#isWoken = false;
      const outcome = await this.#answer(keepClaim);
      if (outcome === 'stopped') return { isClaimed: true, isRepeat: true };
      if (outcome === 'idle' && !keepClaim) return { isClaimed: false };
      // A stored message wakes the worker, so it reads the inbox of an idle chat only after the wait. That read releases
      // the chat in the transaction that finds nothing: no message can be missed.
      keepClaim = outcome === 'answered' || (await this.#isWokenInTime());
    }
    return { isClaimed: true, isRepeat: this.#isRepeat };
  }

  async #isWokenInTime(): Promise<boolean> {
    if (this.#isWoken || this.#isDraining) return true;
    this.#lingering = new AbortController();
    const { clock, lingerMs = LINGER_MS } = this.#deps;
    await clock.sleep(lingerMs, this.#lingering.signal).catch(() => undefined);
    this.#lingering = undefined;
    return this.#isWoken;
  }

  /** One turn. Without the database no end of a turn can be stored, so the turn waits for it. */
  async #answer(keepClaim: boolean): Promise<TurnOutcome | 'stopped'> {
    const { answer, clock, onTurns } = this.#deps;
    const { stopping, log } = answer;
    onTurns(1);
    try {
      for (let attempt = 1; ; attempt++) {
        const turn = this.#stored;
        this.#stored = undefined;
        let messageId: string | undefined;
        const onTurn = (begun: PendingTurn) => {
          messageId = begun.messageId;
        };
        try {
          const options = { isRepeat: this.#isRepeat, keepClaim, turn, onTurn };
          const outcome = await answerMessage(answer, this.claim, options);
          this.#isRepeat = false;
          // The message that was read may be the one that was stored meanwhile.
          if (!turn && outcome !== 'idle') this.#stored = undefined;
          return outcome;
        } catch (error) {
          if (stopping.aborted) return 'stopped';
          if (!(error instanceof StorageUnavailableError)) throw error;
          const fields = { err: error, messageId, chat: chatHash(this.claim.chatId), attempt };
          log.warn(fields, 'database unavailable, retrying turn');
          // The agent may have answered before the database failed.
          this.#isRepeat = true;
          await clock.sleep(storageRetryMs(attempt), stopping).catch(() => undefined);
        }
      }
    } finally {
      onTurns(-1);
    }
  }
}
