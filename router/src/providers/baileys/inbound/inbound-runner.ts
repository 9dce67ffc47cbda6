import { AsyncResource } from 'node:async_hooks';
import {
  type BinaryNode,
  type MessageUpsertType,
  NACK_REASONS,
  proto,
  type WAMessage,
  type WASocket,
} from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import { jidHash } from '../../../core/chat-id.ts';
import { LeaseLostError, StorageUnavailableError } from '../../../core/errors.ts';
import { isLoggedOccurrence } from '../../../core/logger.ts';
import type { Journal } from '../../../core/ports/inbox.ts';
import { atMost } from '../bounded-cache.ts';
import { isGroupEvent } from '../messages/from-baileys.ts';
import type { AuthState } from '../signal/auth-state.ts';
import type { StoredUnits } from '../signal/group-commit.ts';
import type { AccountSignal } from '../signal/signal-repository.ts';
import { CoreDelivery, type CoreDeliveryOptions } from './core-delivery.ts';
import { InboundState } from './inbound.ts';
import type { InboundEffect, InboundEvent, InboundStanza } from './inbound-events.ts';
import {
  chatAddressesOf,
  chatJidOf,
  describe,
  hasPlaintext,
  journalEntryOf,
  keysOf,
  messageBytes,
  messageKeyOf,
  type OrdinaryStanza,
  ordinaryStanza,
  readJournalEntry,
  readStanza,
  undecryptableRecord,
} from './read-stanza.ts';

const TICK_MS = 1_000;
const PAGE = 500;
/** The next page of the journal is read when fewer messages than this wait for core. */
const REPLAY_BELOW = 200;
/** Maximum of stanzas whose keys are loaded in advance; the keys of more would evict each other from the cache. */
const MAX_WARMING = 200;
const MAX_PEOPLE = 10_000;
/**
 * Processes that end while a journal entry is handled, before it is not handled any more: the first, which all entries count,
 * and three while it is handled alone.
 */
const MAX_ENDS = 4;
/** Maximum of retry requests that wait to be sent. */
const MAX_RETRIES_WAITING = 20;

type Stanza = InboundStanza & Partial<OrdinaryStanza>;

interface Content {
  message: WAMessage;
  type: 'notify' | 'append';
  /** Its journal entry, when a process ended while it was there. */
  suspectHash?: string;
}

type Effect = InboundEffect<Stanza, Content>;

interface InboundRunnerOptions extends CoreDeliveryOptions {
  journal: Journal;
  /** A journal row cannot be read, and its chat is unknown. */
  onJournalUnreadable(waMessageId: string): void;
  /** More arrived than the memory limit: end the connection, and the next one delivers again what was dropped. */
  onOverflow(): void;
  /** The store failed: end the connection. */
  onStorageFailed(error: StorageUnavailableError): void;
  /** A delivery receipt was written to the socket; for crash tests. */
  onReceiptSent(): void;
}

/** The parts of a connection that `InboundRunner` uses. */
interface InboundConnection {
  socket: WASocket;
  signal: AccountSignal;
  auth: Pick<AuthState, 'steps' | 'commits' | 'accountKeys'>;
  /** Baileys' own listener of message stanzas. */
  baileysListener(node: BinaryNode): void;
}

/**
 * Performs the effects of `InboundState` for one account: decryption as Signal steps, receipts and retry requests over the
 * socket, delivery to core, and the journal. The account has one, for all its connections.
 */
export class InboundRunner {
  readonly #options: InboundRunnerOptions;
  readonly #delivery: CoreDelivery;
  /** LIDs by number: a person's number and LID are one chat after a stanza named both. */
  readonly #lidOf = new LRUCache<string, string>(atMost(MAX_PEOPLE));
  readonly #work = new Set<Promise<unknown>>();
  /**
   * A commit may end in the async context of other work, in which its effects must not run. Workaround:
   * refs/baileys-workarounds.md.
   */
  readonly #context = new AsyncResource('wa2ai-inbound');
  #state = new InboundState<Stanza, Content>(0n);
  #events: Array<InboundEvent<Stanza, Content>> = [];
  #isHandling = false;
  #connection: InboundConnection | undefined;
  #commits: AuthState['commits'] | undefined;
  #unlisten: (() => void) | undefined;
  #isActive = false;
  #warming = 0;
  #failures = 0;
  #untaken = 0;
  #retriesWaiting = 0;
  #retries: Promise<unknown> = Promise.resolve();
  #suspectDelivery: Promise<unknown> = Promise.resolve();
  #ticker: NodeJS.Timeout | undefined;
  #isStopping = false;
  #onProgress: (() => void) | undefined;

  constructor(options: InboundRunnerOptions) {
    this.#options = options;
    this.#delivery = new CoreDelivery(options);
  }

  /**
   * Delivers what an earlier process decrypted and core may not have. Call it once, before the first connection.
   * @throws {StorageUnavailableError} the journal could not be read; call again
   */
  async replay(): Promise<void> {
    const { journal, accountId, clock, log, own } = this.#options;
    const last = await journal.lastOrder(accountId);
    const now = BigInt(clock.now()) * 1_000n;
    this.#state = new InboundState(last > now ? last : now);
    this.#ticker ??= setInterval(() => this.#event({ type: 'tick' }), TICK_MS).unref();
    let replayed = 0;
    let afterOrder = 0n;
    for (;;) {
      const entries = await journal.pending(accountId, { afterOrder, limit: PAGE });
      for (const given of entries) {
        const suspicion = 'isDamaged' in given ? 0 : (given.suspicion ?? 0);
        const isSuspect = suspicion > 0;
        const entry = suspicion >= MAX_ENDS ? { ...given, isDamaged: true as const } : given;
        const reading = () => readJournalEntry(entry, own(), (attrs) => this.#chatOf(attrs));
        const read = await (isSuspect ? this.#marked(entry.ciphertextHash, reading) : reading());
        if ('unreadable' in read) {
          this.#recordUnreadable(entry.waMessageId, read.stanza, entry.stanzaOrder);
          continue;
        }
        if ('done' in read) {
          this.#event({ type: 'done-before', stanza: read.done, order: entry.stanzaOrder });
          continue;
        }
        const { stanza, order, message, behind } = read;
        const suspectHash = isSuspect ? { suspectHash: entry.ciphertextHash } : {};
        const content = { message, type: 'append' as const, ...suspectHash };
        this.#event({
          type: 'journalled',
          stanza,
          order,
          content,
          bytes: messageBytes([entry.stanza ?? new Uint8Array()]),
          behind,
        });
        replayed += 1;
      }
      const lastEntry = entries.at(-1);
      if (!lastEntry || entries.length < PAGE || this.#isStopping) break;
      afterOrder = lastEntry.stanzaOrder;
      await this.#untilUnstoredBelow(REPLAY_BELOW);
    }
    if (replayed > 0) {
      log.info({ messages: replayed, openSlots: this.#state.openSlots }, 'journal replayed');
    }
  }

  /** Handles the stanzas of a connection from now on. @returns stops that; call it when the connection has ended */
  attach(connection: InboundConnection): () => void {
    const { socket, auth, baileysListener } = connection;
    this.#commits = auth.commits;
    this.#unlisten?.();
    this.#unlisten = auth.commits.listen({
      durable: (unit, stored) => this.#event({ type: 'committed', unit, stored: this.#begin(stored) }),
      failed: (error) => this.#event({ type: 'commit-failed', isSuspect: isAnswer(error) }),
      rejected: (unit, error) => {
        this.#options.log.error(
          { err: error },
          'message rejected by the database, recorded as undecryptable',
        );
        this.#event({ type: 'rejected', unit });
      },
      untaken: (error) => {
        if (error instanceof LeaseLostError) return;
        this.#untaken += 1;
        if (!isLoggedOccurrence(this.#untaken)) return;
        const about = { err: error, times: this.#untaken };
        this.#options.log.warn(about, 'messages not stored with their keys, storing them in the journal');
      },
    });
    this.#connection = connection;
    this.#isActive = false;
    this.#event({ type: 'opened', durable: auth.commits.durable });
    const onStanza = (node: BinaryNode) => {
      try {
        this.#arrived(connection, node);
      } catch (error) {
        // It would end the process, and WhatsApp would deliver the stanza again.
        this.#options.log.error({ err: error }, 'message stanza cannot be read, refused');
        socket.sendMessageAck(node, NACK_REASONS.ParsingError).catch(() => undefined);
      }
    };
    const onOffline = () => this.#event({ type: 'offline-ended' });
    const onUpdate = ({ isOnline }: { isOnline?: boolean }) => {
      if (isOnline !== undefined) this.#isActive = isOnline;
    };
    socket.ws.on('CB:message', onStanza);
    socket.ws.on('CB:ib,,offline', onOffline);
    socket.ev.on('connection.update', onUpdate);
    return () => {
      socket.ws.off('CB:message', onStanza);
      socket.ws.off('CB:message', baileysListener);
      socket.ws.off('CB:ib,,offline', onOffline);
      socket.ev.off('connection.update', onUpdate);
      this.#connection = undefined;
      this.#event({ type: 'closed' });
    };
  }

  /** The login succeeded: WhatsApp delivers what it queued. */
  loggedIn(): void {
    this.#event({ type: 'logged-in' });
  }

  /** The link has ended: WhatsApp will not deliver anything again. */
  unlinked(): void {
    this.#event({ type: 'unlinked' });
  }

  /** Baileys reported a message: of a stanza that it handled, with content from the account's phone, or a group event. */
  upserted(message: WAMessage, type: MessageUpsertType): void {
    const { remoteJid, participant, id, fromMe } = message.key;
    if (!remoteJid || !id) return;
    const isStub = message.messageStubType === proto.WebMessageInfo.StubType.CIPHERTEXT && !message.message;
    const attrs: BinaryNode['attrs'] = { id, from: remoteJid, t: String(message.messageTimestamp ?? '') };
    if (participant) attrs.participant = participant;
    const stanza: Stanza = {
      attrs,
      key: messageKeyOf(message),
      chat: this.#chatOf(attrs),
      hash: '',
      bytes: 0,
      isOffline: type === 'append',
    };
    if (isStub && !fromMe) this.#event({ type: 'missing', stanza });
    // A file that can be seen once is not sent to linked devices: its message has no content, and the person gets a sentence.
    const isViewOnce = message.key.isViewOnce === true;
    if (!message.message && !isViewOnce && !isGroupEvent(message.messageStubType)) return;
    this.#event({ type: 'content', stanza, content: { message, type }, bytes: messageBytes([]) });
  }

  /** Ends retries of deliveries to core and a replay. Call `stop` afterwards. */
  stopWaiting(): void {
    this.#isStopping = true;
    this.#delivery.stop();
    this.#onProgress?.();
  }

  /** Resolves when every decrypted message that is not behind an open slot is stored, or only in the journal. */
  async stop(): Promise<void> {
    this.stopWaiting();
    this.#event({ type: 'closed' });
    this.#event({ type: 'stopping' });
    clearInterval(this.#ticker);
    while (this.#work.size > 0) await Promise.all(this.#work);
    // A commit may store messages, whose turns must begin then.
    await this.#commits?.settled();
    while (this.#work.size > 0) await Promise.all(this.#work);
    this.#unlisten?.();
  }

  #arrived(connection: InboundConnection, node: BinaryNode): void {
    if (connection !== this.#connection) return;
    const chatOf = (attrs: BinaryNode['attrs']) => this.#chatOf(attrs);
    const own = this.#options.own();
    const stanza = ordinaryStanza(node, own, chatOf);
    if (!stanza && hasPlaintext(node) && !node.attrs.from?.endsWith('@newsletter')) {
      this.#options.log.warn({ waMessageId: node.attrs.id }, 'message without encryption refused');
      connection.socket.sendMessageAck(node, NACK_REASONS.ParsingError).catch(() => undefined);
      return;
    }
    if (!stanza) {
      const hasCiphertext = Array.isArray(node.content) && node.content.some(({ tag }) => tag === 'enc');
      const described = hasCiphertext ? undefined : describe(node, own, chatOf);
      if (described) this.#event({ type: 'announced', key: described.key, chat: described.chat });
      const unavailable = hasCiphertext ? undefined : unavailableOf(node);
      // Baileys knows one of the types of a message that only the phone shows, and drops the others without a trace.
      // Workaround: refs/baileys-workarounds.md.
      if (unavailable?.type?.startsWith('view_once')) unavailable.type = 'view_once';
      if (unavailable?.type === 'hosted_unavailable_fanout' && described) {
        this.#event({ type: 'missing', stanza: described });
      }
      connection.baileysListener(node);
      return;
    }
    this.#warm(connection, stanza);
    this.#event({ type: 'stanza', stanza });
  }

  #warm({ auth }: InboundConnection, stanza: OrdinaryStanza): void {
    if (this.#warming >= MAX_WARMING) return;
    this.#warming += 1;
    const warmed = () => {
      this.#warming -= 1;
    };
    // The step that needs the keys reports the error.
    auth.accountKeys.warm(keysOf(stanza)).then(warmed, warmed);
  }

  #chatOf(attrs: BinaryNode['attrs']): string {
    const { jid, phone, lid } = chatAddressesOf(attrs);
    if (phone && lid) this.#lidOf.set(phone, lid);
    return lid ?? (phone && this.#lidOf.get(phone)) ?? phone ?? jid;
  }

  /** Starts the turns of messages that were stored with their keys. @returns the units of those that core has */
  #begin(stored: StoredUnits): ReadonlySet<number> {
    const units = new Set<number>();
    this.#context.runInAsyncScope(() => {
      for (const [unit, { message, stored: result }] of stored) {
        try {
          this.#delivery.stored(message, result);
          units.add(unit);
        } catch (error) {
          // It is delivered like others then, with attempts; that it is stored changes nothing.
          this.#options.log.error(
            { err: error, waMessageId: message.waMessageId },
            'turn not started, trying again',
          );
        }
      }
    });
    return units;
  }

  /** Handles one event at a time: an effect may cause the next event synchronously. */
  #event(event: InboundEvent<Stanza, Content>): void {
    this.#events.push(event);
    if (!this.#isHandling) this.#context.runInAsyncScope(() => this.#handleEvents());
  }

  #handleEvents(): void {
    this.#isHandling = true;
    try {
      for (let next = this.#events.shift(); next; next = this.#events.shift()) {
        for (const effect of this.#state.handle(next)) this.#perform(effect);
      }
    } finally {
      this.#isHandling = false;
    }
    this.#onProgress?.();
  }

  #perform(effect: Effect): void {
    switch (effect.type) {
      case 'decrypt':
        this.#track(this.#decrypt(effect));
        break;
      case 'receipts':
        this.#sendReceipts(effect.stanzas);
        break;
      case 'ask-retry':
        this.#requestRetry(effect.stanza, this.#connection);
        break;
      case 'refuse':
        this.#refuse(effect.stanza, NACK_REASONS.ParsingError);
        break;
      case 'deliver':
        this.#track(this.#deliver(effect));
        break;
      case 'undecryptable':
        this.#recordUndecryptable(effect.stanza, effect.order);
        break;
      case 'forget':
        this.#track(this.#forget(effect.hashes));
        break;
      case 'disconnect':
        this.#options.log.warn({ bytes: this.#state.bytes }, 'buffer full, messages dropped for redelivery');
        // Wait for the refusals: WhatsApp does not deliver refused stanzas again.
        this.#track(this.#retries.then(() => this.#options.onOverflow()));
        break;
    }
  }

  #track(work: Promise<unknown>): void {
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }

  async #decrypt(effect: Extract<Effect, { type: 'decrypt' }>): Promise<void> {
    const { stanza, order, behind, isContent, isNext } = effect;
    const connection = this.#connection;
    if (!connection || !isOrdinary(stanza)) {
      this.#event({ type: 'not-read', stanza, why: 'not-attempted' });
      return;
    }
    if (stanza.isPlaintext) {
      this.#options.log.warn(this.#about(stanza), 'message without encryption refused');
      this.#event({ type: 'not-read', stanza, why: 'impossible' });
      return;
    }
    // Messages may fail faster than retry requests are sent: waiting ones must not fill the memory.
    if (this.#retriesWaiting >= MAX_RETRIES_WAITING) await this.#retries;
    // Decryption takes milliseconds of processor time: let other work of the process run in between.
    await new Promise((resolve) => setImmediate(resolve));
    const { signal, auth } = connection;
    const own = this.#options.own();
    try {
      const { result, unit } = await auth.steps.run(async (unit) => {
        const decryptor = await signal.decryptor(unit, { ...stanza, chatJid: stanza.attrs.from });
        const { repository, plaintexts } = decryptor;
        const reading = await readStanza(stanza.node, own, repository);
        if (plaintexts.length === 0) decryptor.discard();
        if (reading.kind === 'message' && isContent) {
          unit.journal = journalEntryOf(stanza, order, plaintexts, behind);
          const decrypted = { message: reading.message, order, type: typeOf(stanza) };
          if (isNext) unit.message = await this.#delivery.toStore(decrypted);
        }
        return { reading, bytes: messageBytes(plaintexts), isIdentityNew: decryptor.isIdentityNew };
      });
      const { reading, bytes, isIdentityNew } = result;
      if (isIdentityNew) this.#options.log.warn(this.#about(stanza), 'identity key of a person has changed');
      if (reading.kind === 'spent' || reading.kind === 'failed') {
        return await this.#notRead(stanza, reading.kind);
      }
      const message = reading.kind === 'message' ? reading.message : undefined;
      this.#event({ type: 'decrypted', stanza, unit, bytes, content: this.#contentOf(stanza, message) });
      if (message && stanza.receipt.isOwn) this.#passToBaileys(connection, message, stanza);
      connection.socket.messageRetryManager?.cancelPendingPhoneRequest(stanza.id);
    } catch (error) {
      const about = { err: error, ...this.#about(stanza) };
      if (!(error instanceof StorageUnavailableError)) {
        // A fault of wa2ai or of Baileys, or values that the database rejects: another delivery ends in the same way.
        this.#options.log.error(about, 'message cannot be handled, recorded as undecryptable');
        this.#event({ type: 'not-read', stanza, why: 'impossible' });
        return;
      }
      this.#options.log.debug(about, 'decryption interrupted');
      this.#event({ type: 'not-read', stanza, why: 'not-attempted', isSuspect: isAnswer(error) });
      // Its slot stays open until WhatsApp delivers it again, which needs a new connection.
      this.#options.onStorageFailed(error);
    }
  }

  /**
   * The inbox or the journal may have the message: of an earlier delivery whose receipt was lost, or whose commit succeeded but
   * was reported as failed.
   */
  async #notRead(stanza: OrdinaryStanza, kind: 'spent' | 'failed'): Promise<void> {
    const { journal, accountId, own } = this.#options;
    const entry = await journal.find(accountId, stanza.hash);
    const read = entry && (await readJournalEntry(entry, own(), (attrs) => this.#chatOf(attrs)));
    if (read && 'message' in read) {
      const bytes = messageBytes([entry.plaintext]);
      this.#event({
        type: 'decrypted',
        stanza,
        unit: 0,
        bytes,
        content: this.#contentOf(stanza, read.message),
      });
      return;
    }
    const record = undecryptableRecord(stanza.attrs, own());
    const known = record && { ...record, key: { ...record.key, id: stanza.id } };
    if (known && (await this.#delivery.isStored(known))) {
      // Delivered, it changes nothing, but the worker of its chat runs afterwards: it may never have been started.
      this.#event({ type: 'decrypted', stanza, unit: 0, bytes: 0, content: this.#contentOf(stanza, known) });
      return;
    }
    if (kind === 'failed') this.#logFailure(stanza);
    this.#event({ type: 'not-read', stanza, why: kind });
  }

  /** Log failures 1, 2, 4, 8, ... for the operator: there may be thousands. */
  #logFailure(stanza: OrdinaryStanza): void {
    const { log } = this.#options;
    this.#failures += 1;
    log.debug(this.#about(stanza), 'message not decrypted');
    if (!isLoggedOccurrence(this.#failures)) return;
    log.warn({ failures: this.#failures }, 'messages not decrypted, requesting them again');
  }

  /** The fields of every log line about a message that is not stored yet. */
  #about({ id, key }: OrdinaryStanza): { waMessageId: string; jidHash: string } {
    return { waMessageId: id, jidHash: jidHash(this.#options.accountId, chatJidOf(key)) };
  }

  #contentOf(stanza: Stanza, message: WAMessage | undefined): Content | undefined {
    return message && { message, type: typeOf(stanza) };
  }

  /** Baileys reads settings and keys from the messages of the account's own devices. */
  #passToBaileys({ socket }: InboundConnection, message: WAMessage, stanza: OrdinaryStanza): void {
    socket.upsertMessage(message, typeOf(stanza)).catch((error: unknown) => {
      this.#options.log.debug({ err: error, ...this.#about(stanza) }, 'own message not processed by Baileys');
    });
  }

  /** One stanza for all messages with the same receipt. */
  #sendReceipts(stanzas: readonly Stanza[]): void {
    const groups = new Map<string, { receipt: OrdinaryStanza['receipt']; ids: string[]; jidHash: string }>();
    for (const stanza of stanzas) {
      if (!isOrdinary(stanza)) continue;
      const { receipt, id } = stanza;
      const name = JSON.stringify([receipt.to, receipt.participant, receipt.isOwn]);
      const group = groups.get(name) ?? { receipt, ids: [], jidHash: this.#about(stanza).jidHash };
      groups.set(name, group);
      group.ids.push(id);
    }
    for (const { receipt, ids, jidHash } of groups.values()) {
      const type = receipt.isOwn ? 'sender' : this.#isActive ? undefined : 'inactive';
      this.#send({ kind: 'receipt', waMessageIds: ids, jidHash }, (socket) =>
        socket.sendReceipt(receipt.to, receipt.participant, ids, type).then(() => {
          for (const _ of ids) this.#options.onReceiptSent();
        }),
      );
    }
  }

  /** One at a time: Baileys makes a key for each request, and many of them must not block other work. */
  #requestRetry(stanza: Stanza, connection: InboundConnection | undefined): void {
    this.#retriesWaiting += 1;
    this.#retries = this.#retries.then(async () => {
      this.#retriesWaiting -= 1;
      if (!isOrdinary(stanza) || connection !== this.#connection) return;
      try {
        await connection?.socket.sendRetryRequest(stanza.node, false);
      } catch (error) {
        this.#options.log.debug({ err: error, ...this.#about(stanza) }, 'retry request not sent');
      }
      if (connection === this.#connection) this.#refuse(stanza, NACK_REASONS.UnhandledError);
      stanza.node = { tag: stanza.node.tag, attrs: stanza.attrs };
    });
  }

  #refuse(stanza: Stanza, reason: number): void {
    if (!isOrdinary(stanza)) return;
    const { node } = stanza;
    this.#send({ kind: 'refusal', ...this.#about(stanza) }, (socket) => socket.sendMessageAck(node, reason));
  }

  #send(about: Record<string, unknown>, send: (socket: WASocket) => Promise<void>): void {
    const socket = this.#connection?.socket;
    if (!socket) return;
    send(socket).catch((error: unknown) => {
      // Without it WhatsApp delivers the stanza again.
      this.#options.log.debug({ err: error, ...about }, 'stanza not sent');
    });
  }

  async #deliver({ key, order, content }: Extract<Effect, { type: 'deliver' }>): Promise<void> {
    const { message, type, suspectHash } = content;
    const delivery = () => this.#delivery.deliver({ message, type, order });
    const outcome = await (suspectHash === undefined
      ? delivery()
      : this.#deliverSuspect(suspectHash, delivery));
    if (outcome === 'stopped') this.#event({ type: 'not-delivered', key });
    else this.#event({ type: 'delivered', key, isStored: outcome !== 'refused' });
  }

  /** Delivers the message of a journal entry that was there when a process ended: one such message at a time. */
  #deliverSuspect<T>(ciphertextHash: string, delivery: () => Promise<T>): Promise<T> {
    const delivered = this.#suspectDelivery.then(() => this.#marked(ciphertextHash, delivery));
    this.#suspectDelivery = delivered.catch(() => undefined);
    return delivered;
  }

  /** Stores that a journal entry is handled while `work` runs: if this process ends meanwhile, that counts for this entry. */
  async #marked<T>(ciphertextHash: string, work: () => Promise<T>): Promise<T> {
    const { journal, accountId, log } = this.#options;
    const mark = (runsAlone: boolean) =>
      journal.setAlone(accountId, ciphertextHash, runsAlone).catch((error: unknown) => {
        log.warn({ err: error }, 'not stored whether a journal row is handled alone');
      });
    await mark(true);
    try {
      return await work();
    } finally {
      await mark(false);
    }
  }

  #recordUndecryptable(stanza: Stanza, order: bigint): void {
    const message = stanza.attrs && undecryptableRecord(stanza.attrs, this.#options.own());
    // Delivered out of the chat's order: it does not wait for earlier messages.
    if (message) this.#track(this.#delivery.deliver({ message, order, type: 'notify' }));
  }

  /**
   * The content of the message is lost. Its arrival is recorded in its chat or, when the chat is unknown, as a problem
   * of the account. The row stays: PostgreSQL cannot delete a value with unreadable blocks, and a repair may make it
   * readable.
   */
  #recordUnreadable(waMessageId: string, stanza: OrdinaryStanza | undefined, order: bigint): void {
    const about = stanza ? this.#about(stanza) : { waMessageId };
    this.#options.log.error(about, 'journal row unreadable');
    if (stanza) this.#recordUndecryptable(stanza, order);
    else this.#options.onJournalUnreadable(waMessageId);
  }

  async #forget(hashes: readonly string[]): Promise<void> {
    const { journal, accountId, log } = this.#options;
    try {
      await journal.forget(accountId, hashes);
    } catch (error) {
      // The next start reads them again, and the inbox recognizes their messages.
      log.warn({ err: error, rows: hashes.length }, 'journal rows not deleted');
    }
  }

  async #untilUnstoredBelow(limit: number): Promise<void> {
    while (this.#state.unstored >= limit && !this.#isStopping) {
      await new Promise<void>((resolve) => {
        this.#onProgress = resolve;
      });
    }
    this.#onProgress = undefined;
  }
}

function isAnswer(error: unknown): boolean {
  return error instanceof StorageUnavailableError && error.isAnswer;
}

function typeOf({ isOffline }: Stanza): 'notify' | 'append' {
  return isOffline ? 'append' : 'notify';
}

function isOrdinary(stanza: Stanza): stanza is OrdinaryStanza {
  return stanza.node !== undefined;
}

/** The attributes by which a stanza says why it has no message. */
function unavailableOf({ content }: BinaryNode): BinaryNode['attrs'] | undefined {
  return Array.isArray(content) ? content.find(({ tag }) => tag === 'unavailable')?.attrs : undefined;
}
