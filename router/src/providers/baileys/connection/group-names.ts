import { LRUCache } from 'lru-cache';
import { parseJid } from '../../../core/chat-id.ts';
import type { Logger } from '../../../core/logger.ts';
import { MAX_NAME_CHARS, words } from '../messages/proto-values.ts';

/** Groups that wait for their question; the next message of a further one asks for it again. */
const MAX_WAITING = 200;
/** How long a question that failed is not repeated: the account may not be a member any more. */
const REPEAT_MS = 600_000;

interface GroupNamesOptions {
  /** Asks WhatsApp. Rejects: it does not say, or there is no connection. */
  ask(jid: string): Promise<string>;
  /** Stores the name of a group. Rejects: it was not stored. */
  store(groupId: string, name: string): Promise<void>;
  log: Logger;
}

/**
 * The names of groups, which messages do not have. WhatsApp tells them when a message is sent to a group or its name changes;
 * for other groups it is asked, for one at a time, after a message of the group is stored.
 */
export class GroupNames {
  readonly #options: GroupNamesOptions;
  readonly #names = new LRUCache<string, string>({ max: 2_000 });
  readonly #asked = new LRUCache<string, true>({ max: 2_000, ttl: REPEAT_MS });
  readonly #waiting = new Set<string>();
  #isAsking = false;

  constructor(options: GroupNamesOptions) {
    this.#options = options;
  }

  /** Undefined: this process has not heard it. */
  get(jid: string): string | undefined {
    return this.#names.get(jid);
  }

  /** Stores what WhatsApp said. Never rejects: the next messages of the group have the name too. */
  async heard(jid: string, name: string): Promise<void> {
    const [address, shown] = [parseJid(jid), words(name, MAX_NAME_CHARS)];
    if (address?.kind !== 'group' || shown === '' || this.#names.get(jid) === shown) return;
    this.#names.set(jid, shown);
    try {
      await this.#options.store(address.groupId, shown);
    } catch (error) {
      this.#options.log.warn({ err: error }, 'name of a group not stored');
    }
  }

  /** Asks for the name of a group if it is not known. Does not wait for the answer. */
  want(jid: string): void {
    if (this.#names.has(jid) || this.#asked.has(jid) || this.#waiting.size >= MAX_WAITING) return;
    this.#waiting.add(jid);
    void this.#askAll();
  }

  /** Never rejects. */
  async #askAll(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    // The loop also reaches groups that are added while it runs.
    for (const jid of this.#waiting) {
      this.#asked.set(jid, true);
      try {
        if (!this.#names.has(jid)) await this.heard(jid, await this.#options.ask(jid));
      } catch (error) {
        this.#options.log.debug({ err: error }, 'WhatsApp does not tell the name of a group');
      }
      this.#waiting.delete(jid);
    }
    this.#isAsking = false;
  }
}
