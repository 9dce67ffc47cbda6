import type { BinaryNode, WAMessage } from '@whiskeysockets/baileys';
import type { Logger } from '../../../core/ports/logger.ts';
import { fillEnvelope, type OwnJids } from '../messages/stanza.ts';
import type { CoreDelivery, Decrypted } from './core-delivery.ts';
import type { JournalTrim } from './journal-trim.ts';
import type { StanzaMemory } from './stanza-memory.ts';

/** A message whose ciphertexts are decrypted: fresh from the socket, or out of the journal. */
export interface DecryptedStanza {
  /** As `messageKeyOf`. */
  key: string;
  envelope: WAMessage;
  attrs: BinaryNode['attrs'];
  order: bigint;
  /** It waited at WhatsApp. */
  offline: boolean;
  plaintexts: Uint8Array[];
  /** Of the ciphertexts whose plaintexts are here: its journal entries. */
  hashes: string[];
}

export interface StanzaDeliveryDeps {
  handOver: CoreDelivery;
  memory: StanzaMemory;
  trim: JournalTrim;
  own(): OwnJids;
  log: Logger;
}

/** The last stretch to core: from plaintexts to a message that core has, and that the journal need not keep. */
export class StanzaDelivery {
  readonly #deps: StanzaDeliveryDeps;

  constructor(deps: StanzaDeliveryDeps) {
    this.#deps = deps;
  }

  /** @returns false when the plaintexts are no message; the journal keeps nothing of them then */
  async deliver(stanza: DecryptedStanza): Promise<boolean> {
    const { own, trim, log } = this.#deps;
    const { key, order, hashes } = stanza;
    let message: WAMessage;
    try {
      message = fillEnvelope(stanza.envelope, stanza.plaintexts, own());
    } catch (error) {
      log.warn({ err: error }, 'a decrypted message is malformed');
      trim.received(hashes);
      return false;
    }
    await this.deliverMessage({ key, message, order, type: stanza.offline ? 'append' : 'notify' }, hashes);
    return true;
  }

  /** @param hashes the journal's entries of the message, when it has any */
  async deliverMessage(item: Decrypted & { key: string }, hashes: readonly string[] = []): Promise<void> {
    const { handOver, memory, trim } = this.#deps;
    if ((await handOver.handOver(item)) === 'left') return;
    memory.note(item.key, item.order, 'received');
    trim.received(hashes);
  }
}
