import type { ChatProvider } from '../ports/chat-provider.ts';
import type { Clock } from '../ports/clock.ts';
import type { QueuedReply } from '../ports/inbox.ts';
import type { Logger } from '../ports/logger.ts';
import type { Outbox } from '../ports/outbox.ts';
import { ReplySending } from './send-reply.ts';
import { SentNotes } from './sent-notes.ts';

/** Rows read at once when a connection opens; more follow in further pages. */
const PAGE = 200;
/** Replies kept in memory while older ones are read; more of them are found in the outbox afterwards. */
const MAX_HELD = 1_000;

/** Sends of one message in all that WhatsApp did not acknowledge before it is dead. */
const MAX_UNACKNOWLEDGED = 5;
const DEFAULT_ACK_TIMEOUT_MS = 30_000;

export interface DeliverDeps {
  outbox: Outbox;
  provider: Pick<ChatProvider, 'accountId' | 'send' | 'upload' | 'status'>;
  log: Logger;
  /** How long WhatsApp may take to acknowledge a message before it is sent again, in milliseconds. Default 30,000. */
  ackTimeoutMs?: number;
  /** As SentNotesDeps; without it nothing is sent again before the next opening or `chase`. */
  clock?: Clock;
}

/**
 * Outbox → provider for one account: one send at a time in a chat, in outbox order, chats side by side. The row is the
 * truth; what is in memory here is only the way to it. Whatever a crash or a drop left unacknowledged goes again, with
 * the same WhatsApp id, when the connection opens.
 */
export class ReplyDelivery {
  readonly #deps: DeliverDeps;
  readonly #lanes = new Map<string, Promise<void>>();
  /** Rows on their way in this process: a row taken from the turn and again by `resume` goes once. */
  readonly #underway = new Set<string>();
  /** Replies that arrive while `resume` reads the older ones wait here, so that they do not overtake. */
  #held: QueuedReply[] | undefined;
  readonly #notes: SentNotes;
  readonly #sending: ReplySending;
  #resuming: Promise<void> | undefined;
  #looking: Promise<void> | undefined;
  #chasing: Promise<void> | undefined;
  #isLooking = false;
  #mustLookAgain = false;
  readonly #finishing = new AbortController();

  constructor(deps: DeliverDeps) {
    this.#deps = deps;
    this.#notes = new SentNotes(deps);
    this.#sending = new ReplySending({
      ...deps,
      notes: this.#notes,
      isConnected: () => this.#isConnected,
      look: () => this.look(),
      finishing: this.#finishing.signal,
    });
  }

  /** Takes replies just stored. When the account is not open they stay in the outbox until `resume`. */
  deliver(replies: QueuedReply[]): void {
    if (this.#held) {
      if (this.#held.length < MAX_HELD) this.#held.push(...replies);
      else this.#mustLookAgain = true;
      return;
    }
    if (!this.#isConnected) return;
    for (const reply of replies) this.#enqueue(reply);
  }

  /** The connection opened: sends everything not yet acknowledged, oldest first, then what came meanwhile. */
  resume(): Promise<void> {
    this.#resuming ??= this.#resume().finally(() => {
      this.#resuming = undefined;
    });
    return this.#resuming;
  }

  /**
   * Takes rows that nobody tried yet: written by other nodes, or behind one that was. Does nothing while the account is
   * not open, since `resume` takes them then. A failure is mended by the next look.
   */
  look(): void {
    this.#mustLookAgain = true;
    if (!this.#isLooking) this.#looking = this.#lookUntilSeen();
  }

  /**
   * Sends again, with the same id, what WhatsApp took and never acknowledged, and gives up what it did not acknowledge
   * five times over five such times. To be called now and then; does nothing while the account is not open. One look at a
   * time.
   */
  chase(): Promise<void> {
    this.#chasing ??= this.#chase().finally(() => {
      this.#chasing = undefined;
    });
    return this.#chasing;
  }

  async #chase(): Promise<void> {
    const { outbox, provider, log, ackTimeoutMs = DEFAULT_ACK_TIMEOUT_MS } = this.#deps;
    if (this.#held || !this.#isConnected) return;
    try {
      const late = await outbox.overdue(provider.accountId, { ackTimeoutMs, limit: PAGE });
      for (const { reply, attempts, openForMs } of late) {
        if (this.#underway.has(reply.outboxId)) continue;
        const { outboxId } = reply;
        if (attempts >= MAX_UNACKNOWLEDGED && openForMs >= MAX_UNACKNOWLEDGED * ackTimeoutMs) {
          const error = `WhatsApp took it ${attempts} times and never acknowledged it.`;
          await outbox.markDead(outboxId, error, 'never-acknowledged');
          log.error({ outboxId, attempts }, 'reply never acknowledged');
        } else {
          log.warn(
            { outboxId, attempts },
            'reply not acknowledged in time; it is sent again with the same id',
          );
          this.#enqueue(reply);
        }
      }
    } catch (error) {
      log.warn({ err: error }, 'unacknowledged replies could not be looked for; it is tried again');
    }
  }

  /**
   * A limit of WhatsApp on the account began or ended while it is connected: with the last one gone, what was on hold goes
   * out. Never rejects; a failure is mended by the next opening.
   */
  async limitChanged(): Promise<void> {
    try {
      await this.#endHoldsUnlessLimited();
    } catch (error) {
      this.#deps.log.warn(
        { err: error },
        'replies on hold could not be taken up; they go with the next opening',
      );
    }
    this.look();
  }

  /** WhatsApp acknowledged these: whoever records the acks has noted the sends with them. */
  acknowledged(waMessageIds: readonly string[]): void {
    this.#notes.acknowledged(waMessageIds);
  }

  /**
   * The account is about to be given up: takes nothing more, and resolves when what it had taken is sent and noted. What
   * comes later stays in the outbox for the next owner, who would else wait for as long as people keep writing.
   */
  async finish(): Promise<void> {
    this.#finishing.abort();
    await this.settled();
  }

  /** Resolves when nothing is being sent and every send is noted. */
  async settled(): Promise<void> {
    await this.#resuming?.catch(() => undefined);
    await this.#looking;
    await Promise.all(this.#lanes.values());
    await this.#notes.finish();
  }

  get #isFinishing(): boolean {
    return this.#finishing.signal.aborted;
  }

  async #resume(): Promise<void> {
    const { outbox, provider } = this.#deps;
    this.#held = [];
    try {
      await this.#endHoldsUnlessLimited();
      let afterId: string | undefined;
      for (;;) {
        const rows = await outbox.undelivered(provider.accountId, { limit: PAGE, afterId });
        for (const row of rows) this.#enqueue(row);
        if (rows.length < PAGE || this.#isFinishing) break;
        afterId = rows.at(-1)?.outboxId;
        // A page at a time keeps memory flat however much piled up while the account was closed.
        await Promise.all(this.#lanes.values());
      }
    } finally {
      const held = this.#held;
      this.#held = undefined;
      this.deliver(held);
      if (this.#mustLookAgain) this.look();
    }
  }

  async #lookUntilSeen(): Promise<void> {
    const { outbox, provider, log } = this.#deps;
    this.#isLooking = true;
    try {
      while (this.#mustLookAgain) {
        this.#mustLookAgain = false;
        if (this.#held || this.#isFinishing || !this.#isConnected) return;
        const rows = await outbox.queued(provider.accountId, PAGE);
        for (const row of rows) this.#enqueue(row);
        if (rows.length < PAGE) continue;
        await Promise.all(this.#lanes.values());
        this.#mustLookAgain = true;
      }
    } catch (error) {
      log.warn({ err: error }, 'queued replies could not be read; they are looked for again');
    } finally {
      // In the same step that found nothing more to do: who asks next begins anew.
      this.#isLooking = false;
    }
  }

  /** Holds are for as long as the limit, which may be ended sooner or have been seen by another clock. */
  async #endHoldsUnlessLimited(): Promise<void> {
    const { outbox, provider } = this.#deps;
    if (provider.status().limitLeftMs === undefined) await outbox.endHolds(provider.accountId);
  }

  /** A restricted account is connected too: WhatsApp limits what goes to strangers only. */
  get #isConnected(): boolean {
    const { state, isConnected } = this.#deps.provider.status();
    return isConnected ?? state === 'open';
  }

  #enqueue(reply: QueuedReply): void {
    if (this.#isFinishing || this.#underway.has(reply.outboxId)) return;
    this.#underway.add(reply.outboxId);
    const before = this.#lanes.get(reply.chatId) ?? Promise.resolve();
    const lane = before
      .then(() => this.#sending.send(reply))
      .finally(() => {
        this.#underway.delete(reply.outboxId);
        if (this.#lanes.get(reply.chatId) === lane) this.#lanes.delete(reply.chatId);
      });
    this.#lanes.set(reply.chatId, lane);
  }
}
