import { EventEmitter } from 'node:events';
import type { InboundMessage } from '../../router/src/core/messages/inbound-message.ts';
import type { OutgoingMessage } from '../../router/src/core/models.ts';
import type { AccountStore } from '../../router/src/core/ports/account-store.ts';
import type {
  AccountStatus,
  ChatProvider,
  MessageReceipt,
} from '../../router/src/core/ports/chat-provider.ts';
import type { Journal } from '../../router/src/core/ports/inbox.ts';
import type { KeyStore } from '../../router/src/core/ports/key-store.ts';
import { createBaileysProvider } from '../../router/src/providers/baileys/baileys-provider.ts';
import type { BaileysProviderOptions } from '../../router/src/providers/baileys/provider-options.ts';
import { MemoryAccountStore } from '../doubles/memory-account-store.ts';
import { builtInVersion } from '../doubles/memory-client-versions.ts';
import { MemoryJournal } from '../doubles/memory-journal.ts';
import { MemoryKeyStore } from '../doubles/memory-key-store.ts';
import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { Phone } from '../whatsapp-emulator/phone.ts';
import { PATIENCE_MS } from '../whatsapp-emulator/timeline.ts';
import { impatientClock } from './fake-clock.ts';
import { type LoggedLine, recordingLog } from './quiet-log.ts';
import { untilEvent } from './until-event.ts';

export interface AccountStores {
  keyStore: KeyStore;
  accountStore: AccountStore;
  journal: Journal;
}

/** Stores that live as long as the test, so that a second provider is a restart of the first. */
export function memoryStores(): AccountStores {
  const journal = new MemoryJournal();
  return { journal, keyStore: new MemoryKeyStore(journal), accountStore: new MemoryAccountStore() };
}

/** A key store whose reads and commits take from none to thirty turns of the event loop, as a busy database's do. */
class UnevenKeyStore extends MemoryKeyStore {
  #calls = 0;

  override async read(...args: Parameters<MemoryKeyStore['read']>): ReturnType<MemoryKeyStore['read']> {
    await this.#delay();
    return super.read(...args);
  }

  override async commit(...args: Parameters<MemoryKeyStore['commit']>): ReturnType<MemoryKeyStore['commit']> {
    await this.#delay();
    return super.commit(...args);
  }

  async #delay(): Promise<void> {
    this.#calls += 1;
    const turns = (this.#calls * 17) % 31;
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Stores that answer sooner and later; what races shows on them. */
export function unevenStores(): AccountStores {
  const journal = new MemoryJournal();
  return { journal, keyStore: new UnevenKeyStore(journal), accountStore: new MemoryAccountStore() };
}

let sent = 0;

/** A provider on the emulator, with its events recorded and core replaced by the test. */
export class WhatsAppAccount {
  readonly provider: ChatProvider;
  readonly stores: AccountStores;
  readonly received: InboundMessage[] = [];
  readonly receipts: MessageReceipt[] = [];
  readonly refused: Array<{ waMessageId: string; code: string; limitLeftMs?: number }> = [];
  readonly states: string[] = [];
  /** By number, LID or group id of the chat: whether the owner has locked it. */
  readonly locks = new Map<string, boolean>();
  /** Names of groups, by id. */
  readonly groupNames = new Map<string, string>();
  /** Replaces core's way of storing the lock of a chat; throw to refuse it. */
  onLock: () => Promise<void> = async () => undefined;
  readonly log: LoggedLine[] = [];
  readonly sent = new Map<string, OutgoingMessage>();
  /** Replaces core's way of taking a message; throw to refuse it. */
  onReceive: (message: InboundMessage) => Promise<void> = async () => undefined;
  readonly #events = new EventEmitter().setMaxListeners(0);

  constructor(
    emulator: WhatsAppEmulator,
    stores: AccountStores = memoryStores(),
    more: Partial<BaileysProviderOptions> = {},
  ) {
    this.stores = stores;
    // Without the shortest wait between two connections, a quarter of a second.
    const clock = impatientClock(300);
    this.provider = createBaileysProvider({
      accountId: 'main',
      ...stores,
      events: {
        receive: async (message) => {
          await this.onReceive(message);
          this.received.push(message);
          this.#events.emit('received', message);
        },
        toStore: () => undefined,
        stored: () => undefined,
        receipts: async (receipts) => {
          this.receipts.push(...receipts);
          this.#events.emit('receipts');
        },
        refused: async (waMessageId, code, limitLeftMs) => {
          this.refused.push({ waMessageId, code, limitLeftMs });
          this.#events.emit('refused');
        },
        groupNamed: async (groupId, name) => {
          this.groupNames.set(groupId, name);
          this.#events.emit('groupNames');
        },
        chatLocked: async (chat, isLocked) => {
          await this.onLock();
          this.locks.set(chat.kind === 'group' ? chat.groupId : (chat.phone ?? chat.lid ?? ''), isLocked);
          this.#events.emit('locks');
        },
        status: (status) => {
          this.states.push(status.state);
          this.#events.emit('status', status);
        },
      },
      findSentMessage: async (id) => {
        const message = this.sent.get(id);
        return message && { message };
      },
      findOriginal: async () => undefined,
      clock,
      versions: builtInVersion(clock),
      log: recordingLog(this.log),
      whatsappWsUrl: emulator.url,
      maxMessageAgeMs: () => 24 * 60 * 60 * 1000,
      ...more,
    });
  }

  /** Texts of other people that were not ignored, in the order in which they were received. */
  get texts(): string[] {
    return this.received.filter((message) => !message.ignoredReason).map((message) => message.text);
  }

  /** Starts and pairs by QR; resolves when open. */
  async pairWith(phone: Phone): Promise<void> {
    await this.provider.start();
    const { qr } = await this.untilStatus((status) => status.qr !== undefined);
    const open = this.untilState('open');
    await phone.scan(qr ?? '');
    await open;
  }

  async send(to: string, text: string): Promise<OutgoingMessage> {
    sent += 1;
    const message = { accountId: 'main', to, waMessageId: `3EB0TEST${String(sent).padStart(8, '0')}`, text };
    this.sent.set(message.waMessageId, message);
    await this.provider.send(message);
    return message;
  }

  /** Answers every text with `echo: <text>`, one at a time in each chat. */
  echo(): void {
    const chains = new Map<string, Promise<unknown>>();
    this.#events.on('received', (message: InboundMessage) => {
      if (message.ignoredReason) return;
      const to = replyAddress(message);
      const before = chains.get(to) ?? Promise.resolve();
      chains.set(
        to,
        before.then(() => this.send(to, `echo: ${message.text}`)).catch(() => undefined),
      );
    });
  }

  untilState(state: AccountStatus['state'], timeoutMs?: number): Promise<AccountStatus> {
    return this.untilStatus((status) => status.state === state, timeoutMs);
  }

  /** The present status or the next that fits. */
  untilStatus(fits: (status: AccountStatus) => boolean, timeoutMs = PATIENCE_MS): Promise<AccountStatus> {
    const now = this.provider.status();
    if (fits(now)) return Promise.resolve(now);
    return this.#until('status', fits, timeoutMs);
  }

  /** Resolves when this many messages were received, ignored ones included. */
  async untilReceived(count: number, timeoutMs = PATIENCE_MS): Promise<void> {
    if (this.received.length >= count) return;
    await this.#until('received', () => this.received.length >= count, timeoutMs);
  }

  async untilReceipt(waMessageId: string, state: string, timeoutMs = PATIENCE_MS): Promise<void> {
    const isThere = () => this.receipts.some((r) => r.waMessageId === waMessageId && r.state === state);
    if (!isThere()) await this.#until('receipts', isThere, timeoutMs);
  }

  /** Resolves when a chat, given by its JID, is locked, or is not. */
  async untilLock(jid: string, isLocked: boolean): Promise<void> {
    const isSo = () => this.locks.get(jid.split('@')[0] ?? '') === isLocked;
    if (!isSo()) await this.#until('locks', isSo, PATIENCE_MS);
  }

  async untilRefused(timeoutMs = PATIENCE_MS): Promise<void> {
    if (this.refused.length === 0) await this.#until('refused', () => true, timeoutMs);
  }

  #until<T>(event: string, fits: (value: T) => boolean, timeoutMs: number): Promise<T> {
    const problem = () => `no fitting '${event}' within ${timeoutMs} ms; states: ${this.states.join(', ')}`;
    return untilEvent(this.#events, event, fits, { timeoutMs, problem });
  }
}

/** Where the reply to a message goes: the number, or the LID. */
export function replyAddress(message: InboundMessage): string {
  if (message.chat.kind === 'group') return `${message.chat.groupId}@g.us`;
  return message.chat.phone ? `${message.chat.phone}@s.whatsapp.net` : `${message.chat.lid}@lid`;
}
