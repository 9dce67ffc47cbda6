import type { BinaryNode, WASocket } from '@whiskeysockets/baileys';
import {
  AlreadyLinkedError,
  LeaseLostError,
  NotConnectedError,
  StorageTroubleError,
  Wa2aiError,
} from '../../core/errors.ts';
import type { OutgoingMessage } from '../../core/models.ts';
import type { Fence } from '../../core/ports/account-lease.ts';
import type { AccountStore } from '../../core/ports/account-store.ts';
import type { AccountStatus, ChatProvider, ProviderEvents } from '../../core/ports/chat-provider.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Journal } from '../../core/ports/journal.ts';
import type { KeyStore } from '../../core/ports/key-store.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { SentMessage } from '../../core/ports/outbox.ts';
import type { StorageHealth } from '../../core/ports/storage-health.ts';
import { AccountLimits } from './account/account-limits.ts';
import { AccountProblems } from './account/account-problems.ts';
import { AccountStatusTracker } from './account/account-status.ts';
import { LinkedAccount } from './account/linked-account.ts';
import { type PairBy, Pairing } from './account/pairing.ts';
import { ConnectionManager, type ConnectionPhase } from './connection/connection.ts';
import { guardConsole } from './connection/console-guard.ts';
import { HeldOffError, restrictionOf } from './connection/disconnect-table.ts';
import { type OpenedSocket, openSocket } from './connection/open-socket.ts';
import { createSocketMemory } from './connection/socket-config.ts';
import { listenTo } from './connection/socket-listeners.ts';
import { WhatsAppTime } from './connection/whatsapp-time.ts';
import { InboundRunner } from './inbound/inbound-runner.ts';
import { reloadFile } from './media/media-reload.ts';
import { uploadFile } from './media/media-upload.ts';
import { ackOf, ReceiptBatch, receiptsOf } from './outbound/receipts.ts';
import { ResendContent } from './outbound/resend-content.ts';
import { Sender } from './outbound/sender.ts';

export interface BaileysProviderOptions {
  accountId: string;
  events: ProviderEvents;
  keyStore: KeyStore;
  accountStore: AccountStore;
  journal: Journal;
  /** The message sent under this WhatsApp id, for a device that could not read it; undefined when unknown. */
  findSentMessage(waMessageId: string): Promise<SentMessage | undefined>;
  clock: Clock;
  log: Logger;
  /** Another WebSocket server than WhatsApp's. */
  whatsappWsUrl?: string;
  /** WhatsApp Web version to name; default the one Baileys brings. */
  version?: readonly [number, number, number];
  /** Older messages are stored and not answered. */
  maxMessageAgeMs: number;
  /** Digits of a number: pair by code for it instead of by QR. */
  pairingPhone?: string;
  /** Makes the socket. Default: a Baileys socket. */
  connect?: typeof openSocket;
  /** Default Math.random. */
  random?(): number;
  /** A message's delivery receipt was written; for crash tests. */
  onReceiptSent?(): void;
  /** Asked before each connection: nothing is received that could not be stored. Default: not asked. */
  storage?: Pick<StorageHealth, 'check'>;
  /** The right to hold this account's socket: asked for each piece that leaves it. Default: always held. */
  fence?: Pick<Fence, 'isHeld'>;
}

/** One WhatsApp account on an unmodified Baileys socket. */
export function createBaileysProvider(options: BaileysProviderOptions): ChatProvider {
  return new BaileysProvider(options);
}

const LOGOUT_WAIT_MS = 5_000;
/** A limit whose end WhatsApp did not name. */
const DEFAULT_LIMIT_MS = 60 * 60 * 1_000;

class BaileysProvider implements ChatProvider {
  readonly accountId: string;
  readonly #options: BaileysProviderOptions;
  readonly #log: Logger;
  readonly #status: AccountStatusTracker;
  readonly #problems = new AccountProblems(() => this.#status.tell());
  readonly #pairing: Pairing;
  readonly #account: LinkedAccount;
  readonly #limits: AccountLimits;
  readonly #inbound: InboundRunner;
  readonly #receipts: ReceiptBatch;
  readonly #resend: ResendContent;
  readonly #connection: ConnectionManager<WASocket>;
  readonly #sender: Sender;
  readonly #whatsAppTime: WhatsAppTime;
  readonly #memory = createSocketMemory();
  #opened: OpenedSocket | undefined;
  /** The socket that was ended because of the database, while it is the present one. */
  #endedForStorage: OpenedSocket | undefined;
  #isOpen = false;
  #isReplayed = false;
  #isStopping = false;
  #isAbandoned = false;
  #releaseConsole: (() => void) | undefined;

  constructor(options: BaileysProviderOptions) {
    const { accountId, accountStore: store, clock, log, events, pairingPhone } = options;
    const random = options.random ?? Math.random;
    this.accountId = accountId;
    this.#options = options;
    this.#log = log;
    this.#status = new AccountStatusTracker({
      accountId,
      store,
      onChange: () => events.status(this.status()),
      problems: () => this.#problems.sentences(),
      clock,
      log,
    });
    const by: PairBy = pairingPhone ? { method: 'code', phone: pairingPhone } : { method: 'qr' };
    this.#pairing = new Pairing(this.#status, clock, by);
    this.#limits = new AccountLimits({ accountId, store, clock, log, onChange: () => this.#showOpen() });
    this.#account = new LinkedAccount({
      ...options,
      onLoaded: (record, limits) => {
        this.#status.remember(record);
        this.#limits.restore(limits);
      },
      onStorageFailed: (error) => this.#onStorageFailed(error),
      onKeyUnreadable: (category) => {
        log.error({ category }, 'stored WhatsApp key unreadable, treated as absent');
        this.#problems.keyUnreadable(category);
      },
    });
    this.#sender = new Sender({
      clock,
      onSendTimeout: () => this.#connection.breakOff('A message was being sent without end'),
    });
    this.#resend = new ResendContent({
      findSentMessage: options.findSentMessage,
      isSamePerson: (jid, other) => this.#account.isSamePerson(jid, other),
      membersOf: async (group) => {
        const known =
          this.#memory.groups.get(group) ?? (await this.#openSocket().socket.groupMetadata(group));
        return known.participants.flatMap(({ id, lid, phoneNumber }) => [id, lid ?? '', phoneNumber ?? '']);
      },
      log,
    });
    this.#whatsAppTime = new WhatsAppTime(clock);
    this.#receipts = new ReceiptBatch((receipts) => events.receipts(receipts), log);
    this.#inbound = new InboundRunner({
      ...options,
      random,
      receive: (message) => events.receive(message),
      onTrouble: (error) => this.#onStorageFailed(error),
      onStorageFailed: (error) => this.#onStorageFailed(error),
      onRefused: (waMessageId, sentence) => this.#problems.messageRefused(waMessageId, sentence),
      onJournalUnreadable: (waMessageId) => this.#problems.journalUnreadable(waMessageId),
      onOverflow: () => this.#connection.breakOff('More messages came at once than memory may take'),
      onReceiptSent: () => options.onReceiptSent?.(),
      phoneOfLid: (lid) => this.#account.phoneOfLid(lid),
      own: () => this.#account.jids(),
      whatsAppNow: () => this.#whatsAppTime.now(),
    });
    this.#connection = new ConnectionManager<WASocket>({
      open: () => this.#open(),
      attach: (socket) => this.#attach(socket),
      isLinked: () => this.#account.isLinked(),
      closed: () => this.#closed(),
      putKeysAside: () => this.#putKeysAside(),
      onPhase: (phase) => this.#onPhase(phase),
      clock,
      log,
      random,
    });
  }

  status(): AccountStatus {
    const status = this.#status.status();
    const limit = this.#limits.newContacts.current();
    return limit ? { ...status, limitLeftMs: limit.leftMs } : status;
  }

  async start(): Promise<void> {
    this.#releaseConsole ??= guardConsole(this.#log);
    this.#status.set({ state: 'starting' });
    if (await this.#waitsForLink()) return;
    await this.#connection.start();
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#limits.stop();
    // A replay that waits for core would delay the connection's end.
    this.#inbound.stopWaiting();
    await this.#connection.stop();
    await this.#inbound.stop();
    await this.#receipts.finish();
    await this.#account.auth?.flush();
    this.#status.set({ state: 'stopped' });
    await Promise.all([this.#status.saved(), this.#limits.saved()]);
    this.#releaseConsole?.();
  }

  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    this.#isOpen = false;
    this.#opened?.socket.end(new LeaseLostError(this.accountId)).catch(() => undefined);
    await this.stop();
  }

  async send(message: OutgoingMessage, content?: Uint8Array): Promise<void> {
    await this.#sender.send(message, content, this.#openSocket().socket);
  }

  async upload(message: OutgoingMessage, bytes: Uint8Array): Promise<Uint8Array> {
    const { clock } = this.#options;
    return uploadFile(message, bytes, this.#openSocket().socket, { clock, log: this.#log });
  }

  async reloadMedia(reference: string): Promise<string> {
    const { socket } = this.#openSocket();
    return reloadFile(reference, socket, { clock: this.#options.clock, ownJid: this.#account.jids().id });
  }

  async setTyping(to: string, isTyping: boolean): Promise<void> {
    if (!this.#opened || !this.#isOpen) return;
    try {
      await this.#opened.socket.sendPresenceUpdate(isTyping ? 'composing' : 'paused', to);
    } catch (error) {
      this.#log.debug({ err: error }, 'typing not shown');
    }
  }

  async pair(by: PairBy): Promise<AccountStatus> {
    if ((await this.#account.loadOrReplace()).isLinked()) throw new AlreadyLinkedError(this.accountId);
    this.#pairing.by = by;
    await this.#connection.restart();
    return this.#pairing.untilCode();
  }

  async logout(): Promise<AccountStatus> {
    await this.#account.loadOrReplace();
    this.#pairing.by = { method: 'qr' };
    if (this.#opened && this.#isOpen) {
      const unlinked = this.#opened.socket.logout().catch((error: unknown) => {
        this.#log.warn({ err: error }, 'logout not sent to WhatsApp, unlink the device on the phone too');
      });
      await Promise.race([unlinked, this.#options.clock.sleep(LOGOUT_WAIT_MS)]);
    }
    await this.#connection.restart(() => this.#putKeysAside());
    return this.#pairing.untilCode();
  }

  async restart(): Promise<AccountStatus> {
    this.#limits.forget();
    await this.#connection.restart();
    return this.status();
  }

  async #putKeysAside(): Promise<void> {
    await this.#account.putKeysAside();
    this.#inbound.unlinked();
    this.#limits.forget();
  }

  /** After WhatsApp ended the link, a person asks for the next one; a restart of the service does not. */
  async #waitsForLink(): Promise<boolean> {
    try {
      const auth = await this.#account.load();
      const record = this.#account.record;
      if (record?.state !== 'logged-out' || auth.isLinked()) return false;
      await this.#replay();
      this.#inbound.unlinked();
      this.#status.set({ state: 'logged-out', reason: record.reason });
      return true;
    } catch (error) {
      this.#log.warn({ err: error }, 'account not read, retrying with the connection');
      return false;
    }
  }

  async #replay(): Promise<void> {
    if (this.#isReplayed) return;
    await this.#inbound.replay();
    this.#isReplayed = true;
  }

  /** @throws {NotConnectedError} */
  #openSocket(): OpenedSocket {
    if (!this.#opened || !this.#isOpen) throw new NotConnectedError(this.accountId);
    return this.#opened;
  }

  #mayUseSocket(): boolean {
    return !this.#isAbandoned && this.#options.fence?.isHeld() !== false;
  }

  async #open(): Promise<WASocket> {
    if (!this.#mayUseSocket()) throw new LeaseLostError(this.accountId);
    const auth = await this.#account.load();
    const ban = this.#limits.connection.current();
    if (ban) throw new HeldOffError(ban.reason, ban.leftMs);
    await this.#options.storage?.check();
    await auth.prepare();
    await this.#replay();
    if (!auth.isLinked()) this.#pairing.show();
    const { connect = openSocket } = this.#options;
    this.#opened = connect({
      auth,
      memory: this.#memory,
      getMessage: (key) => this.#resend.find(key),
      mayUse: () => this.#mayUseSocket(),
      whatsappWsUrl: this.#options.whatsappWsUrl,
      version: this.#options.version,
      log: this.#log,
    });
    return this.#opened.socket;
  }

  #attach(socket: WASocket): () => void {
    const { auth } = this.#account;
    const detachInbound = this.#opened && auth ? this.#inbound.attach({ ...this.#opened, auth }) : undefined;
    const detach = listenTo(socket, this.#log, {
      loggedIn: ({ attrs }) => this.#whatsAppTime.tell(attrs.t),
      creds: () => auth?.saveCreds(),
      qr: this.#pairing.offersOf(socket),
      paired: () => this.#status.set({ state: 'connecting' }),
      limited: (isActive, untilMs) => this.#onLimited(isActive, untilMs),
      receipt: (node) => this.#onReceipt(node),
      ack: (node) => this.#onAck(node),
      upsert: (message, type) => this.#inbound.upserted(message, type),
      groupChanged: (jid) => {
        this.#memory.groups.delete(jid);
      },
    });
    return () => {
      this.#isOpen = false;
      detachInbound?.();
      detach();
    };
  }

  async #closed(): Promise<void> {
    this.#opened = undefined;
    this.#endedForStorage = undefined;
    this.#sender.connectionClosed();
    await this.#account.auth?.flush();
  }

  #onPhase(phase: ConnectionPhase): void {
    if (phase.state === 'open') {
      this.#isOpen = true;
      this.#limits.connection.forget();
      this.#inbound.loggedIn();
      this.#showOpen();
      return;
    }
    if (phase.state === 'restricted') void this.#limits.connection.begin(phase);
    const isPairing = this.#account.auth !== undefined && !this.#account.isLinked();
    if (phase.state === 'connecting' && isPairing) this.#pairing.show();
    else this.#status.set(phase);
  }

  #showOpen(): void {
    if (!this.#isOpen) return;
    const identity = this.#account.identity();
    const limit = this.#limits.newContacts.current();
    if (limit) {
      const { reason, leftMs } = limit;
      const retryAtMs = Math.round(this.#options.clock.now() + leftMs);
      this.#status.set({ state: 'restricted', reason, retryAtMs, isConnected: true }, identity);
    } else {
      this.#status.set({ state: 'open', isConnected: true }, identity);
    }
  }

  #onLimited(isActive: boolean, untilMs: number | undefined): void {
    const forMs = untilMs === undefined ? DEFAULT_LIMIT_MS : untilMs - this.#whatsAppTime.now();
    const { newContacts } = this.#limits;
    if (isActive) void newContacts.begin({ reason: 'WhatsApp limits writing to new contacts.', forMs });
    else newContacts.end();
  }

  async #onReceipt(node: BinaryNode): Promise<void> {
    const receipts = receiptsOf(node, this.#account.jids(), this.#options.clock.now());
    const from = receipts.length > 0 ? await this.#account.chatOf(node.attrs.from ?? '') : undefined;
    if (from) this.#receipts.add(receipts.map((receipt) => ({ ...receipt, from })));
  }

  async #onAck(node: BinaryNode): Promise<void> {
    const ack = ackOf(node, this.#options.clock.now());
    if (ack?.kind === 'acked') this.#receipts.add([ack.receipt]);
    if (ack?.kind !== 'refused') return;
    const restriction = restrictionOf(ack.code);
    if (restriction) await this.#limits.newContacts.begin(restriction);
    await this.#options.events.refused(ack.waMessageId, ack.code, restriction?.forMs);
  }

  /** Ends the socket in this very step, so that Baileys cannot acknowledge or ask again for what was not stored. */
  #onStorageFailed(error: unknown): void {
    const opened = this.#opened;
    // Once a socket: much is being stored when a database fails.
    if (!opened || opened === this.#endedForStorage) return;
    this.#endedForStorage = opened;
    this.#log.error({ err: error }, 'cannot store incoming messages, disconnecting');
    const isDead = error instanceof Wa2aiError && error.disposition === 'dead';
    const isNamed = isDead || error instanceof StorageTroubleError;
    const reason = isNamed ? error.message : 'The database did not answer';
    this.#isOpen = false;
    opened.socket.end(new Error(reason)).catch(() => undefined);
    this.#connection.breakOff(reason, { isStorageTrouble: true });
  }
}
