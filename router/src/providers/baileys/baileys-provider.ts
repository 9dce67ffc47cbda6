import { isJidGroup, type WAMessageKey, type WASocket } from '@whiskeysockets/baileys';
import { jidHash } from '../../core/chat-id.ts';
import { ageProblem } from '../../core/client-version.ts';
import { within } from '../../core/clock.ts';
import { AlreadyLinkedError } from '../../core/errors.ts';
import type { MessageKey, OutgoingMessage } from '../../core/models.ts';
import type { AccountStatus, ChatProvider, PasskeyInput } from '../../core/ports/chat-provider.ts';
import { AccountLimits, AccountProblems } from './account/account-problems.ts';
import { AccountStatusTracker, LinkedAccount } from './account/account-status.ts';
import { type PairBy, Pairing } from './account/pairing.ts';
import { AccountConnection } from './connection/account-connection.ts';
import { guardConsole } from './connection/open-socket.ts';
import { WhatsAppTime } from './connection/whatsapp-time.ts';
import { InboundRunner } from './inbound/inbound-runner.ts';
import { reloadFile, uploadFile } from './media/media.ts';
import { askAboutNumber } from './outbound/sender.ts';
import type { BaileysProviderOptions } from './provider-options.ts';

/** One WhatsApp account on an unmodified Baileys socket. */
export function createBaileysProvider(options: BaileysProviderOptions): ChatProvider {
  return new BaileysProvider(options);
}

const LOGOUT_WAIT_MS = 5_000;

class BaileysProvider implements ChatProvider {
  readonly accountId: string;
  readonly #options: BaileysProviderOptions;
  readonly #status: AccountStatusTracker;
  readonly #problems = new AccountProblems(() => this.#status.report());
  readonly #pairing: Pairing;
  readonly #account: LinkedAccount;
  readonly #limits: AccountLimits;
  readonly #inbound: InboundRunner;
  readonly #connection: AccountConnection;
  #isStopping = false;
  #releaseConsole: (() => void) | undefined;

  constructor(options: BaileysProviderOptions) {
    const { accountId, accountStore: store, clock, log, events, pairingPhone } = options;
    this.accountId = accountId;
    this.#options = options;
    this.#status = new AccountStatusTracker({
      accountId,
      store,
      onChange: () => events.status(this.status()),
      problems: () => {
        const { version } = this.#connection;
        const problem = version && ageProblem(version, clock.now());
        return [...this.#problems.list(), ...(problem === undefined ? [] : [problem])];
      },
      version: () => this.#connection.version,
      proxy: () => this.#connection.proxy?.shownUrl,
      clock,
      log,
    });
    const by: PairBy = pairingPhone ? { method: 'code', phone: pairingPhone } : { method: 'qr' };
    this.#pairing = new Pairing(this.#status, clock, log, by);
    const onChange = () => this.#connection.showOpen();
    this.#limits = new AccountLimits({ accountId, store, clock, log, onChange });
    this.#account = new LinkedAccount({
      ...options,
      onLoaded: (record, limits) => {
        this.#status.remember(record);
        this.#limits.restore(limits);
      },
      onStorageFailed: (error) => this.#connection.storageFailed(error),
      onKeyUnreadable: (category) => {
        log.error({ category }, 'stored WhatsApp key unreadable, treated as absent');
        this.#problems.keyUnreadable(category);
      },
    });
    const whatsAppTime = new WhatsAppTime(clock);
    this.#inbound = new InboundRunner({
      ...options,
      random: options.random ?? Math.random,
      receive: (message) => events.receive(message),
      toStore: (message) => events.toStore(message),
      stored: (message, result) => events.stored(message, result),
      onTrouble: (error) => this.#connection.storageFailed(error),
      onStorageFailed: (error) => this.#connection.storageFailed(error),
      onRefused: (waMessageId, sentence) => this.#problems.messageRefused(waMessageId, sentence),
      onJournalUnreadable: (waMessageId) => this.#problems.journalUnreadable(waMessageId),
      onOverflow: () => this.#connection.breakOff('More messages arrived than fit into the memory limit'),
      onReceiptSent: () => options.onReceiptSent?.(),
      phoneOfLid: (lid) => this.#account.phoneOfLid(lid),
      subjectOf: (group) => this.#connection.groupNames.get(group),
      groupStored: (group) => this.#connection.groupNames.want(group),
      own: () => this.#account.jids(),
      whatsAppNow: () => whatsAppTime.now(),
    });
    this.#connection = new AccountConnection(options, {
      account: this.#account,
      status: this.#status,
      pairing: this.#pairing,
      limits: this.#limits,
      inbound: this.#inbound,
      whatsAppTime,
    });
  }

  status(): AccountStatus {
    const status = this.#status.status();
    const now = this.#options.clock.now();
    const limits = this.#limits
      .list()
      .map(({ leftMs, ...limit }) => ({ ...limit, untilMs: Math.round(now + leftMs) }));
    if (limits.length === 0) return status;
    const limit = this.#limits.current();
    return { ...status, limits, ...(limit && { limitLeftMs: limit.leftMs }) };
  }

  untilLimitsKnown(): Promise<void> | undefined {
    return this.#connection.limitsAsked;
  }

  async start(): Promise<void> {
    this.#releaseConsole ??= guardConsole(this.#options.log);
    this.#status.set({ state: 'starting' });
    await this.#connection.start();
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#limits.stop();
    // A journal replay that waits for core would delay the end of the connection.
    this.#inbound.stopWaiting();
    await this.#connection.stop();
    this.#status.set({ state: 'stopped' });
    await Promise.all([this.#status.saved(), this.#limits.saved()]);
    this.#releaseConsole?.();
  }

  async abandon(): Promise<void> {
    this.#connection.abandon();
    await this.stop();
  }

  async send(message: OutgoingMessage, content?: Uint8Array): Promise<void> {
    await this.#connection.send(message, content);
  }

  async upload(message: OutgoingMessage, bytes: Uint8Array): Promise<Uint8Array> {
    const { clock, log } = this.#options;
    const { proxy } = this.#connection;
    return uploadFile(message, bytes, this.#connection.openSocket(), { clock, log, ...(proxy && { proxy }) });
  }

  async reloadMedia(reference: string): Promise<string> {
    const options = { clock: this.#options.clock, ownJid: this.#account.jids().id };
    return reloadFile(reference, this.#connection.openSocket(), options);
  }

  async isOnWhatsApp(phone: string): Promise<boolean> {
    const socket = this.#connection.openSocket();
    try {
      return await askAboutNumber(phone, socket, this.#options.clock);
    } catch (error) {
      // Its end is the reason then.
      this.#connection.openSocket();
      throw error;
    }
  }

  async setTyping(to: string, isTyping: boolean): Promise<void> {
    try {
      await this.#connection.socket?.sendPresenceUpdate(isTyping ? 'composing' : 'paused', to);
    } catch (error) {
      this.#options.log.debug({ err: error, jidHash: jidHash(this.accountId, to) }, 'typing not shown');
    }
  }

  async markRead(message: MessageKey): Promise<void> {
    await this.#signal(message, 'message not marked as read', async (socket, key) => {
      // Messages of the account itself ("message yourself") have no ticks.
      if (!key.fromMe) await socket.readMessages([key]);
    });
  }

  async react(message: MessageKey, emoji: string): Promise<boolean> {
    return await this.#signal(message, 'reaction not sent', (_, key) =>
      this.#connection.react(message.chat, { text: emoji, key }),
    );
  }

  /** Sends something that nobody waits for. @returns whether it was sent */
  async #signal(
    message: MessageKey,
    problem: string,
    send: (socket: WASocket, key: WAMessageKey) => Promise<unknown>,
  ): Promise<boolean> {
    const { socket } = this.#connection;
    if (!socket) return false;
    try {
      await send(socket, await this.#keyOf(message));
      return true;
    } catch (error) {
      const { chat, waMessageId } = message;
      this.#options.log.debug({ err: error, waMessageId, jidHash: jidHash(this.accountId, chat) }, problem);
      return false;
    }
  }

  /** In a group the writer of a message has the address that the group uses. */
  async #keyOf({ chat, waMessageId, from, fromLid }: MessageKey): Promise<WAMessageKey> {
    const fromMe = await this.#account.isSamePerson(from, this.#account.jids().id);
    const key = { remoteJid: chat, id: waMessageId, fromMe };
    if (!isJidGroup(chat)) return key;
    const isByPhone = this.#connection.groups.get(chat)?.addressingMode === 'pn';
    return { ...key, participant: isByPhone ? from : (fromLid ?? from) };
  }

  async pair(by: PairBy): Promise<AccountStatus> {
    if ((await this.#account.loadOrReplace()).isLinked()) throw new AlreadyLinkedError(this.accountId);
    this.#pairing.by = by;
    await this.#connection.restart();
    return this.#pairing.untilCode();
  }

  async usePasskey(input: PasskeyInput): Promise<AccountStatus> {
    this.#connection.usePasskey(input);
    return this.status();
  }

  async logout(): Promise<AccountStatus> {
    await this.#account.loadOrReplace();
    this.#pairing.by = { method: 'qr' };
    await this.#unlinkAtWhatsApp();
    await this.#connection.restartUnlinked();
    return this.#pairing.untilCode();
  }

  async unlink(): Promise<AccountStatus> {
    await this.#unlinkAtWhatsApp();
    await this.stop();
    return this.status();
  }

  async #unlinkAtWhatsApp(): Promise<void> {
    const { socket } = this.#connection;
    if (socket) {
      const unlinked = socket.logout().catch((error: unknown) => {
        this.#options.log.warn(
          { err: error },
          'logout not sent to WhatsApp, unlink the device on the phone too',
        );
      });
      await within(this.#options.clock, LOGOUT_WAIT_MS, unlinked);
    }
  }

  async restart(): Promise<AccountStatus> {
    this.#limits.forget();
    await this.#connection.restart();
    return this.status();
  }
}
