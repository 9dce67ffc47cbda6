import { proto, unpadRandomMax16, writeRandomPadMax16 } from '@whiskeysockets/baileys';
import {
  GroupCipher,
  GroupSessionBuilder,
  SenderKeyDistributionMessage,
  SenderKeyName,
  SenderKeyRecord,
} from '@whiskeysockets/baileys/lib/Signal/Group/index.js';

/**
 * The sender keys of one virtual device: its own, one per group, and those that linked devices distributed to it.
 * Senders are identified by the address form of the group; a distribution and its messages must use the same one.
 */
export class SenderKeys {
  readonly #records = new Map<string, SenderKeyRecord>();

  /** The distribution message of the own key, created on first use; it decrypts later messages. */
  async distribution(group: string): Promise<Uint8Array> {
    const distribution = await new GroupSessionBuilder(this.#store).create(senderKeyName(group, OWN));
    return distribution.serialize();
  }

  /** Pads and encrypts for a group with the own key, which `distribution` must have created. */
  async encrypt(group: string, message: proto.IMessage): Promise<Uint8Array> {
    const padded = writeRandomPadMax16(proto.Message.encode(message).finish());
    return new GroupCipher(this.#store, senderKeyName(group, OWN)).encrypt(padded);
  }

  /** Stores a key that another device distributed. */
  async learn(group: string, sender: string, distribution: Uint8Array): Promise<void> {
    const message = new SenderKeyDistributionMessage(null, null, null, null, Buffer.from(distribution));
    await new GroupSessionBuilder(this.#store).process(senderKeyName(group, sender), message);
  }

  /** @throws {Error} when the sender distributed no matching key, or the key was used before */
  async decrypt(group: string, sender: string, bytes: Uint8Array): Promise<proto.Message> {
    const cipher = new GroupCipher(this.#store, senderKeyName(group, sender));
    return proto.Message.decode(unpadRandomMax16(await cipher.decrypt(Buffer.from(bytes))));
  }

  /** Deletes the own key of a group (the next message needs a new distribution) and those of all others. */
  forget(group: string): void {
    for (const name of this.#records.keys()) if (name.startsWith(`${group}::`)) this.#records.delete(name);
  }

  readonly #store = {
    loadSenderKey: async (name: SenderKeyName): Promise<SenderKeyRecord> => {
      const key = name.toString();
      const record = this.#records.get(key) ?? new SenderKeyRecord();
      this.#records.set(key, record);
      return record;
    },
    storeSenderKey: async (name: SenderKeyName, record: SenderKeyRecord): Promise<void> => {
      this.#records.set(name.toString(), record);
    },
  };
}

const OWN = 'own';

function senderKeyName(group: string, sender: string): SenderKeyName {
  return new SenderKeyName(group, { id: sender, deviceId: 0, toString: () => `${sender}.0` });
}
