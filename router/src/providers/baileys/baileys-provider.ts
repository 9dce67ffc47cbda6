import makeWASocket, {
  type BinaryNode,
  jidDecode,
  type SignalKeyStoreWithTransaction,
  type WASocket,
} from '@whiskeysockets/baileys';
import { lidJid, parseJid, phoneJid } from '../../core/chat-id.ts';
import { AlreadyLinkedError, LeaseLostError, NotConnectedError } from '../../core/errors.ts';
import type { OutgoingMessage } from '../../core/models.ts';
import type { Fence } from '../../core/ports/account-lease.ts';
import type { AccountRecord, AccountStore } from '../../core/ports/account-store.ts';
import type { AccountStatus, ChatProvider, ProviderEvents } from '../../core/ports/chat-provider.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Journal } from '../../core/ports/journal.ts';
import type { KeyStore } from '../../core/ports/key-store.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { AheadDecryption } from './ahead-decryption.ts';
import { type AuthState, openAuthState } from './auth-state.ts';
import { ConnectionManager, type ConnectionPhase } from './connection.ts';
import { guardConsole } from './console-guard.ts';
import { restrictionOf } from './disconnect-table.ts';
import { Intake } from './intake.ts';
import { KeyedLock } from './keyed-lock.ts';
import { ackOf, ReceiptBatch, receiptsOf } from './receipts.ts';
import { SendLane } from './send-lane.ts';
import { SendScopes } from './send-scope.ts';
import { createSignalRepository } from './signal-repository.ts';
import { createSocketMemory, socketConfig } from './socket-config.ts';
import { listenTo } from './socket-listeners.ts';
import { messageKeyOf, type OwnJids } from './stanza.ts';
import { type Identity, StatusBoard } from './status-board.ts';
import { TrustedContacts } from './trusted-contacts.ts';
import { UpsertWatch } from './upsert-watch.ts';

export interface BaileysProviderOptions {
  accountId: string;
  events: ProviderEvents;
  keyStore: KeyStore;
  accountStore: AccountStore;
  journal: Journal;
  /** The message sent under this WhatsApp id, for a phone that could not read it; undefined when unknown. */
  findSentMessage(waMessageId: string): Promise<OutgoingMessage | undefined>;
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
  /** The right to hold this account's socket: asked again for each piece that leaves it. Default: always held. */
  fence?: Pick<Fence, 'isHeld'>;
}

/** One WhatsApp account on an unmodified Baileys socket. */
export function createBaileysProvider(options: BaileysProviderOptions): ChatProvider {
  return new BaileysProvider(options);
}

type PairBy = { method: 'qr' } | { method: 'code'; phone: string };

const FIRST_QR_MS = 60_000;
const LATER_QR_MS = 20_000;
/** As long as the QR codes of one connection last together; its eight-letter code ends with it. */
const CODE_MS = 160_000;
/** Longest wait of `pair` and `logout` for a code to show. */
const CODE_WAIT_MS = 20_000;
const LOGOUT_WAIT_MS = 5_000;

class BaileysProvider implements ChatProvider {
  readonly accountId: string;
  readonly #options: BaileysProviderOptions;
  readonly #log: Logger;
  readonly #board: StatusBoard;
  readonly #intake: Intake;
  readonly #receipts: ReceiptBatch;
  readonly #connection: ConnectionManager<WASocket>;
  readonly #sends = new SendLane();
  readonly #scopes = new SendScopes((jid) => this.#isOwn(jid));
  readonly #trusted: TrustedContacts;
  readonly #memory = createSocketMemory();
  readonly #locks: KeyedLock;
  readonly #stopping = new AbortController();
  #auth: AuthState | undefined;
  #record: AccountRecord | undefined;
  #socket: WASocket | undefined;
  #ahead = new AheadDecryption();
  /**
   * Runs work in a key transaction of the present socket. Baileys sends in one named after the account, so one after the
   * other in all chats, each waiting for the store; inside one of ours it joins that.
   */
  #transact: (<T>(name: string, work: () => Promise<T>) => Promise<T>) | undefined;
  #isOpen = false;
  #isReplayed = false;
  #isAbandoned = false;
  #pairBy: PairBy;
  #restriction: { reason: string; untilMs: number } | undefined;
  #releaseConsole: (() => void) | undefined;

  constructor(options: BaileysProviderOptions) {
    const { accountId, clock, log, events, journal } = options;
    const random = options.random ?? Math.random;
    this.accountId = accountId;
    this.#options = options;
    this.#log = log;
    this.#locks = options.sessionLocks ?? new KeyedLock();
    this.#pairBy = options.pairingPhone ? { method: 'code', phone: options.pairingPhone } : { method: 'qr' };
    this.#board = new StatusBoard({
      accountId,
      store: options.accountStore,
      onChange: (status) => events.status(status),
      clock,
      log,
    });
    this.#trusted = new TrustedContacts(log);
    this.#receipts = new ReceiptBatch((receipts) => events.receipts(receipts), log);
    this.#intake = new Intake({
      accountId,
      receive: (message) => events.receive(message),
      journal,
      phoneOfLid: (lid) => this.#phoneOfLid(lid),
      own: () => this.#own(),
      onDecrypted: (key) => this.#watch?.expect(key),
      clock,
      log,
      maxMessageAgeMs: options.maxMessageAgeMs,
      random,
    });
    this.#connection = new ConnectionManager<WASocket>({
      open: () => this.#open(),
      attach: (socket) => this.#attach(socket),
      isLinked: () => this.#auth?.isLinked() ?? false,
      closed: () => this.#closed(),
      putKeysAside: () => this.#putKeysAside(),
      onPhase: (phase) => this.#onPhase(phase),
      clock,
      log,
      random,
    });
  }

  #watch: UpsertWatch | undefined;

  status(): AccountStatus {
    return this.#board.status();
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
    await this.#connection.stop();
    await this.#intake.stop();
    await this.#receipts.finish();
    await this.#auth?.flush();
    this.#board.set({ state: 'stopped' });
    await this.#board.saved();
    this.#releaseConsole?.();
  }

  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    this.#isOpen = false;
    this.#socket?.end(new LeaseLostError(this.accountId)).catch(() => undefined);
    await this.stop();
  }

  async send(message: OutgoingMessage): Promise<void> {
    await this.#sends.send(message, () => {
      const socket = this.#socket;
      const transact = this.#transact;
      if (!socket || !transact || !this.#isOpen) throw new NotConnectedError(this.accountId);
      return ({ jid, content, options }) => {
        const send = () => transact(`send ${jid}`, () => socket.sendMessage(jid, content, options));
        return this.#isOwn(jid) ? send() : this.#scopes.run(send);
      };
    });
    const socket = this.#socket;
    if (!socket || !this.#auth) return;
    void this.#trusted.sentTo(message.to, socket, this.#auth.keys, this.#options.clock.now());
  }

  async setTyping(to: string, isTyping: boolean): Promise<void> {
    if (!this.#socket || !this.#isOpen) return;
    try {
      await this.#socket.sendPresenceUpdate(isTyping ? 'composing' : 'paused', to);
    } catch (error) {
      this.#log.debug({ err: error }, 'typing not shown');
    }
  }

  async pair(by: PairBy): Promise<AccountStatus> {
    if ((await this.#loadAuth()).isLinked()) throw new AlreadyLinkedError(this.accountId);
    this.#pairBy = by;
    await this.#connection.restart();
    return this.#untilCode();
  }

  async logout(): Promise<AccountStatus> {
    this.#pairBy = { method: 'qr' };
    if (this.#socket && this.#isOpen) {
      const told = this.#socket.logout().catch((error: unknown) => {
        this.#log.warn(
          { err: error },
          'WhatsApp was not told of the logout; unlink the device on the phone too',
        );
      });
      await Promise.race([told, this.#options.clock.sleep(LOGOUT_WAIT_MS)]);
    }
    await this.#connection.restart(() => this.#putKeysAside());
    return this.#untilCode();
  }

  async restart(): Promise<AccountStatus> {
    this.#restriction = undefined;
    await this.#connection.restart();
    return this.status();
  }

  #untilCode(): Promise<AccountStatus> {
    const onTheWay = new Set<string>(['starting', 'connecting', 'pairing']);
    return this.#board.until(
      (status) => status.qr !== undefined || status.pairingCode !== undefined || !onTheWay.has(status.state),
      CODE_WAIT_MS,
    );
  }

  /** After WhatsApp ended the link, a person asks for the next one; a restart of the service is no such wish. */
  async #waitsForLink(): Promise<boolean> {
    try {
      const auth = await this.#loadAuth();
      if (this.#record?.state !== 'logged-out' || auth.isLinked()) return false;
      await this.#replay();
      this.#board.set({ state: 'logged-out', reason: this.#record.reason });
      return true;
    } catch (error) {
      this.#log.warn({ err: error }, 'account not read; it is tried again with the connection');
      return false;
    }
  }

  async #loadAuth(): Promise<AuthState> {
    if (this.#auth) return this.#auth;
    const { accountStore, keyStore, clock, accountId } = this.#options;
    const record = await accountStore.load(accountId);
    this.#record = record;
    this.#board.remember(record);
    this.#auth = await openAuthState({
      store: keyStore,
      scope: { accountId, generation: record.generation },
      clock,
      onStorageFailed: (error) => this.#onStorageFailed(error),
    });
    return this.#auth;
  }

  async #replay(): Promise<void> {
    if (this.#isReplayed) return;
    await this.#intake.replay();
    this.#isReplayed = true;
  }

  #mayUseSocket(): boolean {
    return !this.#isAbandoned && this.#options.fence?.isHeld() !== false;
  }

  async #open(): Promise<WASocket> {
    if (!this.#mayUseSocket()) throw new LeaseLostError(this.accountId);
    const auth = await this.#loadAuth();
    await auth.prepare();
    await this.#replay();
    if (!auth.isLinked()) this.#board.set({ state: 'pairing', pairingBy: this.#pairBy.method });
    const ahead = new AheadDecryption();
    this.#ahead = ahead;
    const socket: WASocket = makeWASocket(
      socketConfig({
        auth,
        memory: this.#memory,
        log: this.#log,
        whatsappWsUrl: this.#options.whatsappWsUrl,
        version: this.#options.version,
        getMessage: (key) => this.#sends.contentOf(key.id, this.#options.findSentMessage),
        groupMetadata: async (jid) => {
          const known = this.#memory.groups.get(jid);
          if (known) return known;
          const fresh = await socket.groupMetadata(jid);
          this.#memory.groups.set(jid, fresh);
          return fresh;
        },
        onRecipients: (jids) => this.#scopes.expect(jids),
        makeSignalRepository: (state, logger, askForLids) => {
          const keys = state.keys as SignalKeyStoreWithTransaction;
          this.#transact = (name, work) => keys.transaction(work, name);
          return createSignalRepository(
            {
              hooks: this.#intake,
              ahead,
              sends: this.#scopes,
              locks: this.#locks,
              withoutLid: this.#memory.withoutLid,
            },
            state,
            logger,
            askForLids,
          );
        },
      }),
    );
    const { ws } = socket;
    const client: object = Object.getPrototypeOf(ws);
    // Baileys asks this in the very step that writes: a process that slept since its last look at the lease, or was
    // told to abandon the account, is stopped here.
    Object.defineProperty(ws, 'isOpen', {
      get: () => this.#mayUseSocket() && Boolean(Reflect.get(client, 'isOpen', ws)),
    });
    return socket;
  }

  #attach(socket: WASocket): () => void {
    this.#socket = socket;
    const ahead = this.#ahead;
    const watch = new UpsertWatch({
      flush: () => socket.ev.flush(),
      breakOff: (reason) => this.#connection.breakOff(reason),
      oldestOpenMs: () => this.#intake.oldestOpenMs(),
      clock: this.#options.clock,
      log: this.#log,
    });
    this.#watch = watch;
    watch.start();
    let codes = 0;
    const detach = listenTo(socket, this.#log, {
      creds: () => {
        this.#auth?.saveCreds();
      },
      qr: (qr) => {
        codes += 1;
        return this.#onPairingOffer(socket, qr, codes);
      },
      paired: () => this.#board.set({ state: 'connecting' }),
      limited: (isActive, untilMs) => {
        if (isActive) this.#restrict({ reason: 'WhatsApp limits writing to new contacts.', untilMs });
        else this.#unrestrict();
      },
      stanza: (node) => {
        this.#intake.arrived(node);
        ahead.arrived(node);
      },
      receipt: (node) => this.#receipts.add(receiptsOf(node, this.#own(), this.#options.clock.now())),
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
      detach();
    };
  }

  async #closed(): Promise<void> {
    this.#socket = undefined;
    this.#intake.connectionClosed();
    this.#sends.connectionClosed();
    await this.#auth?.flush();
  }

  #onPhase(phase: ConnectionPhase): void {
    if (phase.state === 'open') {
      this.#isOpen = true;
      this.#showOpen();
      return;
    }
    if (phase.state === 'connecting' && this.#auth && !this.#auth.isLinked()) {
      this.#board.set({ state: 'pairing', pairingBy: this.#pairBy.method });
      return;
    }
    this.#board.set(phase);
  }

  #showOpen(): void {
    const restriction = this.#restriction;
    if (restriction && restriction.untilMs > this.#options.clock.now()) {
      const { reason, untilMs } = restriction;
      this.#board.set(
        { state: 'restricted', reason, retryAtMs: untilMs, isConnected: true },
        this.#identity(),
      );
    } else {
      this.#board.set({ state: 'open', isConnected: true }, this.#identity());
    }
  }

  async #onPairingOffer(socket: WASocket, qr: string, count: number): Promise<void> {
    const nowMs = this.#options.clock.now();
    const by = this.#pairBy;
    if (by.method === 'qr') {
      const expiresAtMs = nowMs + (count === 1 ? FIRST_QR_MS : LATER_QR_MS);
      this.#board.set({ state: 'pairing', pairingBy: 'qr', qr, expiresAtMs });
      return;
    }
    if (count > 1) return;
    const pairingCode = await socket.requestPairingCode(by.phone);
    this.#board.set({ state: 'pairing', pairingBy: 'code', pairingCode, expiresAtMs: nowMs + CODE_MS });
  }

  async #onAck(node: BinaryNode): Promise<void> {
    const ack = ackOf(node, this.#options.clock.now());
    if (ack?.kind === 'acked') this.#receipts.add([ack.receipt]);
    if (ack?.kind !== 'refused') return;
    const restriction = restrictionOf(ack.code);
    if (restriction) {
      this.#restrict({
        reason: restriction.reason,
        untilMs: this.#options.clock.now() + restriction.forMs,
      });
    }
    await this.#options.events.refused(ack.waMessageId, ack.code);
  }

  #restrict(restriction: { reason: string; untilMs: number }): void {
    this.#restriction = restriction;
    if (this.#isOpen) this.#showOpen();
    const { clock } = this.#options;
    const waitMs = Math.max(0, restriction.untilMs - clock.now());
    clock.sleep(waitMs, this.#stopping.signal).then(
      () => {
        if (this.#restriction === restriction) this.#unrestrict();
      },
      () => undefined,
    );
  }

  #unrestrict(): void {
    if (!this.#restriction) return;
    this.#restriction = undefined;
    if (this.#isOpen) this.#showOpen();
  }

  /** Ends the socket in this very step, so that Baileys cannot acknowledge or ask again for what was not stored. */
  #onStorageFailed(error: unknown): void {
    this.#log.error({ err: error }, 'keys could not be stored; the connection is broken off');
    this.#isOpen = false;
    this.#socket?.end(new Error('The database did not answer')).catch(() => undefined);
    this.#connection.breakOff('The database did not answer');
  }

  async #putKeysAside(): Promise<void> {
    if (!this.#auth?.isLinked()) return;
    await this.#auth.flush();
    await this.#options.accountStore.nextGeneration(this.accountId);
    this.#auth = undefined;
  }

  #isOwn(jid: string): boolean {
    const { id, lid } = this.#own();
    const user = jidDecode(jid)?.user;
    return user !== undefined && (user === jidDecode(id)?.user || user === jidDecode(lid)?.user);
  }

  #own(): OwnJids {
    const me = this.#auth?.creds.me;
    const id = me?.id ?? (this.#record?.phone ? phoneJid(this.#record.phone) : '');
    const lid = me?.lid ?? (this.#record?.lid ? lidJid(this.#record.lid) : '');
    return { id, lid };
  }

  #identity(): Identity {
    const { id, lid } = this.#own();
    const phone = parseJid(id);
    const ownLid = parseJid(lid);
    return {
      ...(phone?.kind === 'phone' && { phone: phone.phone }),
      ...(ownLid?.kind === 'lid' && { lid: ownLid.lid }),
      ...(this.#auth?.creds.me?.name && { name: this.#auth.creds.me.name }),
    };
  }

  async #phoneOfLid(lid: string): Promise<string | undefined> {
    // Baileys' own mapping (Signal/lid-mapping.js), read without asking WhatsApp.
    const found = await this.#auth?.keys.get('lid-mapping', [`${lid}_reverse`]);
    const phone = found?.[`${lid}_reverse`];
    return phone ? (jidDecode(phoneJid(phone))?.user ?? undefined) : undefined;
  }
}
