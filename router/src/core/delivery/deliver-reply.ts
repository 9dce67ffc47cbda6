import { z } from 'zod';
import { type ChatId, chatHash } from '../chat-id.ts';
import type { Clock } from '../clock.ts';
import { type NodeBus, nodeMessage } from '../cluster/node-bus.ts';
import { StorageUnavailableError } from '../errors.ts';
import { KeyedQueue } from '../keyed-queue.ts';
import type { Logger } from '../logger.ts';
import type { OutgoingMessage } from '../models.ts';
import { say } from '../phrases.ts';
import type { ChatProvider } from '../ports/chat-provider.ts';
import type { Fence, Lease } from '../ports/cluster.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { CurrentWork, Suspects } from '../suspects.ts';
import type { QueuedReply } from '../turns/turn.ts';
import type { ContactGovernor } from './govern-contacts.ts';
import type { SendRateLimiter } from './limit-send-rate.ts';
import { ReplySender, replyFields, SentMarker } from './send-reply.ts';

/** Rows in one read when a connection opens; more follow in further pages. */
const PAGE = 200;
/** New replies kept in memory while older ones are read; further ones are found in the outbox afterwards. */
const MAX_WAITING = 1_000;
/** Sends of one message that WhatsApp did not acknowledge before it is dead. */
const MAX_UNACKNOWLEDGED = 5;
const DEFAULT_ACK_TIMEOUT_MS = 30_000;
/** Between attempts while the database does not answer. */
const STORAGE_WAIT_MS = 1_000;

/** The outbox has replies for the node that runs the account. */
export const repliesQueued = nodeMessage('replies-queued', { accountId: z.string() });

export interface DeliverRepliesDeps {
  /** The accounts of this node. */
  accounts: {
    delivery(
      accountId: string,
    ): Pick<ReplyDelivery, 'deliver' | 'openSlot' | 'deliverNow' | 'sendUnstored'> | undefined;
  };
  /** For accounts of other nodes. */
  bus: Pick<NodeBus, 'publish'>;
}

/**
 * Starts the delivery of stored replies of one account on the node that runs it. Returns immediately. Nothing is lost when
 * that node does not receive the message, because it polls the outbox.
 * @param slot under which the replies were stored
 */
export function deliverReplies(
  { accounts, bus }: DeliverRepliesDeps,
  replies: readonly QueuedReply[],
  slot?: SendSlot,
): void {
  const [first] = replies;
  if (!first) {
    slot?.close();
    return;
  }
  const { accountId } = first.message;
  const delivery = accounts.delivery(accountId);
  if (delivery) delivery.deliver(replies, slot);
  else bus.publish(repliesQueued({ accountId }));
}

interface DeliverDeps {
  outbox: Outbox;
  provider: Pick<ChatProvider, 'accountId' | 'send' | 'upload' | 'status' | 'untilLimitsKnown'>;
  /** Absent: messages to people who never wrote are sent immediately. */
  governor?: Pick<ContactGovernor, 'maySend'>;
  /** Absent: every message leaves immediately. */
  sendRate?: Pick<SendRateLimiter, 'admit' | 'type' | 'isFree'>;
  /** The account's lease. Without it no reply is stored as `sending`. */
  fence?: Lease & Pick<Fence, 'isHeld'>;
  current?: CurrentWork;
  /** Absent: a reply during which processes ended is sent as any other. */
  suspects?: Suspects;
  clock: Clock;
  log: Logger;
  /** How long WhatsApp may take to acknowledge a message before it is sent again, in milliseconds. Default 30,000. */
  ackTimeoutMs?: number;
}

/**
 * Outbox → provider for one account: one send at a time in a chat, in outbox order; chats in parallel. The row is
 * authoritative; memory only makes its delivery faster. A message that a crash or a lost connection left unacknowledged
 * is sent again, with the same WhatsApp id, when the connection opens.
 */
export class ReplyDelivery {
  readonly #deps: DeliverDeps;
  /** The send queue of each chat, by chat id. */
  readonly #queues = new KeyedQueue();
  /** Rows that are queued or being sent in this process: a row taken from its turn and again by `resume` is sent once. */
  readonly #queued = new Set<string>();
  /** Slots of turns whose end is being stored. */
  readonly #slots = new Set<ReservedSlot>();
  /** New replies wait here while `resume` reads the older ones, so that they do not overtake them. */
  #waiting: QueuedReply[] | undefined;
  readonly #marker: SentMarker;
  readonly #sender: ReplySender;
  /** Counts the openings of the connection. */
  #opening = 0;
  #resuming: Promise<void> | undefined;
  #polling: Promise<void> | undefined;
  #resending: Promise<void> | undefined;
  #isPolling = false;
  #mustPollAgain = false;
  readonly #finishing = new AbortController();

  constructor(deps: DeliverDeps) {
    this.#deps = deps;
    this.#marker = new SentMarker(deps);
    this.#sender = new ReplySender({
      ...deps,
      marker: this.#marker,
      isConnected: () => this.#isConnected,
      pollQueue: () => this.pollQueue(),
      finishing: this.#finishing.signal,
    });
  }

  /**
   * A slot for the chat's next reply, whose row may then be stored as `sending`: undefined while it would not be sent at
   * once (not connected, older replies first, WhatsApp or the send rate limits the account). When the process ends before it is sent, it is
   * among the `undelivered` rows of the next opening. Pass the slot to `deliver` or close it; when it is unknown whether
   * the row was stored, leave it open until `finish`: a later reply of the chat must not be sent before that row.
   */
  openSlot(chatId: ChatId): SendSlot | undefined {
    const { fence, provider, sendRate } = this.#deps;
    if (!fence?.isHeld() || this.#waiting || this.#isFinishing || !this.#isConnected) return undefined;
    if (sendRate && !sendRate.isFree) return undefined;
    if (this.#queues.isBusy(chatId) || provider.status().limitLeftMs !== undefined) return undefined;
    const { accountId, owner, epoch } = fence;
    const slot = new ReservedSlot({ accountId, owner, epoch }, this.#opening);
    this.#slots.add(slot);
    void this.#queues.run(chatId, () => this.#sendInSlot(chatId, slot));
    return slot;
  }

  /**
   * Queues replies that were just stored. While the account is not open they stay in the outbox until `resume`.
   * @param slot under which they were stored: they are sent in it. A slot of an earlier opening, or of an earlier lease,
   *   is ignored
   */
  deliver(replies: readonly QueuedReply[], slot?: SendSlot): void {
    if (slot instanceof ReservedSlot && this.#slots.has(slot)) {
      const isCurrent = slot.opening === this.#opening && this.#isConnected;
      if (isCurrent) for (const { outboxId } of replies) this.#queued.add(outboxId);
      // If not, `resume` has waited for this and reads the rows.
      slot.fill(isCurrent ? replies : []);
      return;
    }
    replies = replies.map(({ isSending: _, ...reply }) => reply);
    if (this.#waiting) {
      if (this.#waiting.length < MAX_WAITING) this.#waiting.push(...replies);
      else this.#mustPollAgain = true;
      return;
    }
    if (!this.#isConnected) return;
    for (const reply of replies) void this.#enqueue(reply);
  }

  /**
   * Queues a reply that was just stored, as `deliver`.
   * @returns whether it was sent; false: it is not sent yet, and is in the outbox
   */
  async deliverNow(reply: QueuedReply): Promise<boolean> {
    if (!this.#waiting && this.#isConnected) return await this.#enqueue(reply);
    this.deliver([reply]);
    return false;
  }

  /**
   * Sends a message that is not stored, such as an interim edit: now or never, and not while other replies of its chat, or of
   * an account at its send rate, are sent. Never rejects.
   */
  async sendUnstored(chatId: ChatId, message: OutgoingMessage): Promise<void> {
    const { fence, provider, sendRate, log } = this.#deps;
    const isOpen = fence?.isHeld() && this.#isConnected && !this.#waiting && !this.#isFinishing;
    if (!isOpen || this.#queues.isBusy(chatId) || sendRate?.isFree === false) return;
    try {
      await this.#queues.run(chatId, () => provider.send(message));
    } catch (error) {
      log.warn({ err: error, chat: chatHash(chatId) }, 'interim edit of a reply not sent');
    }
  }

  /**
   * The connection opened: sends everything that is not acknowledged, oldest first, then the replies that came meanwhile.
   * What was queued for an earlier connection is not sent on this one: it would overtake rows that were lost with that one.
   */
  resume(): Promise<void> {
    if (!this.#isFinishing) {
      this.#opening += 1;
      this.#queued.clear();
    }
    this.#resuming ??= this.#resume();
    return this.#resuming;
  }

  /**
   * Queues rows without an attempt: written by other nodes, or after such a row in their chat. Does nothing while the
   * account is not open, since `resume` queues them then. Never throws; after a failure the next call reads them.
   */
  pollQueue(): void {
    this.#mustPollAgain = true;
    if (!this.#isPolling) this.#polling = this.#pollUntilSeen();
  }

  /**
   * Sends messages again, with the same id, that WhatsApp accepted and did not acknowledge in time; those that it did not
   * acknowledge five times in five such times end as dead letters. Does nothing while the account is not open. Never
   * rejects.
   */
  resendUnacknowledged(): Promise<void> {
    this.#resending ??= this.#resend().finally(() => {
      this.#resending = undefined;
    });
    return this.#resending;
  }

  async #resend(): Promise<void> {
    const { outbox, provider, log, ackTimeoutMs = DEFAULT_ACK_TIMEOUT_MS } = this.#deps;
    if (this.#waiting || !this.#isConnected) return;
    try {
      const opening = this.#opening;
      const overdue = await outbox.overdue(provider.accountId, { ackTimeoutMs, limit: PAGE });
      for (const { reply, attempts, openForMs } of overdue) {
        // `resume` sends them all again.
        if (opening !== this.#opening) return;
        const { outboxId } = reply;
        if (this.#queued.has(outboxId)) continue;
        const fields = { ...replyFields(reply), attempts };
        if (attempts >= MAX_UNACKNOWLEDGED && openForMs >= MAX_UNACKNOWLEDGED * ackTimeoutMs) {
          const error = say('send.never-acknowledged', { count: attempts });
          await outbox.markDead(outboxId, error, 'never-acknowledged');
          log.error(fields, 'reply never acknowledged');
        } else {
          log.warn(fields, 'reply not acknowledged in time, sending it again');
          void this.#enqueue(reply);
        }
      }
    } catch (error) {
      log.warn({ err: error }, 'cannot read unacknowledged replies, retrying');
    }
  }

  /**
   * A limit of WhatsApp on the account started or ended while it is connected: when the last one ended, delayed rows are
   * sent. Never rejects; after a failure the next opening of the connection sends them.
   */
  async limitChanged(): Promise<void> {
    try {
      await this.#endDelaysUnlessLimited();
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'cannot end the delay of replies, retrying at the next connection');
    }
    this.pollQueue();
  }

  /** WhatsApp acknowledged these; the acks are stored by the caller. */
  acknowledged(waMessageIds: readonly string[]): void {
    this.#marker.acknowledged(waMessageIds);
  }

  /**
   * The account is about to be released: accepts no more replies, and resolves when everything queued is sent and marked.
   * Replies that come later stay in the outbox for the next node.
   */
  async finish(): Promise<void> {
    this.#finishing.abort();
    for (const slot of this.#slots) slot.fill(undefined);
    await this.idle();
  }

  /** Resolves when nothing is being sent and every send is marked. */
  async idle(): Promise<void> {
    await this.#resuming?.catch(() => undefined);
    await this.#polling;
    await this.#queues.idle();
    await this.#marker.finish();
  }

  get #isFinishing(): boolean {
    return this.#finishing.signal.aborted;
  }

  async #resume(): Promise<void> {
    const { outbox, provider } = this.#deps;
    this.#waiting = [];
    try {
      // Their rows may be stored as `sending` at any time until then: only this reads them.
      await Promise.all([...this.#slots].map(({ replies }) => replies));
      await this.#whileConnected(() => this.#endDelaysUnlessLimited());
      let opening = this.#opening;
      let afterId: string | undefined;
      for (;;) {
        const page = { limit: PAGE, afterId };
        const rows = await this.#whileConnected(() => outbox.undelivered(provider.accountId, page));
        if (opening === this.#opening) {
          for (const row of rows) void this.#enqueue(row);
          if (rows.length < PAGE || this.#isFinishing) break;
          afterId = rows.at(-1)?.outboxId;
          // One page at a time keeps memory flat, however many rows were stored while the account was closed.
          await this.#queues.idle();
        }
        if (opening !== this.#opening) {
          // Rows of earlier pages were queued for the connection that ended: they are read again, before later ones.
          opening = this.#opening;
          afterId = undefined;
        }
      }
    } finally {
      this.#resuming = undefined;
      const waiting = this.#waiting;
      this.#waiting = undefined;
      this.deliver(waiting);
      if (this.#mustPollAgain) this.pollQueue();
    }
  }

  /**
   * Repeats `ask` until the database answers: newer replies of a chat must not be sent before the older ones are read.
   * @throws {StorageUnavailableError} the account is not open any more
   */
  async #whileConnected<T>(ask: () => Promise<T>): Promise<T> {
    const { clock, log } = this.#deps;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof StorageUnavailableError)) throw error;
        await clock.sleep(STORAGE_WAIT_MS, this.#finishing.signal).catch(() => undefined);
        if (this.#isFinishing || !this.#isConnected) throw error;
        log.warn({ err: error }, 'cannot read stored replies, retrying');
      }
    }
  }

  async #pollUntilSeen(): Promise<void> {
    const { outbox, provider, log } = this.#deps;
    this.#isPolling = true;
    try {
      while (this.#mustPollAgain) {
        // `resume` polls when it has read the older rows.
        if (this.#waiting) return;
        this.#mustPollAgain = false;
        if (this.#isFinishing || !this.#isConnected) return;
        const opening = this.#opening;
        const rows = await outbox.queued(provider.accountId, PAGE);
        if (opening !== this.#opening) {
          // On the new connection they would overtake rows that were lost with the old one.
          this.#mustPollAgain = true;
          continue;
        }
        for (const row of rows) void this.#enqueue(row);
        if (rows.length < PAGE) continue;
        await this.#queues.idle();
        this.#mustPollAgain = true;
      }
    } catch (error) {
      log.warn({ err: error }, 'cannot read queued replies, retrying');
    } finally {
      // In the same step that found nothing more to do, so that the next call starts again.
      this.#isPolling = false;
    }
  }

  /** A delay lasts as long as its limit, which may end sooner or have been measured by another clock. */
  async #endDelaysUnlessLimited(): Promise<void> {
    const { outbox, provider } = this.#deps;
    if (provider.status().limitLeftMs === undefined) await outbox.endDelays(provider.accountId);
  }

  /** A restricted account is connected too: WhatsApp limits messages to strangers only. */
  get #isConnected(): boolean {
    const { state, isConnected } = this.#deps.provider.status();
    return isConnected ?? state === 'open';
  }

  async #enqueue(reply: QueuedReply): Promise<boolean> {
    const { outboxId, chatId } = reply;
    if (this.#isFinishing || this.#queued.has(outboxId)) return false;
    this.#queued.add(outboxId);
    const opening = this.#opening;
    return this.#queues.run(chatId, () => this.#send(reply, opening));
  }

  async #sendInSlot(chatId: ChatId, slot: ReservedSlot): Promise<void> {
    const replies = await slot.replies;
    this.#slots.delete(slot);
    if (!replies) this.#sender.closeChat(chatId);
    else for (const reply of replies) await this.#send(reply, slot.opening);
  }

  async #send(reply: QueuedReply, opening: number): Promise<boolean> {
    const { outboxId } = reply;
    const isCurrent = () => opening === this.#opening;
    // It may have been read from the outbox too, while its turn had a slot.
    if (!isCurrent() || !this.#queued.has(outboxId)) return false;
    const isSent = await this.#sender.send(reply, isCurrent);
    if (isCurrent()) this.#queued.delete(outboxId);
    return isSent;
  }
}

/**
 * The next position in the send queue of a chat, reserved for a turn: the row of its first reply may be stored as
 * `sending` under this lease. Other replies of the chat wait until the slot is delivered or closed.
 */
export interface SendSlot {
  lease: Lease;
  /** No reply was stored under it. */
  close(): void;
}

/** The slot as the delivery of its account uses it. */
export class ReservedSlot implements SendSlot {
  readonly lease: Lease;
  /** The opening of the connection that it is for. */
  readonly opening: number;
  /** The replies to send in this slot; undefined: the account is released first. */
  readonly replies: Promise<readonly QueuedReply[] | undefined>;
  #resolve!: (replies: readonly QueuedReply[] | undefined) => void;

  constructor(lease: Lease, opening: number) {
    this.lease = lease;
    this.opening = opening;
    this.replies = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** The first call counts. */
  fill(replies: readonly QueuedReply[] | undefined): void {
    this.#resolve(replies);
  }

  close(): void {
    this.fill([]);
  }
}
