import type { BinaryNode, GroupMetadata, WAMessageKey, WASocket } from '@whiskeysockets/baileys';
import type { ClientVersion } from '../../../core/client-version.ts';
import { within } from '../../../core/clock.ts';
import {
  LeaseLostError,
  NotConnectedError,
  PasskeyNotAskedError,
  StorageTroubleError,
  Wa2aiError,
} from '../../../core/errors.ts';
import type { OutgoingMessage } from '../../../core/models.ts';
import { because, reasonOf, say } from '../../../core/phrases.ts';
import type { PasskeyInput } from '../../../core/ports/chat-provider.ts';
import type { AccountLimits } from '../account/account-problems.ts';
import type { AccountStatusTracker, LinkedAccount } from '../account/account-status.ts';
import { ChatLocks } from '../account/chat-locks.ts';
import type { Pairing } from '../account/pairing.ts';
import { PasskeyCeremony } from '../account/passkey-ceremony.ts';
import type { InboundRunner } from '../inbound/inbound-runner.ts';
import { ackOf, ReceiptBatch, receiptsOf } from '../outbound/receipts.ts';
import { ResendContent, Sender } from '../outbound/sender.ts';
import type { BaileysProviderOptions } from '../provider-options.ts';
import type { AuthState } from '../signal/auth-state.ts';
import type { AccountProxy } from './account-proxy.ts';
import { tripleOf, type VersionWait } from './client-versions.ts';
import {
  ConnectionManager,
  type ConnectionPhase,
  ConnectionPostponedError,
  RATE_LIMIT,
  REACH_OUT_REFUSED,
  TOO_MANY_MESSAGES,
  VersionRefusedError,
} from './connection.ts';
import { GroupNames } from './group-names.ts';
import { createSocketMemory, type OpenedSocket, openSocket, type SocketMemory } from './open-socket.ts';
import { listenTo, type NewChatCap, newChatCapOf, type ReachOutLock } from './socket-listeners.ts';
import type { WhatsAppTime } from './whatsapp-time.ts';

/** WhatsApp may take so long to say which limits the account has. */
const LIMITS_WAIT_MS = 10_000;
/**
 * WhatsApp's times are whole seconds, and a message before the end of a limit is refused; when the limit is over by the time of the
 * question, that would look like a refusal of one person.
 */
const MARGIN_MS = 5_000;
/** Duration of a limit whose end WhatsApp did not name. */
const DEFAULT_LIMIT_MS = 60 * 60 * 1_000;

interface AccountConnectionParts {
  account: LinkedAccount;
  status: AccountStatusTracker;
  pairing: Pairing;
  limits: AccountLimits;
  inbound: InboundRunner;
  whatsAppTime: WhatsAppTime;
}

/**
 * The connection of one account: its sockets one after the other, their events, and the messages that are sent over
 * them.
 */
export class AccountConnection {
  readonly #options: BaileysProviderOptions;
  readonly #parts: AccountConnectionParts;
  readonly #manager: ConnectionManager<WASocket>;
  readonly #receipts: ReceiptBatch;
  readonly #resend: ResendContent;
  readonly #sender: Sender;
  readonly #locks: ChatLocks;
  readonly #memory = createSocketMemory();
  readonly #groupNames: GroupNames;
  #opened: OpenedSocket | undefined;
  #passkey: PasskeyCeremony | undefined;
  /** The running question about limits. */
  #asking: Promise<void> | undefined;
  /** The current socket, if it was ended because of the database. */
  #endedForStorage: OpenedSocket | undefined;
  #isOpen = false;
  #isReplayed = false;
  #isAbandoned = false;
  /** What the last login announced. */
  #version: ClientVersion | undefined;
  #proxy: AccountProxy | undefined;
  /** Versions that were refused for this account in this process. */
  readonly #refused = new Set<string>();
  #wasOpen = false;
  /** A person wants the next login, whatever was refused before. */
  #isAsked = false;

  constructor(options: BaileysProviderOptions, parts: AccountConnectionParts) {
    const { clock, log, events, random = Math.random } = options;
    const { account } = parts;
    this.#options = options;
    this.#parts = parts;
    this.#receipts = new ReceiptBatch((receipts) => events.receipts(receipts), log);
    this.#sender = new Sender({
      clock,
      onSendTimeout: () => this.breakOff('Sending a message did not end'),
      groupKeys: () => account.auth?.groupKeys,
    });
    this.#locks = new ChatLocks({
      chatOf: (jid) => account.chatOf(jid),
      store: (chat, isLocked) => events.chatLocked(chat, isLocked),
      onStorageFailed: (error) => this.storageFailed(error),
      log,
    });
    this.#groupNames = new GroupNames({
      ask: async (jid) => (await this.#metadataOf(jid)).subject,
      store: (groupId, name) => events.groupNamed(groupId, name),
      log,
    });
    this.#resend = new ResendContent({
      findSentMessage: options.findSentMessage,
      isSamePerson: (jid, other) => account.isSamePerson(jid, other),
      membersOf: (group) => this.#membersOf(group),
      onRefused: () => options.onResendRefused?.(),
      log,
    });
    this.#manager = new ConnectionManager<WASocket>({
      open: () => this.#open(),
      attach: (socket) => this.#attach(socket),
      isLinked: () => account.isLinked(),
      isTakeOver: options.fence?.isTakeOver ?? false,
      closed: () => this.#closed(),
      archiveKeys: () => this.#archiveKeys(),
      untilOtherVersion: (isByWhatsApp, signal, onWait) =>
        this.#untilOtherVersion(isByWhatsApp, signal, onWait),
      onPhase: (phase) => this.#onPhase(phase),
      clock,
      log,
      random,
    });
  }

  /**
   * Connects and stays connected. When WhatsApp has ended the link, it waits until a person links the account again.
   */
  async start(): Promise<void> {
    if (!(await this.#waitsForLink())) await this.#manager.start();
  }

  /** Makes a new socket now, in any state. */
  restart(): Promise<void> {
    this.#isAsked = true;
    // The status after a change of the proxy shows the new one; a failure shows with the connection.
    return this.#manager.restart(() => this.#readProxy().catch(() => undefined));
  }

  /** Ends the link: the next socket has new keys. */
  restartUnlinked(): Promise<void> {
    this.#isAsked = true;
    return this.#manager.restart(() => this.#archiveKeys());
  }

  /** Ends the socket. Resolves when all receipts are stored, or could not be. */
  async stop(): Promise<void> {
    await this.#manager.stop();
    await this.#parts.inbound.stop();
    await this.#receipts.finish();
    await this.#parts.account.auth?.flush();
  }

  /** Another node has the account: from this call on nothing is written to the socket. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#isOpen = false;
    this.#opened?.socket.end(new LeaseLostError(this.#options.accountId)).catch(() => undefined);
  }

  /** Ends the current connection as if it had broken. */
  breakOff(reason: string): void {
    this.#manager.breakOff(reason);
  }

  /** The version of WhatsApp Web that the last login announced; undefined before the first one. */
  get version(): ClientVersion | undefined {
    return this.#version && this.#options.versions.known(this.#version);
  }

  /** The proxy of the last connection, or of the one that a restart begins. */
  get proxy(): AccountProxy | undefined {
    return this.#proxy;
  }

  /** What is known of groups, by JID. */
  get groups(): Pick<SocketMemory['groups'], 'get'> {
    return this.#memory.groups;
  }

  /** The open socket; undefined while there is none. */
  get socket(): WASocket | undefined {
    return this.#isOpen ? this.#opened?.socket : undefined;
  }

  /** The names of groups, by JID. */
  get groupNames(): Pick<GroupNames, 'get' | 'want'> {
    return this.#groupNames;
  }

  /** @throws {NotConnectedError} */
  openSocket(): WASocket {
    if (!this.socket) throw new NotConnectedError(this.#options.accountId);
    return this.socket;
  }

  /** As ChatProvider.send. */
  async send(message: OutgoingMessage, content?: Uint8Array): Promise<void> {
    await this.#sender.send(message, content, this.openSocket());
  }

  /** As PasskeyCeremony.input. */
  usePasskey(input: PasskeyInput): void {
    if (!this.#passkey) throw new PasskeyNotAskedError(this.#options.accountId);
    this.#passkey.input(input);
  }

  /** As Sender.react. @throws {NotConnectedError} */
  async react(chat: string, react: { text: string; key: WAMessageKey }): Promise<void> {
    await this.#sender.react(chat, react, this.openSocket());
  }

  /** Ends the socket synchronously, so that Baileys cannot acknowledge or request again what was not stored. */
  storageFailed(error: unknown): void {
    const opened = this.#opened;
    // Once per socket: when a database fails, many writes fail.
    if (!opened || opened === this.#endedForStorage) return;
    this.#endedForStorage = opened;
    this.#options.log.error({ err: error }, 'cannot store incoming messages, disconnecting');
    const isDead = error instanceof Wa2aiError && error.disposition === 'dead';
    const isNamed = isDead || error instanceof StorageTroubleError;
    const reason = isNamed ? error.message : 'The database did not answer';
    this.#isOpen = false;
    opened.socket.end(new Error(reason)).catch(() => undefined);
    this.#manager.breakOff(reason, { isStorageTrouble: true });
  }

  /** Shows that the account is open, with its limit if it has one. Does nothing while it is not open. */
  showOpen(): void {
    if (!this.#isOpen) return;
    const { status, account, limits } = this.#parts;
    const identity = account.identity();
    const limit = limits.current();
    if (limit) {
      const retryAtMs = Math.round(this.#options.clock.now() + limit.leftMs);
      status.set({ state: 'restricted', ...reasonOf(limit), retryAtMs, isConnected: true }, identity);
    } else {
      status.set({ state: 'open', isConnected: true }, identity);
    }
  }

  async #waitsForLink(): Promise<boolean> {
    const { account, inbound, status } = this.#parts;
    try {
      const auth = await account.load();
      const { record } = account;
      if (record?.state !== 'logged-out' || auth.isLinked()) return false;
      await this.#replay();
      inbound.unlinked();
      const { reason, phrase } = record;
      status.set({ state: 'logged-out', reason, ...(phrase && { phrase }) });
      return true;
    } catch (error) {
      this.#options.log.warn({ err: error }, 'account not read, retrying with the connection');
      return false;
    }
  }

  async #archiveKeys(): Promise<void> {
    const { account, inbound, limits } = this.#parts;
    await account.archiveKeys();
    inbound.unlinked();
    // Limits belong to the linked number, and the next link may have another one.
    limits.forget();
  }

  async #replay(): Promise<void> {
    if (this.#isReplayed) return;
    await this.#parts.inbound.replay();
    this.#isReplayed = true;
  }

  #mayUseSocket(): boolean {
    return !this.#isAbandoned && this.#options.fence?.isHeld() !== false;
  }

  async #open(): Promise<WASocket> {
    const { accountId, storage, whatsappWsUrl, log, connect = openSocket } = this.#options;
    const { account, limits, pairing } = this.#parts;
    const auth = await account.load();
    const ban = limits.connection.current();
    if (ban) throw new ConnectionPostponedError(reasonOf(ban), ban.leftMs);
    await storage?.check();
    await this.#readProxy();
    const version = await this.#chooseVersion();
    await auth.prepare();
    await this.#replay();
    if (!auth.isLinked() && this.#parts.status.state === 'connecting') pairing.show();
    // Another node may have taken the account since the last renewal; a login would end its connection.
    await this.#options.fence?.verify();
    if (!this.#mayUseSocket()) throw new LeaseLostError(accountId);
    this.#opened = connect({
      accountId,
      auth,
      memory: this.#memory,
      getMessage: (key) => this.#resend.find(key),
      groupNamed: (jid, name) => void this.#groupNames.heard(jid, name),
      mayUse: () => this.#mayUseSocket(),
      whatsappWsUrl,
      version: tripleOf(version.version),
      ...(this.#proxy && { proxy: this.#proxy }),
      log,
    });
    return this.#opened.socket;
  }

  async #readProxy(): Promise<void> {
    this.#proxy = await this.#options.proxy?.();
  }

  /** @throws {VersionRefusedError} WhatsApp refuses the only version, and nobody asked for a login */
  async #chooseVersion(): Promise<ClientVersion> {
    const { versions } = this.#options;
    const isAsked = this.#isAsked;
    this.#isAsked = false;
    const chosen = await versions.choose();
    this.#version = chosen;
    // An account that was open may still be accepted with a version that was refused for another one.
    const wasRefused = !this.#wasOpen || this.#refused.has(chosen.version);
    if (chosen.refusedSinceMs !== undefined && wasRefused && !isAsked) throw new VersionRefusedError();
    return chosen;
  }

  async #untilOtherVersion(
    isByWhatsApp: boolean,
    signal: AbortSignal,
    onWait: (wait: VersionWait) => void,
  ): Promise<void> {
    const { versions } = this.#options;
    const version = this.#version;
    if (!version) return;
    this.#refused.add(version.version);
    if (isByWhatsApp) await versions.refused(version);
    await versions.untilOther(version, { accountId: this.#options.accountId, signal, onWait });
  }

  #attach(socket: WASocket): () => void {
    const { account, inbound, pairing, status, whatsAppTime } = this.#parts;
    const { auth } = account;
    const detachInbound = this.#opened && auth ? inbound.attach({ ...this.#opened, auth }) : undefined;
    const codes = auth && pairing.codesOf(socket, auth);
    const passkey = auth && this.#passkeyOf(socket, auth);
    this.#passkey = passkey;
    const detach = listenTo(socket, this.#options.log, {
      loggedIn: ({ attrs }) => whatsAppTime.set(attrs.t),
      creds: (hasStateKey) => {
        auth?.saveCreds();
        if (hasStateKey && auth) void this.#locks.keyArrived(socket, auth);
      },
      pairDevice: (node) => codes?.pairDevice(node),
      pairingRefreshed: (node) => codes?.refresh(node),
      passkeyRequested: async (node) => {
        await codes?.acknowledge(node);
        if (account.isLinked()) return;
        codes?.end();
        await passkey?.requested(node);
      },
      passkeyContinued: async (node) => {
        await codes?.acknowledge(node);
        passkey?.continued(node);
      },
      paired: () => {
        codes?.end();
        passkey?.paired();
        status.set({ state: 'connecting' });
      },
      reachOutLocked: (lock) => this.#onLocked(lock),
      newChatsCounted: (cap) => this.#onCounted(cap),
      receipt: (node) => this.#onReceipt(node),
      ack: (node) => this.#onAck(node),
      upsert: (message, type) => inbound.upserted(message, type),
      groupChanged: (jid, subject) => {
        this.#memory.groups.delete(jid);
        return subject ? this.#groupNames.heard(jid, subject) : undefined;
      },
      chatLocked: (jid, isLocked) => this.#locks.changed(jid, isLocked),
    });
    return () => {
      this.#isOpen = false;
      codes?.end();
      passkey?.end();
      this.#passkey = undefined;
      detachInbound?.();
      detach();
    };
  }

  #passkeyOf(socket: WASocket, auth: AuthState): PasskeyCeremony {
    const { accountId, clock, log } = this.#options;
    return new PasskeyCeremony({
      accountId,
      socket,
      auth,
      clock,
      log,
      onStep: (passkey, expiresAtMs) =>
        this.#parts.status.set({ state: 'passkey-required', passkey, expiresAtMs }),
      onGivenUp: (reason) => this.#manager.breakOff(reason, { isPasskeyRequired: true }),
    });
  }

  async #closed(): Promise<void> {
    this.#opened = undefined;
    this.#endedForStorage = undefined;
    this.#asking = undefined;
    this.#sender.connectionClosed();
    // The next connection sends again what is not acknowledged.
    await Promise.all([this.#receipts.flush(), this.#parts.account.auth?.flush()]);
  }

  #onPhase(phase: ConnectionPhase): void {
    const { account, inbound, limits, pairing, status } = this.#parts;
    if (phase.state === 'open') {
      this.#isOpen = true;
      limits.connection.forget();
      this.#refused.clear();
      this.#wasOpen = true;
      if (this.#version) void this.#options.versions.accepted(this.#version);
      inbound.loggedIn();
      // Before the messages that wait are sent.
      void this.#untilLimitsKnown();
      this.showOpen();
      if (this.#opened && account.auth) void this.#locks.opened(this.#opened.socket, account.auth);
      return;
    }
    if (phase.state === 'restricted') void limits.connection.begin(phase);
    const isPairing = account.auth !== undefined && !account.isLinked();
    if (phase.state === 'connecting' && isPairing) pairing.show();
    else status.set(phase);
  }

  #onLocked({ isActive, untilMs, type }: ReachOutLock): void {
    const { limits } = this.#parts;
    if (!isActive) {
      limits.newContacts.end();
      return;
    }
    const said = type ? say('account.new-contacts-limited', { code: type }) : say('account.new-contacts');
    void limits.newContacts.begin({ ...because(said), forMs: this.#limitMs(untilMs) });
  }

  #onCounted({ isCapped, used, quota, untilMs }: NewChatCap): void {
    const { limits } = this.#parts;
    if (!isCapped) {
      limits.newChats.end();
      return;
    }
    const said = say('account.new-chats-used', { used: used ?? '?', total: quota ?? '?' });
    void limits.newChats.begin({ ...because(said), forMs: this.#limitMs(untilMs) });
  }

  #limitMs(untilMs: number | undefined): number {
    return untilMs === undefined ? DEFAULT_LIMIT_MS : untilMs - this.#parts.whatsAppTime.now() + MARGIN_MS;
  }

  /** Asks WhatsApp which limits the account has; the answers come as events too. Never rejects. */
  async #askLimits(socket: WASocket): Promise<void> {
    const { clock, log } = this.#options;
    const failed = (error: unknown) => log.warn({ err: error }, 'cannot read the limits of WhatsApp');
    const lock = socket.fetchAccountReachoutTimelock().catch(failed);
    const cap = socket
      .fetchNewChatMessageCap()
      .then((found) => this.#onCounted(newChatCapOf(found)))
      .catch(failed);
    await within(clock, LIMITS_WAIT_MS, Promise.all([lock, cap]));
  }

  /** Resolves with the answer of WhatsApp when it is asked which limits the account has. */
  get limitsAsked(): Promise<void> | undefined {
    return this.#asking;
  }

  /** Refusals at the same time share a question. */
  async #untilLimitsKnown(): Promise<void> {
    const { socket } = this;
    if (!socket) return;
    this.#asking ??= this.#askLimits(socket);
    const asking = this.#asking;
    await asking;
    if (this.#asking === asking) this.#asking = undefined;
  }

  async #onReceipt(node: BinaryNode): Promise<void> {
    const { account } = this.#parts;
    const receipts = receiptsOf(node, account.jids(), this.#options.clock.now());
    const from = receipts.length > 0 ? await account.chatOf(node.attrs.from ?? '') : undefined;
    if (from) this.#receipts.add(receipts.map((receipt) => ({ ...receipt, from })));
  }

  async #onAck(node: BinaryNode): Promise<void> {
    const ack = ackOf(node, this.#options.clock.now());
    if (ack?.kind === 'acked') this.#receipts.add([ack.receipt]);
    if (ack?.kind !== 'refused') return;
    const { limits } = this.#parts;
    if (ack.code === TOO_MANY_MESSAGES) await limits.rate.begin(RATE_LIMIT);
    if (ack.code === REACH_OUT_REFUSED) await this.#untilLimitsKnown();
    const isLimit = ack.code === TOO_MANY_MESSAGES || ack.code === REACH_OUT_REFUSED;
    await this.#options.events.refused(
      ack.waMessageId,
      ack.code,
      isLimit ? limits.current()?.leftMs : undefined,
    );
  }

  /** @throws {NotConnectedError}, and what Baileys throws */
  async #metadataOf(group: string): Promise<GroupMetadata> {
    const known = this.#memory.groups.get(group);
    if (known) return known;
    const fresh = await this.openSocket().groupMetadata(group);
    this.#memory.groups.set(group, fresh);
    return fresh;
  }

  async #membersOf(group: string): Promise<string[]> {
    const { participants } = await this.#metadataOf(group);
    return participants.flatMap(({ id, lid, phoneNumber }) => [id, lid ?? '', phoneNumber ?? '']);
  }
}
