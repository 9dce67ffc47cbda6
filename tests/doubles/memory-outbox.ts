import { isDeepStrictEqual } from 'node:util';
import { parseJid } from '../../router/src/core/chat-id.ts';
import type { SpecialMessage } from '../../router/src/core/delivery/special-message.ts';
import type { ChatAddress } from '../../router/src/core/messages/inbound-message.ts';
import type { OutgoingMessage } from '../../router/src/core/models.ts';
import { errorOfSaid, type Said, say } from '../../router/src/core/phrases.ts';
import type { FirstContact } from '../../router/src/core/policies/governor.ts';
import type { MessageReceipt } from '../../router/src/core/ports/chat-provider.ts';
import {
  ACKNOWLEDGED_LATE,
  type DeadReplyReason,
  type DirectOptions,
  MAX_REFUSALS,
  type NumberToCheck,
  type Outbox,
  type OutboxRow,
  type OutboxState,
  type SentMessage,
} from '../../router/src/core/ports/outbox.ts';
import type { QueuedReply } from '../../router/src/core/turns/turn.ts';
import { chatOf, ownerWrote } from './memory-chats.ts';
import { queuedReplyOf } from './memory-inbox.ts';
import type { MemoryReply, MemoryState } from './memory-state.ts';

const RANK: Record<OutboxState, number> = {
  queued: 0,
  sending: 1,
  sent: 2,
  acked: 3,
  delivered: 4,
  read: 5,
  dead: 6,
  draft: 7,
};

/** The outbox in memory, with the state changes of PostgresOutbox. */
export class MemoryOutbox implements Outbox {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  async addDirect(
    message: OutgoingMessage,
    { idempotencyKey, byHand, file }: DirectOptions = {},
  ): Promise<{ outcome: 'queued' | 'known' | 'conflict'; row: OutboxRow }> {
    const state = this.#state;
    const chat = chatOf(state, message.accountId, addressOf(message.to), message.to);
    const chatId = String(chat.id);
    const known = [...state.outbox.values()].find(
      (row) =>
        idempotencyKey !== undefined &&
        row.idempotencyKey === idempotencyKey &&
        row.accountId === message.accountId,
    );
    if (known) {
      const isSame =
        known.chatId === chatId &&
        known.text === message.text &&
        known.source === file?.source &&
        isDeepStrictEqual(identityOfSpecial(known.special), identityOfSpecial(message.special));
      return { outcome: isSame ? 'known' : 'conflict', row: asRow(known) };
    }
    if (file && !file.bytes) throw new Error('a new message needs the bytes of its file');
    chat.activeAtMs = state.now();
    const row: MemoryReply = {
      ...message,
      ...(file?.bytes && { file: { bytes: file.bytes } }),
      source: file?.source,
      id: String(state.nextId()),
      chatId,
      state: 'queued',
      attempts: 0,
      queuedAt: state.time(),
      timerSeconds: chat.timerSeconds || undefined,
      idempotencyKey,
      byHand: byHand !== undefined,
    };
    state.outbox.set(row.id, row);
    if (byHand && byHand.pauseMs > 0) ownerWrote(state, chat, { kind: 'takeover', forMs: byHand.pauseMs });
    return { outcome: 'queued', row: asRow(row) };
  }

  async hasDirect(accountId: string, idempotencyKey: string): Promise<boolean> {
    return [...this.#state.outbox.values()].some(
      (row) => row.accountId === accountId && row.idempotencyKey === idempotencyKey,
    );
  }

  async undelivered(accountId: string, page: { limit: number; afterId?: string }): Promise<QueuedReply[]> {
    return [...this.#state.outbox.values()]
      .filter((row) => row.accountId === accountId && RANK[row.state] <= RANK.sent)
      .filter((row) => Number(row.id) > Number(page.afterId ?? 0) && !this.#isHeld(row))
      .slice(0, page.limit)
      .map(queuedReplyOf);
  }

  async queued(accountId: string, limit: number): Promise<QueuedReply[]> {
    return [...this.#state.outbox.values()]
      .filter((row) => row.accountId === accountId && row.state === 'queued' && !this.#waits(row))
      .slice(0, limit)
      .map(queuedReplyOf);
  }

  async markSending(outboxId: string): Promise<boolean> {
    const row = this.#unacknowledged(outboxId);
    if (!row || this.#isHeld(row)) return false;
    for (const other of this.#state.outbox.values()) {
      if (other === row) break;
      if (other.accountId !== row.accountId || other.chatId !== row.chatId || other.state !== 'queued')
        continue;
      row.state = 'queued';
      return false;
    }
    row.attempts += 1;
    row.attemptedAt = this.#state.time();
    row.delayedUntil = undefined;
    if (row.state !== 'sent') row.state = 'sending';
    return true;
  }

  async markSent(outboxId: string): Promise<void> {
    const row = this.#state.outbox.get(outboxId);
    if (!row || row.state === 'dead' || row.delayedUntil) return;
    if (RANK[row.state] < RANK.sent)
      Object.assign(row, { state: 'sent', error: undefined, phrase: undefined });
    row.sentAt ??= this.#state.time();
  }

  async setAlone(outboxId: string, runsAlone: boolean): Promise<void> {
    const row = this.#state.outbox.get(outboxId);
    if (row) row.runsAlone = runsAlone;
  }

  /** The process that had the account ended; of SQL's `lease_count_end`. */
  countEnd(accountId: string): void {
    const open = [...this.#state.outbox.values()].filter(
      (row) =>
        row.accountId === accountId &&
        RANK[row.state] <= RANK.sent &&
        (row.state === 'sending' || row.runsAlone),
    );
    const hasOthers = open.some(({ suspicion = 0 }) => suspicion < 2);
    for (const row of open) {
      const { suspicion = 0, runsAlone } = row;
      if (!runsAlone && suspicion >= 2) continue;
      Object.assign(row, { runsAlone: false, suspicion: suspicion + (runsAlone && !hasOthers ? 2 : 1) });
    }
  }

  async markDead(outboxId: string, error: Said, reason: DeadReplyReason = 'send-failed'): Promise<void> {
    this.#die(this.#unacknowledged(outboxId), reason, error);
  }

  async markRefused(
    accountId: string,
    waMessageId: string,
    error: Said,
    { delayMs, reason = 'send-refused' }: { delayMs?: number; reason?: DeadReplyReason } = {},
  ): Promise<void> {
    const known = this.#byWaId(accountId, waMessageId);
    const row = known && this.#unacknowledged(known.id);
    if (row && delayMs !== undefined && row.attempts < MAX_REFUSALS) {
      Object.assign(row, {
        state: 'queued',
        ...storedErrorOf(error),
        delayedUntil: this.#after(delayMs),
        sentAt: undefined,
      });
    } else this.#die(row, reason, error);
  }

  async refusedRow(
    accountId: string,
    waMessageId: string,
  ): Promise<{ attempts: number; isCold: boolean } | undefined> {
    const row = this.#byWaId(accountId, waMessageId);
    return row && { attempts: row.attempts, isCold: await this.isCold(row.id) };
  }

  async delay(outboxId: string, forMs: number, why: Said): Promise<void> {
    const row = this.#unacknowledged(outboxId);
    if (!row) return;
    const error = storedErrorOf(why);
    Object.assign(row, { state: 'queued', ...error, delayedUntil: this.#after(forMs), sentAt: undefined });
  }

  async endDelays(accountId: string): Promise<void> {
    for (const row of this.#state.outbox.values()) {
      if (row.accountId === accountId && row.state === 'queued') row.delayedUntil = undefined;
    }
  }

  async isCold(outboxId: string): Promise<boolean> {
    const row = this.#state.outbox.get(outboxId);
    const chat = row && this.#state.chats.get(Number(row.chatId));
    return chat !== undefined && !chat.groupId && this.#hasOnlyOwn(chat.id);
  }

  async firstContact(outboxId: string): Promise<(FirstContact & { number?: NumberToCheck }) | undefined> {
    const row = this.#state.outbox.get(outboxId);
    if (!row || row.messageId !== undefined || row.firstContactMs !== undefined) return undefined;
    if (!(await this.isCold(outboxId))) return undefined;
    const nowMs = this.#state.now();
    const earlierMs = [...this.#state.outbox.values()].flatMap(({ accountId, firstContactMs }) =>
      accountId === row.accountId && firstContactMs !== undefined ? [nowMs - firstContactMs] : [],
    );
    const chat = this.#state.chats.get(Number(row.chatId));
    const number = this.#numberOf(row.accountId, chat?.lid ? undefined : chat?.phone);
    return {
      accountAgeMs: 0,
      earlierMs: earlierMs.filter((ms) => ms < 86_400_000),
      ...(number && { number }),
    };
  }

  async numberToCheck(
    accountId: string,
    to: string,
    idempotencyKey?: string,
  ): Promise<NumberToCheck | undefined> {
    const address = addressOf(to);
    if (address.kind !== 'person' || address.phone === undefined) return undefined;
    if (idempotencyKey !== undefined && (await this.hasDirect(accountId, idempotencyKey))) return undefined;
    const { phone } = address;
    const chat = [...this.#state.chats.values()].find(
      (each) => each.accountId === accountId && each.phone === phone,
    );
    const isKnown = chat && (chat.lid || !this.#hasOnlyOwn(chat.id));
    return isKnown ? undefined : this.#numberOf(accountId, phone);
  }

  async keepNumberCheck(accountId: string, phone: string, isOnWhatsApp: boolean): Promise<void> {
    this.#state.numbers.set(`${accountId} ${phone}`, { isOnWhatsApp, atMs: this.#state.now() });
  }

  #numberOf(accountId: string, phone: string | undefined): NumberToCheck | undefined {
    if (phone === undefined) return undefined;
    const known = this.#state.numbers.get(`${accountId} ${phone}`);
    const isFresh = known && this.#state.now() - known.atMs < (known.isOnWhatsApp ? 30 : 1) * 86_400_000;
    return { phone, ...(isFresh && { isOnWhatsApp: known.isOnWhatsApp }) };
  }

  #hasOnlyOwn(chatId: number): boolean {
    return this.#state
      .messagesOf(chatId)
      .every(({ reason }) => reason === 'own-message' || reason === 'owner-message');
  }

  async isUnasked(outboxId: string): Promise<boolean> {
    const row = this.#state.outbox.get(outboxId);
    if (!row || row.messageId !== undefined || row.byHand) return false;
    const dayAgo = this.#state.now() - 86_400_000;
    return this.#state
      .messagesOf(Number(row.chatId))
      .every(
        ({ reason, receivedAt }) =>
          reason === 'own-message' || reason === 'owner-message' || receivedAt.getTime() <= dayAgo,
      );
  }

  async countFirstContact(outboxId: string): Promise<void> {
    const row = this.#state.outbox.get(outboxId);
    if (row) row.firstContactMs ??= this.#state.now();
  }

  async endDelaysOf(chatId: string): Promise<void> {
    for (const row of this.#state.outbox.values()) {
      if (row.chatId === chatId && row.state === 'queued') row.delayedUntil = undefined;
    }
  }

  async overdue(
    accountId: string,
    page: { ackTimeoutMs: number; limit: number },
  ): Promise<Array<{ reply: QueuedReply; attempts: number; openForMs: number }>> {
    const nowMs = this.#state.now();
    const late = [...this.#state.outbox.values()].filter(
      (row) =>
        row.accountId === accountId &&
        (row.state === 'sending' || row.state === 'sent') &&
        row.attemptedAt !== undefined &&
        (row.attemptedAt.getTime() <= nowMs - page.ackTimeoutMs || this.#wasAttemptedBeforeClockSetBack(row)),
    );
    return late.slice(0, page.limit).map((row) => {
      Object.assign(row, storedErrorOf(say('send.again', { ms: page.ackTimeoutMs })));
      const sinceMs = (row.sentAt ?? row.queuedAt).getTime();
      return { reply: queuedReplyOf(row), attempts: row.attempts, openForMs: nowMs - sinceMs };
    });
  }

  async release(outboxId: string, reason: Said): Promise<void> {
    const row = this.#unacknowledged(outboxId);
    if (!row) return;
    Object.assign(row, storedErrorOf(reason));
    if (row.state === 'sending') row.state = 'queued';
  }

  #isOf(row: MemoryReply, from: ChatAddress): boolean {
    const chat = this.#state.chats.get(Number(row.chatId));
    if (from.kind === 'group') return chat?.groupId === from.groupId;
    if (from.phone !== undefined && chat?.phone === from.phone) return true;
    return from.lid !== undefined && chat?.lid === from.lid;
  }

  async recordReceipts(accountId: string, receipts: MessageReceipt[]): Promise<void> {
    const sooner = (known: Date | undefined, at: Date) => (known && known < at ? known : at);
    const batch = new Map<MemoryReply, Pick<MemoryReply, 'ackedAt' | 'deliveredAt' | 'readAt'>>();
    for (const { waMessageId, state, atMs, from } of receipts) {
      const row = this.#byWaId(accountId, waMessageId);
      if (!row || (from && !this.#isOf(row, from))) continue;
      if (row.state === 'dead') this.#revive(row);
      const at = new Date(atMs);
      const times = batch.get(row) ?? {};
      batch.set(row, times);
      times.ackedAt = sooner(times.ackedAt, at);
      if (RANK[state] >= RANK.delivered) times.deliveredAt = sooner(times.deliveredAt, at);
      if (RANK[state] >= RANK.read) times.readAt = sooner(times.readAt, at);
      if (RANK[state] > RANK[row.state]) row.state = state;
    }
    for (const [row, times] of batch) {
      row.error = undefined;
      row.phrase = undefined;
      row.delayedUntil = undefined;
      // WhatsApp's times are whole seconds; they never precede the times of storing and sending.
      const atLeast = (at: Date | undefined, least: Date) => at && (at < least ? least : at);
      const { sentAt = row.queuedAt } = row;
      row.sentAt ??= atLeast(times.ackedAt, row.queuedAt);
      row.ackedAt ??= atLeast(times.ackedAt, sentAt);
      row.deliveredAt ??= atLeast(times.deliveredAt, sentAt);
      row.readAt ??= atLeast(times.readAt, sentAt);
    }
  }

  async findByWaId(accountId: string, waMessageId: string): Promise<SentMessage | undefined> {
    const row = this.#byWaId(accountId, waMessageId);
    if (!row) return undefined;
    const content = row.file?.content;
    return { message: queuedReplyOf(row).message, ...(content && { content }) };
  }

  async fileOf(outboxId: string): Promise<{ bytes: Uint8Array; content?: Uint8Array } | undefined> {
    return this.#state.outbox.get(outboxId)?.file;
  }

  async keepContent(outboxId: string, content: Uint8Array): Promise<Uint8Array> {
    const file = this.#state.outbox.get(outboxId)?.file;
    if (!file) return content;
    file.content ??= content;
    return file.content;
  }

  #after(ms: number): Date {
    return new Date(this.#state.now() + Math.round(ms));
  }

  /** A dead reply did arrive; the receipt sets the state of the row. */
  #revive(row: MemoryReply): void {
    row.state = 'sent';
    for (const letter of this.#state.deadLetters) {
      if (letter.outboxId !== row.id || letter.replayedAt !== undefined) continue;
      letter.replayedAt = this.#state.time();
      const { phrase = letter.error } = letter;
      letter.phrase = { code: 'send.acknowledged-late', values: { error: phrase } };
      letter.error += ACKNOWLEDGED_LATE;
    }
  }

  #isHeld(row: MemoryReply): boolean {
    const isDelayed = row.delayedUntil !== undefined && row.delayedUntil.getTime() > this.#state.now();
    return isDelayed && !this.#wasAttemptedBeforeClockSetBack(row);
  }

  #wasAttemptedBeforeClockSetBack({ attemptedAt }: MemoryReply): boolean {
    return attemptedAt !== undefined && attemptedAt.getTime() > this.#state.now() + 60_000;
  }

  /** Whether the row, or an older row of its chat, is delayed. */
  #waits(row: MemoryReply): boolean {
    return [...this.#state.outbox.values()].some(
      (other) =>
        other.accountId === row.accountId &&
        other.chatId === row.chatId &&
        other.state === 'queued' &&
        Number(other.id) <= Number(row.id) &&
        this.#isHeld(other),
    );
  }

  #byWaId(accountId: string, waMessageId: string): MemoryReply | undefined {
    return [...this.#state.outbox.values()].find(
      (row) => row.accountId === accountId && row.waMessageId === waMessageId,
    );
  }

  #unacknowledged(outboxId: string): MemoryReply | undefined {
    const row = this.#state.outbox.get(outboxId);
    return row && RANK[row.state] <= RANK.sent ? row : undefined;
  }

  #die(row: MemoryReply | undefined, reason: string, said: Said): void {
    if (!row) return;
    Object.assign(row, { state: 'dead', ...storedErrorOf(said) });
    this.#state.addDeadLetter({
      accountId: row.accountId,
      chatId: Number(row.chatId),
      messageId: row.messageId,
      outboxId: row.id,
      reason,
      ...errorOfSaid(said),
      attempts: row.attempts,
    });
  }
}

/** The error of a row, without the phrase of an earlier one. */
function storedErrorOf(said: Said) {
  return { phrase: undefined, ...errorOfSaid(said) };
}

/** A copy of a row as the API shows it. */
export function asRow({
  messageId: _message,
  idempotencyKey: _key,
  file: _file,
  firstContactMs: _first,
  byHand: _byHand,
  special: _special,
  quote: _quote,
  mentions: _mentions,
  source: _source,
  ...row
}: MemoryReply): OutboxRow {
  return row;
}

/** @throws {RangeError} the JID is neither a person nor a group */
function addressOf(jid: string): ChatAddress {
  const address = parseJid(jid);
  if (address?.kind === 'phone') return { kind: 'person', phone: address.phone };
  if (address?.kind === 'lid') return { kind: 'person', lid: address.lid };
  if (address?.kind === 'group') return { kind: 'group', groupId: address.groupId };
  throw new RangeError(say('send.bad-address').sentence);
}

/** What must be equal for two messages to be the same: without what is made for each of them. */
function identityOfSpecial(special: SpecialMessage | undefined): unknown {
  if (!special) return undefined;
  const { secret: _, atMs: __, ...same } = special as SpecialMessage & { secret?: string; atMs?: number };
  return same;
}
