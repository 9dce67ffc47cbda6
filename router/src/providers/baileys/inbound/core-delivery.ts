import type { WAMessage } from '@whiskeysockets/baileys';
import { groupJid, jidHash, parseJid } from '../../../core/chat-id.ts';
import { backoffMs, type Clock } from '../../../core/clock.ts';
import { StorageTroubleError, Wa2aiError } from '../../../core/errors.ts';
import { isLoggedOccurrence, type Logger } from '../../../core/logger.ts';
import type { InboundMessage } from '../../../core/messages/inbound-message.ts';
import type { NewMessage, OriginalMessage, Stored } from '../../../core/ports/inbox.ts';
import type { MessageIntake } from '../../../core/ports/key-store.ts';
import type { SentMessage } from '../../../core/ports/outbox.ts';
import type { CurrentWork } from '../../../core/suspects.ts';
import { encryptedEditOf, openEdit } from '../messages/encrypted-edit.ts';
import {
  type FromBaileysContext,
  fromBaileys,
  openVote,
  type PollAnswer,
  pollIdOf,
} from '../messages/from-baileys.ts';
import { chatJidOf, messageKeyOf, type OwnJids } from './read-stanza.ts';

/** Attempts to deliver a message when core fails with an unknown error. */
const MAX_ATTEMPTS = 5;

export interface CoreDeliveryOptions extends MessageIntake {
  accountId: string;
  receive(message: InboundMessage): Promise<void>;
  /** Core cannot store messages until an operator repairs the database. */
  onTrouble(error: StorageTroubleError): void;
  /** Core rejects a message permanently, for the reason in the sentence; it stays in the journal. */
  onRefused(waMessageId: string, sentence: string): void;
  /** The number of a LID, digits, from Baileys' stored mappings; undefined when unknown. */
  phoneOfLid(lid: string): Promise<string | undefined>;
  /** The name of a group, by its JID; undefined when it was not heard of yet. */
  subjectOf?(group: string): string | undefined;
  /** A message of a group, by its JID, is stored. */
  groupStored?(group: string): void;
  /** The message with this WhatsApp id that the account sent. Absent: votes in polls are not opened. */
  findSentMessage?(waMessageId: string): Promise<SentMessage | undefined>;
  /**
   * A stored message (`Inbox.original`). Absent: encrypted edits are not opened, and messages that come again are not found.
   */
  findOriginal?(edit: InboundMessage, waMessageId: string): Promise<OriginalMessage | undefined>;
  own(): OwnJids;
  /** The time of WhatsApp, which dates messages; epoch milliseconds. */
  whatsAppNow(): number;
  current?: CurrentWork;
  clock: Clock;
  log: Logger;
  /** Older messages are stored and not answered. */
  maxMessageAgeMs(): number;
  random(): number;
}

/** A message in the form of Baileys, with its stanza's order; `append`: it was queued at WhatsApp. */
interface Decrypted {
  message: WAMessage;
  order: bigint;
  type: 'notify' | 'append';
}

/** Translates messages for core and delivers them, with retries until core has stored them. */
export class CoreDelivery {
  readonly #options: CoreDeliveryOptions;
  readonly #stopping = new AbortController();

  constructor(options: CoreDeliveryOptions) {
    this.#options = options;
  }

  /**
   * Resolves when core has the message (`received`), when it contains nothing for core (`skipped`), when core rejects it
   * permanently (`refused`), or when `stop` is called between two attempts (`stopped`). After the last two only the
   * journal has it. Never rejects.
   */
  async deliver({
    message,
    order,
    type,
  }: Decrypted): Promise<'received' | 'skipped' | 'refused' | 'stopped'> {
    for (let attempt = 1; ; attempt += 1) {
      this.#options.current?.workingOn(`stanza ${message.key.id}`);
      try {
        const inbound = await this.#translate(message, order, type);
        if (!inbound) return 'skipped';
        await this.#options.receive(inbound);
        this.#noteGroup(inbound);
        return 'received';
      } catch (error) {
        const failure = await this.#failed(message, error, attempt);
        if (failure !== 'retry') return failure;
      }
    }
  }

  /** What the inbox can store together with the keys that decrypted a message; undefined: `deliver` it. Never rejects. */
  async toStore({ message, order, type }: Decrypted): Promise<NewMessage | undefined> {
    this.#options.current?.workingOn(`stanza ${message.key.id}`);
    try {
      const inbound = await this.#translate(message, order, type);
      return inbound && this.#options.toStore(inbound);
    } catch {
      return undefined; // the delivery meets the error too, and handles it
    }
  }

  /** The message of `toStore` is stored. */
  stored(message: InboundMessage, result: Stored): void {
    this.#noteGroup(message);
    this.#options.stored(message, result);
  }

  /** Whether the inbox has what the message with this id and sender says. @throws {StorageUnavailableError} */
  async isStored(message: WAMessage): Promise<boolean> {
    const inbound = await this.#translate(message, 0n, 'notify');
    const known = inbound && (await this.#options.findOriginal?.(inbound, inbound.waMessageId));
    return known ? known.isOfSender && known.isDecrypted : false;
  }

  #noteGroup({ chat }: InboundMessage): void {
    if (chat.kind === 'group') this.#options.groupStored?.(groupJid(chat.groupId));
  }

  /** Ends the waits between attempts. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Handles a failed attempt. Resolves after the wait before the next one, or when there is none. */
  async #failed(
    message: WAMessage,
    error: unknown,
    attempt: number,
  ): Promise<'retry' | 'refused' | 'stopped'> {
    const { accountId, clock, log, random, onRefused, onTrouble } = this.#options;
    const waMessageId = message.key.id ?? '';
    const about = { waMessageId, jidHash: jidHash(accountId, chatJidOf(messageKeyOf(message))) };
    const isRefused = error instanceof Wa2aiError && error.disposition === 'dead';
    const isUnknown = !(error instanceof Wa2aiError);
    if (isRefused || (isUnknown && attempt >= MAX_ATTEMPTS)) {
      log.error({ err: error, ...about }, 'message refused by core, kept in the journal');
      onRefused(waMessageId, isRefused ? error.message : 'A fault inside wa2ai; its log has the cause.');
      return 'refused';
    }
    if (error instanceof StorageTroubleError) onTrouble(error);
    // Log attempts 1, 2, 4, 8, ...
    if (isLoggedOccurrence(attempt)) {
      log.warn({ err: error, ...about, attempt }, 'message not stored, retrying');
    }
    try {
      const waitMs = backoffMs({ attempt, random, baseMs: 200, maxMs: 5_000 });
      await clock.sleep(waitMs, this.#stopping.signal);
      return 'retry';
    } catch {
      return 'stopped';
    }
  }

  async #translate(
    message: WAMessage,
    stanzaOrder: bigint,
    upsertType: 'notify' | 'append',
  ): Promise<InboundMessage | undefined> {
    const { accountId, whatsAppNow } = this.#options;
    const own = this.#options.own();
    const ownAddress = parseJid(own.id);
    const ownLid = parseJid(own.lid);
    const phones = await this.#phonesOf(message);
    const pollAnswer = await this.#pollAnswerOf(message);
    const context: FromBaileysContext = {
      accountId,
      upsertType,
      stanzaOrder,
      nowMs: whatsAppNow(),
      maxMessageAgeMs: this.#options.maxMessageAgeMs(),
      pnForLid: (lid) => phones.get(lid),
      ...(pollAnswer && { pollAnswer }),
      subjectOf: (group) => this.#options.subjectOf?.(group),
      ...(ownAddress?.kind === 'phone' && { ownPhone: ownAddress.phone }),
      ...(ownLid?.kind === 'lid' && { ownLid: ownLid.lid }),
    };
    const result = fromBaileys(message, context);
    return result.kind === 'message' ? this.#opened(message, result.message, context) : undefined;
  }

  /** An encrypted edit as a plain one, or with the step of its trace that says why it could not be opened; other messages as they are. */
  async #opened(
    message: WAMessage,
    inbound: InboundMessage,
    context: FromBaileysContext,
  ): Promise<InboundMessage> {
    const edit = encryptedEditOf(message);
    const isIgnored = inbound.ignoredReason === 'encrypted-edit';
    if (!edit || !(isIgnored || inbound.ignoredReason === 'own-message')) return inbound;
    const opened = openEdit(edit, await this.#options.findOriginal?.(inbound, edit.of), inbound.sender);
    if ('step' in opened) return isIgnored ? { ...inbound, ignoredStep: opened.step } : inbound;
    const result = fromBaileys({ ...message, message: opened.message }, context);
    return result.kind === 'message' ? result.message : inbound;
  }

  /** What a person chose in a poll that the account sent. */
  async #pollAnswerOf(message: WAMessage): Promise<PollAnswer | undefined> {
    const { findSentMessage, own } = this.#options;
    const pollId = message.key.fromMe ? undefined : pollIdOf(message);
    const poll = pollId && (await findSentMessage?.(pollId))?.message.special;
    if (!pollId || !poll || poll.kind !== 'poll') return undefined;
    return openVote(message, pollId, poll, [own().lid, own().id]);
  }

  /** The numbers of the message's LIDs that have none in the message. */
  async #phonesOf(message: WAMessage): Promise<Map<string, string>> {
    const { remoteJid, remoteJidAlt, participant, participantAlt } = message.key;
    const phones = new Map<string, string>();
    for (const [jid, alternate] of [
      [remoteJid, remoteJidAlt],
      [participant, participantAlt],
    ]) {
      const address = jid && !alternate ? parseJid(jid) : undefined;
      if (address?.kind !== 'lid') continue;
      const phone = await this.#options.phoneOfLid(address.lid);
      if (phone) phones.set(address.lid, phone);
    }
    return phones;
  }
}
