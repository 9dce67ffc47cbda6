import type { WASocket } from '@whiskeysockets/baileys';
import type { Logger } from '../../../core/logger.ts';
import type { ChatAddress } from '../../../core/messages/inbound-message.ts';
import type { AuthState } from '../signal/auth-state.ts';

/** The part of WhatsApp's app state that says which chats are locked. */
const COLLECTION = 'regular_low';

interface ChatLocksOptions {
  /** The chat of a JID; undefined: it is not a chat. */
  chatOf(jid: string): Promise<ChatAddress | undefined>;
  /** Stores whether a chat is locked. Rejects: it was not stored. */
  store(chat: ChatAddress, isLocked: boolean): Promise<void>;
  /** A change could not be stored: it is read again with the next connection, which should be soon. */
  onStorageFailed(error: unknown): void;
  log: Logger;
}

/**
 * Which chats the owner has locked on the phone. Baileys reports each change, and stores how far it has read before wa2ai stores
 * the change. So each process reads all of them once, also those of before the account was linked, and again when one could
 * not be stored.
 */
export class ChatLocks {
  readonly #options: ChatLocksOptions;
  /** The keys with which all locks were read. */
  #readWith: Pick<AuthState, 'keys'> | undefined;
  #stored: Promise<void> = Promise.resolve();

  constructor(options: ChatLocksOptions) {
    this.#options = options;
  }

  /** Call it when a connection is open. A failure is logged; the next connection reads again. */
  async opened(socket: Pick<WASocket, 'resyncAppState'>, auth: Pick<AuthState, 'keys'>): Promise<void> {
    if (this.#readWith === auth) return;
    this.#readWith = auth;
    try {
      const known = await auth.keys.get('app-state-sync-version', [COLLECTION]);
      if (known[COLLECTION]) await auth.keys.set({ 'app-state-sync-version': { [COLLECTION]: null } });
      await socket.resyncAppState([COLLECTION], true);
    } catch (error) {
      this.#readWith = undefined;
      this.#options.log.warn({ err: error }, 'locked chats not read, retrying with the next connection');
    }
  }

  /**
   * Call it when the phone sent a key of the app state, as after linking. What Baileys reads at that moment stays unread: it
   * remembers that there was no key.
   */
  keyArrived(...connection: Parameters<ChatLocks['opened']>): Promise<void> {
    this.#readWith = undefined;
    return this.opened(...connection);
  }

  /** Stores a change, in the order of the calls. */
  changed(jid: string, isLocked: boolean): Promise<void> {
    this.#stored = this.#stored.then(() => this.#store(jid, isLocked));
    return this.#stored;
  }

  async #store(jid: string, isLocked: boolean): Promise<void> {
    const { chatOf, store, onStorageFailed, log } = this.#options;
    try {
      const chat = await chatOf(jid);
      if (chat) await store(chat, isLocked);
    } catch (error) {
      log.warn({ err: error }, 'lock of a chat not stored, reading it again');
      this.#readWith = undefined;
      onStorageFailed(error);
    }
  }
}
