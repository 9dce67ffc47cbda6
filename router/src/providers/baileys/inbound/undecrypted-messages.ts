import type { BinaryNode, WAMessage } from '@whiskeysockets/baileys';
import type { Logger } from '../../../core/ports/logger.ts';
import { messageKeyOf, type OwnJids } from '../messages/stanza.ts';
import type { ChatLanes } from './chat-lanes.ts';
import type { KeptPlaces } from './kept-places.ts';
import type { OrderedLanes } from './ordered-lanes.ts';
import type { StanzaDelivery } from './stanza-delivery.ts';
import type { StanzaMemory } from './stanza-memory.ts';
import { noteOf, type Undecryptable, UndecryptableWatch } from './undecryptable.ts';

export interface UnreadMessagesDeps {
  memory: StanzaMemory;
  places: KeptPlaces;
  lanes: OrderedLanes;
  chats: ChatLanes;
  delivery: StanzaDelivery;
  own(): OwnJids;
  log: Logger;
}

/** Messages whose text is not here and was asked for; core gets a note of each whose text does not come. */
export class UndecryptedMessages {
  readonly #deps: UnreadMessagesDeps;
  readonly #watch: UndecryptableWatch;

  constructor(deps: UnreadMessagesDeps) {
    this.#deps = deps;
    this.#watch = new UndecryptableWatch((message) => this.#giveUp(message), deps.log);
  }

  /** It could not be decrypted, once more or for the first time. */
  failed(message: Undecryptable): void {
    this.#deps.memory.note(message.key, message.order, 'failed');
    this.#watch.failed(message);
  }

  /** Baileys told a message that came without ciphertext, and asks the phone for its content. */
  missing(message: WAMessage): void {
    const { remoteJid, participant, id, fromMe } = message.key;
    if (fromMe || !remoteJid || !id) return;
    const attrs: BinaryNode['attrs'] = { id, from: remoteJid, t: String(message.messageTimestamp ?? '') };
    if (participant) attrs.participant = participant;
    const key = messageKeyOf(message);
    this.failed({ key, attrs, order: this.#deps.memory.orderOf(key) });
  }

  /** The text is here after all. */
  resolved(key: string): void {
    this.#watch.resolved(key);
  }

  /** The service ends: nobody waits for any of them longer. */
  finish(): void {
    this.#watch.finish();
  }

  /** Its text is lost, and nobody is asked for it. */
  lost(attrs: BinaryNode['attrs'], order: bigint): void {
    this.#note(attrs, order);
  }

  #giveUp({ key, attrs, order }: Undecryptable): void {
    this.#deps.places.giveUp(key);
    this.#note(attrs, order);
  }

  /** The note has a lane of its own: it need not wait for what is before the message. */
  #note(attrs: BinaryNode['attrs'], order: bigint): void {
    const { lanes, chats, delivery, own } = this.#deps;
    const message = noteOf(attrs, own());
    if (!message) return;
    const note = { key: messageKeyOf(message), message, order, type: 'notify' as const };
    lanes.push(`notes of ${chats.of(attrs)}`, () => delivery.deliverMessage(note));
  }
}
