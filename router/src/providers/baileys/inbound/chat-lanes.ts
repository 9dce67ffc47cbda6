import type { BinaryNode } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import { addressesOf } from '../messages/stanza.ts';

const MAX_PEOPLE = 10_000;

/** Names the lane of a stanza's chat. A person's number and LID are one lane once a stanza named both. */
export class ChatLanes {
  readonly #lidOf = new LRUCache<string, string>({ max: MAX_PEOPLE });

  of(attrs: BinaryNode['attrs']): string {
    const { chat, phone, lid } = addressesOf(attrs);
    if (phone && lid) this.#lidOf.set(phone, lid);
    const person = lid ?? (phone && this.#lidOf.get(phone)) ?? phone;
    return person ?? chat;
  }
}
