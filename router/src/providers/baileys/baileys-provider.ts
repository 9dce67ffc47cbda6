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
import type { AccountStore, LimitKind } from '../../core/ports/account-store.ts';
import type { AccountStatus, ChatProvider, ProviderEvents } from '../../core/ports/chat-provider.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Journal } from '../../core/ports/journal.ts';
import type { KeyStore } from '../../core/ports/key-store.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { SentMessage } from '../../core/ports/outbox.ts';
import type { StorageHealth } from '../../core/ports/storage-health.ts';
import { AccountProblems } from './account/account-problems.ts';
import { AccountStatusTracker } from './account/account-status.ts';
import { LinkedAccount } from './account/linked-account.ts';
import { type PairBy, Pairing } from './account/pairing.ts';
import { Restriction } from './account/restriction.ts';
import { TrustedContacts } from './account/trusted-contacts.ts';
import { ConnectionManager, type ConnectionPhase } from './connection/connection.ts';
import { guardConsole } from './connection/console-guard.ts';
import { HeldOffError, restrictionOf } from './connection/disconnect-table.ts';
import { EventBufferWatchdog } from './connection/event-buffer-watchdog.ts';
import { type OpenedSocket, openSocket } from './connection/open-socket.ts';
import { createSocketMemory } from './connection/socket-config.ts';
import { listenTo } from './connection/socket-listeners.ts';
import { WhatsAppTime } from './connection/whatsapp-time.ts';
import { Intake } from './inbound/intake.ts';
import { reloadFile } from './media/media-reload.ts';
import { uploadFile } from './media/media-upload.ts';
import { messageKeyOf } from './messages/stanza.ts';
import { ackOf, ReceiptBatch, receiptsOf } from './outbound/receipts.ts';
import { SendLane } from './outbound/send-lane.ts';
import { KeyedLock } from './signal/keyed-lock.ts';
import { SendScopes } from './signal/send-scope.ts';

export interface BaileysProviderOptions {
  accountId: string;
  events: ProviderEvents;
  keyStore: KeyStore;
  accountStore: AccountStore;
  journal: Journal;
  /** The message sent under this WhatsApp id, for a phone that could not read it; undefined when unknown. */
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
  /** Default Math.random. */
  random?(): number;
  /** Told once Baileys has written a message's delivery receipt and tells the message; for crash tests. */
  onTold?(): void;
  /** Share one among all accounts of a process (see SignalRepositoryOptions). Default: one for this account. */
  sessionLocks?: KeyedLock;
  /** Asked before each connection: nothing is taken from WhatsApp that could not be kept. Default: not asked. */
  storage?: Pick<StorageHealth, 'check'>;
  /** The right to hold this account's socket: asked again for each piece that leaves it. Default: always held. */
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
  readonly #problems = new AccountProblems(() => this.#board.tell());
  readonly #board: AccountStatusTracker;
  readonly #pairing: Pairing;
  readonly #account: LinkedAccount;
  /** On writing to people who never wrote. */
  readonly #restriction: Restriction;
  /** On connecting at all. */
  readonly #ban: Restriction;
  readonly #intake: Intake;
  readonly #receipts: ReceiptBatch;
  readonly #connection: ConnectionManager<WASocket>;
  readonly #sends: SendLane;
  readonly #scopes = new SendScopes((jid) => this.#account.owns(jid));
  readonly #trusted: TrustedContacts;
  readonly #whatsAppTime: WhatsAppTime;
  readonly #memory = createSocketMemory();
  readonly #locks: KeyedLock;
  readonly #stopping = new AbortController();
  #opened: OpenedSocket | undefined;
  /** The socket that was ended because of the database, as long as it is the present one. */
  #brokenOff: OpenedSocket | undefined;
  #watch: EventBufferWatchdog | undefined;
  #isOpen = false;
  #isReplayed = false;
  #isAbandoned = false;
  #releaseConsole: (() => void) | undefined;

  constructor(options: BaileysProviderOptions) {
    const { accountId, accountStore, keyStore, clock, log, events, journal, pairingPhone } = options;
    const random = options.random ?? Math.random;
    this.accountId = accountId;
    this.#options = options;
    this.#log = log;
    this.#locks = options.sessionLocks ?? new KeyedLock();
    this.#board = new AccountStatusTracker({
      accountId,
      store: accountStore,
      onChange: () => events.status(this.status()),
      problems: () => this.#problems.sentences(),
      clock,
      log,
    });
    const by: PairBy = pairingPhone ? { method: 'code', phone: pairingPhone } : { method: 'qr' };
    this.#pairing = new Pairing(this.#board, clock, by);
    this.#account = new LinkedAccount({
      accountId,
      accountStore,
      keyStore,
      clock,
      onLoaded: (record, limits) => {
        this.#board.remember(record);
        this.#restriction.restore(limits);
        this.#ban.restore(limits);
      },
      onStorageFailed: (error) => this.#onStorageFailed(error),
      onKeyUnreadable: (category) => {
        log.error({ category }, 'a stored WhatsApp key cannot be read; it counts as absent');
        this.#problems.keyUnreadable(category);
      },
    });
    const restrictionOn = (kind: LimitKind) =>
      new Restriction({
        accountId,
        kind,
        store: accountStore,
        clock,
        log,
        stopping: this.#stopping.signal,
        onChange: () => {
          if (this.#isOpen) this.#showOpen();
        },
      });
    this.#restriction = restrictionOn('new-contacts');
    this.#ban = restrictionOn('connection');
    this.#sends = new SendLane({
      clock,
      onHung: () => this.#connection.breakOff('A message was being sent without end'),
    });
    this.#trusted = new TrustedContacts(log);
    this.#whatsAppTime = new WhatsAppTime(clock);
    this.#receipts = new ReceiptBatch((receipts) => events.receipts(receipts), log);
    this.#intake = new Intake({
      accountId,
      receive: (message) => events.receive(message),
      onTrouble: (error) => this.#onStorageFailed(error),
      onRefused: (waMessageId, sentence) => this.#problems.messageRefused(waMessageId, sentence),
      onJournalUnreadable: (waMessageId) => this.#problems.journalUnreadable(waMessageId),
      journal,
      phoneOfLid: (lid) => this.#account.phoneOfLid(lid),
      own: () => this.#account.jids(),
      onDecrypted: (key) => this.#watch?.expect(key),
      whatsAppNow: () => this.#whatsAppTime.now(),
      canAnswer: () => this.#opened?.socket.ws.isOpen ?? false,
      clock,
      log,
      maxMessageAgeMs: options.maxMessageAgeMs,
      random,
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
    const status = this.#board.status();
    const limit = this.#restriction.current();
    return limit ? { ...status, limitLeftMs: limit.leftMs } : status;
  }

  async start(): Promise<void> {
    this.#releaseConsole ??= guardConsole(this.#log);
    this.#board.set({ state: 'starting' });
    if (await this.#waitsForLink()) return;
    await this.#connection.start();
  }

  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    // A replay under way, which waits for core, would keep the connection's end waiting.
    this.#intake.waitNoMore();
    await this.#connection.stop();
    await this.#intake.stop();
    this.#scopes.close();
    await this.#receipts.finish();
    await this.#account.auth?.flush();
    this.#board.set({ state: 'stopped' });
    await Promise.all([this.#board.saved(), this.#restriction.saved(), this.#ban.saved()]);
    this.#releaseConsole?.();
  }

  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    this.#isOpen = false;
    this.#opened?.socket.end(new LeaseLostError(this.accountId)).catch(() => undefined);
    await this.stop();
  }

  async send(message: OutgoingMessage, content?: Uint8Array): Promise<void> {
    await this.#sends.send(message, content, () => {
      const { socket, transact } = this.#openSocket();
      return (asked) => {
        const { jid, options } = asked;
        const send = () =>
          transact<unknown>(`send ${jid}`, () =>
            'file' in asked
              ? socket.relayMessage(jid, asked.file, options)
              : socket.sendMessage(jid, asked.content, options),
          );
        return this.#account.owns(jid) ? send() : this.#scopes.run(send);
      };
    });
    const socket = this.#opened?.socket;
    const auth = this.#account.auth;
    if (!socket || !auth) return;
    void this.#trusted.sentTo(message.to, socket, auth.keys, this.#options.clock.now());
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
      const told = this.#opened.socket.logout().catch((error: unknown) => {
        this.#log.warn(
          { err: error },
          'WhatsApp was not told of the logout; unlink the device on the phone too',
        );
      });
      await Promise.race([told, this.#options.clock.sleep(LOGOUT_WAIT_MS)]);
    }
    await this.#connection.restart(() => this.#putKeysAside());
    return this.#pairing.untilCode();
  }

  async restart(): Promise<AccountStatus> {
    this.#forgetLimits();
    await this.#connection.restart();
    return this.status();
  }

  /** Limits are the linked number's, which may be another one next time. */
  async #putKeysAside(): Promise<void> {
    await this.#account.putKeysAside();
    this.#intake.unlinked();
    this.#forgetLimits();
  }

  #forgetLimits(): void {
    this.#restriction.forget();
    this.#ban.forget();
  }

  /** After WhatsApp ended the link, a person asks for the next one; a restart of the service is no such wish. */
  async #waitsForLink(): Promise<boolean> {
    try {
      const auth = await this.#account.load();
      const record = this.#account.record;
      if (record?.state !== 'logged-out' || auth.isLinked()) return false;
      await this.#replay();
      this.#intake.unlinked();
      this.#board.set({ state: 'logged-out', reason: record.reason });
      return true;
    } catch (error) {
      this.#log.warn({ err: error }, 'account not read; it is tried again with the connection');
      return false;
    }
  }

  async #replay(): Promise<void> {
    if (this.#isReplayed) return;
    await this.#intake.replay();
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
    const ban = this.#ban.current();
    if (ban) throw new HeldOffError(ban.reason, ban.leftMs);
    await this.#options.storage?.check();
    await auth.prepare();
    await this.#replay();
    if (!auth.isLinked()) this.#pairing.show();
    this.#opened = openSocket({
      auth,
      memory: this.#memory,
      hooks: this.#intake,
      chatOf: (attrs) => this.#intake.chatOf(attrs),
      onShort: () => this.#connection.breakOff('More messages came at once than memory is meant to hold'),
      sends: this.#scopes,
      locks: this.#locks,
      getMessage: (key) => this.#sends.contentOf(key.id, this.#options.findSentMessage),
      mayUse: () => this.#mayUseSocket(),
      whatsappWsUrl: this.#options.whatsappWsUrl,
      version: this.#options.version,
      log: this.#log,
    });
    return this.#opened.socket;
  }

  #attach(socket: WASocket): () => void {
    const opened = this.#opened;
    const watch = new EventBufferWatchdog({
      flush: () => socket.ev.flush(),
      breakOff: (reason) => this.#connection.breakOff(reason),
      oldestOpenMs: () => this.#intake.oldestOpenMs(),
      clock: this.#options.clock,
      log: this.#log,
    });
    this.#watch = watch;
    watch.start();
    const detach = listenTo(socket, this.#log, {
      loggedIn: ({ attrs }) => this.#whatsAppTime.tell(attrs.t),
      creds: () => {
        this.#account.auth?.saveCreds();
      },
      qr: this.#pairing.offersOf(socket),
      paired: () => this.#board.set({ state: 'connecting' }),
      limited: (isActive, untilMs) => {
        const forMs = untilMs === undefined ? DEFAULT_LIMIT_MS : untilMs - this.#whatsAppTime.now();
        if (isActive)
          void this.#restriction.begin({ reason: 'WhatsApp limits writing to new contacts.', forMs });
        else this.#restriction.end();
      },
      stanza: (node) => {
        if (this.#intake.arrived(node)) opened?.queue.awaits(node);
        opened?.ahead.arrived(node);
      },
      stanzaTaken: () => this.#intake.leave(),
      offlineDelivered: () => this.#intake.offlineDelivered(),
      receipt: (node) =>
        this.#receipts.add(receiptsOf(node, this.#account.jids(), this.#options.clock.now())),
      ack: (node) => this.#onAck(node),
      upsert: (message, type) => {
        watch.told(messageKeyOf(message));
        this.#options.onTold?.();
        this.#intake.upserted(message, type);
      },
      groupChanged: (jid) => {
        this.#memory.groups.delete(jid);
      },
    });
    return () => {
      this.#isOpen = false;
      watch.stop();
      opened?.queue.close();
      detach();
    };
  }

  async #closed(): Promise<void> {
    this.#opened?.release();
    this.#opened = undefined;
    this.#brokenOff = undefined;
    this.#intake.connectionClosed();
    this.#sends.connectionClosed();
    await this.#account.auth?.flush();
  }

  #onPhase(phase: ConnectionPhase): void {
    if (phase.state === 'open') {
      this.#isOpen = true;
      this.#ban.forget();
      this.#intake.connected();
      this.#showOpen();
      return;
    }
    if (phase.state === 'restricted') void this.#ban.begin(phase);
    const isPairing = this.#account.auth !== undefined && !this.#account.isLinked();
    if (phase.state === 'connecting' && isPairing) this.#pairing.show();
    else this.#board.set(phase);
  }

  #showOpen(): void {
    const identity = this.#account.identity();
    const limit = this.#restriction.current();
    if (limit) {
      const { reason, leftMs } = limit;
      const retryAtMs = Math.round(this.#options.clock.now() + leftMs);
      this.#board.set({ state: 'restricted', reason, retryAtMs, isConnected: true }, identity);
    } else {
      this.#board.set({ state: 'open', isConnected: true }, identity);
    }
  }

  async #onAck(node: BinaryNode): Promise<void> {
    const ack = ackOf(node, this.#options.clock.now());
    if (ack?.kind === 'acked') this.#receipts.add([ack.receipt]);
    if (ack?.kind !== 'refused') return;
    const restriction = restrictionOf(ack.code);
    if (restriction) await this.#restriction.begin(restriction);
    await this.#options.events.refused(ack.waMessageId, ack.code, restriction?.forMs);
  }

  /** Ends the socket in this very step, so that Baileys cannot acknowledge or ask again for what was not stored. */
  #onStorageFailed(error: unknown): void {
    const opened = this.#opened;
    // Told once a socket: much is under way when a database gets into trouble.
    if (!opened || opened === this.#brokenOff) return;
    this.#brokenOff = opened;
    this.#log.error({ err: error }, 'what WhatsApp brings could not be stored; the connection is broken off');
    const isForGood = error instanceof Wa2aiError && error.disposition === 'dead';
    const isNamed = isForGood || error instanceof StorageTroubleError;
    const reason = isNamed ? error.message : 'The database did not answer';
    this.#isOpen = false;
    opened.socket.end(new Error(reason)).catch(() => undefined);
    this.#connection.breakOff(reason, { isStorageTrouble: true });
  }
}
