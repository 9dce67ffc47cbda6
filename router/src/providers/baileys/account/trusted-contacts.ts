import type { SignalKeyStore, WASocket } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import { parseJid } from '../../../core/chat-id.ts';
import type { Logger } from '../../../core/ports/logger.ts';

/** WhatsApp wants a new token for a contact each week (Utils/tc-token-utils.js). */
const WEEK_SECONDS = 7 * 24 * 60 * 60;

/**
 * Remembers which contacts were given a privacy token. Baileys gives one after a send and notes it in a key transaction
 * that has ended by then, so it is lost, and every message is followed by one more query for a token.
 */
export class TrustedContacts {
  readonly #log: Logger;
  /** Week in which a chat was noted. */
  readonly #noted = new LRUCache<string, number>({ max: 20_000 });

  constructor(log: Logger) {
    this.#log = log;
  }

  /** A message went out to this chat: Baileys gave a token right after it if it knew of none. Never rejects. */
  async sentTo(
    jid: string,
    socket: Pick<WASocket, 'signalRepository'>,
    keys: SignalKeyStore,
    nowMs: number,
  ): Promise<void> {
    const address = parseJid(jid);
    if (address?.kind !== 'phone' && address?.kind !== 'lid') return;
    const nowSeconds = Math.floor(nowMs / 1000);
    const week = Math.floor(nowSeconds / WEEK_SECONDS);
    if (this.#noted.get(jid) === week) return;
    this.#noted.set(jid, week);
    try {
      // Baileys keeps tokens under the LID where there is one.
      const lid = address.kind === 'phone' ? await socket.signalRepository.lidMapping.getLIDForPN(jid) : jid;
      const id = lid ?? jid;
      const { [id]: entry } = await keys.get('tctoken', [id]);
      if (entry?.senderTimestamp && Math.floor(entry.senderTimestamp / WEEK_SECONDS) >= week) return;
      await keys.set({
        tctoken: { [id]: { token: Buffer.alloc(0), ...entry, senderTimestamp: nowSeconds } },
      });
    } catch (error) {
      this.#noted.delete(jid);
      this.#log.debug({ err: error }, 'privacy token not noted; it is given again with the next message');
    }
  }
}
