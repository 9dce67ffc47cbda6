import type { BinaryNode } from '@whiskeysockets/baileys';
import { parseJid } from '../../../core/chat-id.ts';
import { Wa2aiError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import type { MessageReceipt } from '../../../core/ports/chat-provider.ts';
import type { OwnJids } from '../inbound/read-stanza.ts';

/**
 * States by the `type` of a receipt stanza. No type is a delivery; `inactive` is a delivery to a client in the
 * background.
 */
const STATES: Record<string, MessageReceipt['state']> = {
  inactive: 'delivered',
  read: 'read',
  played: 'read',
};

/**
 * The receipts of other people for own messages in a `receipt` stanza; none for retry requests and own devices. Pure.
 *
 * The store accepts them from the message's chat only. The members of a group are not checked: WhatsApp's server sets
 * `from` and `participant`, and the id has 72 random bits that only recipients of the message know. One of them may have
 * left the group since. A resend is checked, because it discloses the text.
 */
export function receiptsOf(node: BinaryNode, own: OwnJids, nowMs: number): MessageReceipt[] {
  const { attrs } = node;
  const type = attrs.type;
  const state = type === undefined ? 'delivered' : STATES[type];
  if (!state || !attrs.id || isOwn(attrs.participant ?? attrs.from, own)) return [];
  const ids = [attrs.id];
  for (const list of Array.isArray(node.content) ? node.content : []) {
    for (const item of Array.isArray(list.content) ? list.content : []) {
      if (item.tag === 'item' && item.attrs.id) ids.push(item.attrs.id);
    }
  }
  const atMs = timeOf(attrs.t, nowMs);
  return ids.map((waMessageId) => ({ waMessageId, state, atMs }));
}

/**
 * The server's ack of an own message. Baileys resolves a send when its bytes are written, so the ack is the first proof
 * that WhatsApp has the message. Pure.
 */
export function ackOf(
  node: BinaryNode,
  nowMs: number,
):
  | { kind: 'acked'; receipt: MessageReceipt }
  | { kind: 'refused'; waMessageId: string; code: string }
  | undefined {
  const { id, error, t } = node.attrs;
  if (!id) return undefined;
  if (error) return { kind: 'refused', waMessageId: id, code: error };
  return { kind: 'acked', receipt: { waMessageId: id, state: 'acked', atMs: timeOf(t, nowMs) } };
}

function isOwn(jid: string | undefined, own: OwnJids): boolean {
  const user = userOf(jid);
  return user !== undefined && (user === userOf(own.id) || user === userOf(own.lid));
}

function userOf(jid: string | undefined): string | undefined {
  const address = jid ? parseJid(jid) : undefined;
  if (address?.kind === 'phone') return address.phone;
  return address?.kind === 'lid' ? address.lid : undefined;
}

function timeOf(seconds: string | undefined, nowMs: number): number {
  const atMs = Number(seconds) * 1_000;
  return atMs > 0 && atMs <= nowMs + MAX_AHEAD_MS ? atMs : nowMs;
}

/** How far this machine's clock may be behind WhatsApp's. */
const MAX_AHEAD_MS = 24 * 60 * 60 * 1_000;

/** Nobody waits for a receipt, and the ack and the delivery of one message then need one write. */
const GATHER_MS = 500;
/** Wait before another attempt. It is short: a message without a stored ack is sent again. */
const RETRY_MS = 5_000;
/** Beyond this the oldest receipts are dropped: nothing waits for them. */
const MAX_KEPT = 20_000;

/**
 * Stores receipts in batches, in order. Receipts that could not be stored are added to the next batch, or stored after
 * 5 s. One that can never be stored is dropped, so that the others are.
 */
export class ReceiptBatch {
  readonly #store: (receipts: MessageReceipt[]) => Promise<void>;
  readonly #log: Logger;
  #kept: MessageReceipt[] = [];
  #timer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  #isFinished = false;

  constructor(store: (receipts: MessageReceipt[]) => Promise<void>, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  add(receipts: readonly MessageReceipt[]): void {
    if (receipts.length === 0) return;
    this.#kept.push(...receipts);
    if (this.#kept.length > MAX_KEPT) this.#kept.splice(0, this.#kept.length - MAX_KEPT);
    this.#timer ??= setTimeout(() => this.#flush(), GATHER_MS).unref();
  }

  /** Stores all receipts so far together. Resolves when they are stored, or could not be. */
  async flush(): Promise<void> {
    this.#flush();
    await this.#working;
  }

  /** As `flush`; receipts that could not be stored are not stored later. */
  async finish(): Promise<void> {
    this.#isFinished = true;
    await this.flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#retryTimer);
    this.#timer = undefined;
    this.#working = this.#working.then(async () => {
      const batch = this.#kept.splice(0);
      if (batch.length === 0) return;
      try {
        await this.#store(batch);
      } catch (error) {
        if (error instanceof Wa2aiError && error.disposition === 'dead') {
          await this.#storeEach(batch);
          return;
        }
        this.#kept.unshift(...batch);
        this.#log.warn({ err: error, receipts: batch.length }, 'receipts not stored, retrying');
        if (!this.#isFinished) this.#retryTimer = setTimeout(() => this.#flush(), RETRY_MS).unref();
      }
    });
  }

  async #storeEach(batch: readonly MessageReceipt[]): Promise<void> {
    for (const receipt of batch) {
      try {
        await this.#store([receipt]);
      } catch (error) {
        this.#log.warn({ err: error, state: receipt.state }, 'receipt not stored, dropped');
      }
    }
  }
}
