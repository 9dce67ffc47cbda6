import { chatHash } from '../chat-hash.ts';
import { StorageUnavailableError } from '../errors.ts';
import { AgentElsewhereError } from '../hosting/hosting-errors.ts';
import type { NodeId } from '../ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { ChatClaim } from '../ports/inbox.ts';
import { storageRetryMs } from '../retry.ts';
import type { Suspects } from '../suspects.ts';
import { type AnswerDeps, answerMessage, type TurnOutcome } from './answer-message.ts';
import type { PendingTurn } from './turn.ts';
import type { TurnControl, TurnWait } from './turn-control.ts';

export interface ChatWorkerDeps {
  answer: AnswerDeps;
  clock: Clock;
  /** Turns during which processes ended. */
  suspects: Suspects;
  /** Called when a turn starts (1) and when it ends (-1). */
  onTurns(change: 1 | -1): void;
}

/**
 * How a worker ended. A chat that is still claimed may have unanswered messages; `isRepeat`: a turn was interrupted; `node`:
 * the node that has the agent of its first message.
 */
export type WorkerEnd = { isClaimed: false } | { isClaimed: true; isRepeat: boolean; node?: NodeId };

/**
 * Runs the turns of one chat, one at a time, until none is left. The end of the last turn releases the chat in the same
 * transaction, so a message is either seen by that transaction or claims the chat for a new worker.
 */
export class ChatWorker {
  readonly claim: ChatClaim;
  readonly #deps: ChatWorkerDeps;
  #isRepeat: boolean;
  /** The chat's only unanswered message, as it was stored; not read since. */
  #stored: PendingTurn | undefined;
  #isDraining = false;
  readonly #control: TurnControl = {};
  /** Ends the wait of a turn for further messages. */
  #wake = new AbortController();

  /**
   * @param isRepeat a crash may have interrupted the chat's first turn
   * @param turn the chat's only unanswered message, when it was just stored: it is not read again
   */
  constructor(deps: ChatWorkerDeps, claim: ChatClaim, isRepeat: boolean, turn?: PendingTurn) {
    this.#deps = deps;
    this.claim = claim;
    this.#isRepeat = isRepeat;
    this.#stored = turn;
  }

  /** Ends the call of the agent that runs now, if its settings allow it. */
  stopTurn(): void {
    this.#control.stop?.();
  }

  /** Something was stored for the chat; `changed`: the message that it edited or deleted. */
  onStored(changed?: string): void {
    if (this.#control.stored) this.#control.stored(changed);
    else this.#control.missed?.push(changed);
    this.#wake.abort();
  }

  /** Ends the worker after the turn that runs now. */
  drain(): void {
    this.#isDraining = true;
    this.#wake.abort();
  }

  /**
   * Runs turns until the chat is released or the worker is drained. Waits as long as the database does not answer.
   * @throws what a turn threw and no repeat would change; the chat is still claimed
   */
  async run(): Promise<WorkerEnd> {
    while (!this.#isDraining) {
      this.#wake = new AbortController();
      this.#control.missed = [];
      const outcome = await this.#answer();
      if (outcome === 'stopped') return { isClaimed: true, isRepeat: true };
      if (typeof outcome === 'object' && 'untilMs' in outcome) {
        await this.#wait(outcome);
        continue;
      }
      if (typeof outcome === 'object') return { isClaimed: true, isRepeat: this.#isRepeat, ...outcome };
      if (outcome === 'released') return { isClaimed: false };
    }
    return { isClaimed: true, isRepeat: this.#isRepeat };
  }

  /** Until the time, or until something is stored for the chat. */
  async #wait({ untilMs }: TurnWait): Promise<void> {
    const { answer, clock } = this.#deps;
    const ended = AbortSignal.any([this.#wake.signal, answer.stopping]);
    await clock.sleep(Math.max(0, untilMs - clock.now()), ended).catch(() => undefined);
  }

  /** One turn. Without the database no end of a turn can be stored, so the turn waits for it. */
  async #answer(): Promise<TurnOutcome | 'stopped' | { node: NodeId }> {
    const { answer, clock, suspects, onTurns } = this.#deps;
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
          const waiting = this.#wake.signal;
          const options = {
            isRepeat: this.#isRepeat,
            turn,
            onTurn,
            control: this.#control,
            suspects,
            waiting,
          };
          const outcome = await answerMessage(answer, this.claim, options);
          if (typeof outcome !== 'object') this.#isRepeat = false;
          return outcome;
        } catch (error) {
          if (stopping.aborted) return 'stopped';
          if (error instanceof AgentElsewhereError) return { node: error.nodeId };
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
