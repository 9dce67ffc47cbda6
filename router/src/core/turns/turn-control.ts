import type { Logger } from '../ports/logger.ts';
import type { PendingTurn, TurnResult } from './turn.ts';

/** What may happen to a turn while it runs. */
export interface TurnControl {
  /** Ends the call of the agent; nothing is sent. Absent: no agent works, or the settings forbid it. */
  stop?: () => void;
  /** Ends the call of the agent, so that the turn starts again later. Absent: no agent works. */
  interrupt?: () => void;
  /** Something was stored for the chat; `changed`: the message that it edited or deleted. Absent: no agent works. */
  stored?: (changed: string | undefined) => void;
  /** Calls of `stored` since the turn began that came before it could be called. */
  missed?: Array<string | undefined>;
}

/** The turn has not ended: it is taken again at this time, or when something is stored for the chat before. */
export interface TurnWait {
  untilMs: number;
}

/** The turn has not ended: the person wrote more or changed the question while the agent worked, or others wait to run alone. */
export interface TurnInterrupted {
  isInterrupted: true;
}

/** How a turn ended, and the turn with all its messages when it has several. */
export type TakenTurn = TurnResult & { turn?: PendingTurn };

/** Ends the call of an agent, such as when the person changes the question. */
export class Interruption {
  readonly #ended = new AbortController();
  readonly #ids: string[];
  readonly #interrupts: () => Promise<boolean>;
  readonly #log: Logger;
  #isForbidden = false;

  /** @param interrupts whether something that was stored meanwhile belongs to the question */
  constructor(
    { messageId, merged = [] }: Pick<PendingTurn, 'messageId' | 'merged'>,
    interrupts: () => Promise<boolean>,
    log: Logger,
  ) {
    this.#ids = [messageId, ...merged.map((line) => line.messageId)];
    this.#interrupts = interrupts;
    this.#log = log;
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** The agent has opened a task, which goes on. */
  forbid(): void {
    this.#isForbidden = true;
  }

  /** @param changed the message that was edited or deleted; absent: there is a new one */
  onStored(changed: string | undefined): void {
    if (changed === undefined) void this.#look();
    else if (this.#ids.includes(changed)) this.end();
  }

  async #look(): Promise<void> {
    try {
      if (await this.#interrupts()) this.end();
    } catch (error) {
      this.#log.warn({ err: error }, 'new messages of the chat unreadable, not interrupting the turn');
    }
  }

  /** Without effect when the agent has opened a task. */
  end(): void {
    if (!this.#isForbidden) this.#ended.abort(new Error('the turn starts again'));
  }
}
