import { createHash } from 'node:crypto';
import { generateSignalPubKey, proto, unpadRandomMax16, writeRandomPadMax16 } from '@whiskeysockets/baileys';
import { ProtocolAddress, SessionBuilder, SessionCipher } from 'libsignal';
import { PreKeyWhisperMessage, WhisperMessage } from 'libsignal/src/protobufs.js';
import type { Addressing, KeyBundle } from './actors.ts';
import { SignalIdentity } from './signal-identity.ts';
import { SignalStore } from './signal-store.ts';

/** The same bytes were decrypted before: a redelivery, whose key is used up. */
export class RepeatedCiphertextError extends Error {}

/** The result of `encryptFor`: the `type` and the content of an `<enc>` node. */
export interface DirectCiphertext {
  type: 'pkmsg' | 'msg';
  bytes: Buffer;
}

const REMEMBERED_CIPHERTEXTS = 2_000;

/**
 * The Signal side of one virtual device: one session with each linked device, for both of its addresses, and a second one
 * when its owner's addresses have separate sessions (`session` of `encryptFor`). Calls for one device run in sequence; a call
 * that fails changes no session.
 */
export class SignalPeer {
  readonly identity: SignalIdentity;
  readonly #name: string;
  readonly #store: SignalStore;
  readonly #tails = new Map<string, Promise<unknown>>();
  readonly #decrypted = new Set<string>();

  /** @param name the user part of the owner's JID; separates its queue inside libsignal from others */
  constructor(name: string, identity = new SignalIdentity()) {
    this.#name = name;
    this.identity = identity;
    this.#store = new SignalStore(identity);
  }

  /**
   * Pads and encrypts a message for a linked device. Opens a session with the bundle when there is none; until
   * that device replies, each message to it is a `pkmsg`.
   * @param device device JID, phone number form
   * @param takeBundle called only when a session has to be opened
   * @param session of which address of the owner; default `pn`
   */
  encryptFor(
    device: string,
    message: proto.IMessage,
    takeBundle: () => KeyBundle,
    session: Addressing = 'pn',
  ): Promise<DirectCiphertext> {
    const address = this.#address(device, session);
    return this.#inOrder(device, async () => {
      if (!this.#store.hasOpenSession(address.toString())) await this.#open(address, takeBundle());
      const padded = writeRandomPadMax16(proto.Message.encode(message).finish());
      const { type, body } = await new SessionCipher(this.#store, address).encrypt(padded);
      return { type: type === 3 ? 'pkmsg' : 'msg', bytes: Buffer.from(body, 'binary') };
    });
  }

  /**
   * Decrypts a message of a linked device.
   * @throws {RepeatedCiphertextError} for bytes that were decrypted before
   * @throws {Error} for any other undecryptable message; the session is unchanged
   */
  decryptFrom(device: string, type: 'pkmsg' | 'msg', bytes: Uint8Array): Promise<proto.Message> {
    const digest = createHash('sha256').update(bytes).digest('base64');
    return this.#inOrder(device, async () => {
      if (this.#decrypted.has(digest))
        throw new RepeatedCiphertextError('this ciphertext was decrypted before');
      const padded = await this.#decryptAt(this.#address(device), type, bytes).catch((error: unknown) => {
        const second = this.#address(device, 'lid');
        if (!this.#store.hasOpenSession(second.toString())) throw error;
        return this.#decryptAt(second, type, bytes);
      });
      this.#remember(digest);
      return proto.Message.decode(unpadRandomMax16(padded));
    });
  }

  async #decryptAt(address: ProtocolAddress, type: 'pkmsg' | 'msg', bytes: Uint8Array): Promise<Buffer> {
    const before = this.#store.snapshot(address.toString());
    try {
      return await this.#decrypt(address, type, Buffer.from(bytes));
    } catch (error) {
      this.#store.restore(address.toString(), before);
      throw error;
    }
  }

  /** Opens a new session with a bundle; the former one still decrypts messages in transit. */
  openSession(device: string, bundle: KeyBundle): Promise<void> {
    return this.#inOrder(device, () => this.#open(this.#address(device), bundle));
  }

  /** Deletes all sessions with that device: its next `msg` cannot be decrypted. */
  async forgetSession(device: string): Promise<void> {
    await this.#inOrder(device, async () => {
      for (const of of ['pn', 'lid'] as const) this.#store.forget(this.#address(device, of).toString());
    });
  }

  async #open(address: ProtocolAddress, bundle: KeyBundle): Promise<void> {
    this.#store.closeSessions(address.toString());
    await new SessionBuilder(this.#store, address).initOutgoing({
      registrationId: bundle.registrationId,
      identityKey: withTypeByte(bundle.identityKey),
      signedPreKey: {
        keyId: bundle.signedPreKey.keyId,
        publicKey: withTypeByte(bundle.signedPreKey.publicKey),
        signature: Buffer.from(bundle.signedPreKey.signature),
      },
      // libsignal's types require a one-time key, its code does not
      preKey: (bundle.preKey && {
        keyId: bundle.preKey.keyId,
        publicKey: withTypeByte(bundle.preKey.publicKey),
      }) as { keyId: number; publicKey: Uint8Array },
    });
  }

  async #decrypt(address: ProtocolAddress, type: 'pkmsg' | 'msg', bytes: Buffer): Promise<Buffer> {
    const cipher = new SessionCipher(this.#store, address);
    if (type === 'msg') return this.#decryptWithOneSession(address.toString(), cipher, bytes);
    const { baseKey } = PreKeyWhisperMessage.decode(bytes.subarray(1));
    // closed here, because libsignal prints the whole session when it closes one
    if (!this.#store.knowsBaseKey(address.toString(), Buffer.from(baseKey).toString('base64'))) {
      this.#store.closeSessions(address.toString());
    }
    return cipher.decryptPreKeyWhisperMessage(bytes);
  }

  // libsignal tries its sessions in sequence and keeps the changes of failed tries; here each is used alone.
  async #decryptWithOneSession(address: string, cipher: SessionCipher, bytes: Buffer): Promise<Buffer> {
    const { ephemeralKey } = WhisperMessage.decode(bytes.subarray(1, -8));
    const keys = this.#store.sessionsFor(address, Buffer.from(ephemeralKey).toString('base64'));
    let lastError: unknown = new Error('there is no session');
    for (const key of keys) {
      const others = this.#store.isolate(address, key);
      try {
        const plaintext = await cipher.decryptWhisperMessage(bytes);
        this.#store.merge(address, others);
        return plaintext;
      } catch (error) {
        this.#store.restore(address, others);
        lastError = error;
      }
    }
    throw lastError;
  }

  #remember(digest: string): void {
    this.#decrypted.add(digest);
    if (this.#decrypted.size <= REMEMBERED_CIPHERTEXTS) return;
    const [oldest] = this.#decrypted;
    if (oldest !== undefined) this.#decrypted.delete(oldest);
  }

  #address(device: string, session: Addressing = 'pn'): ProtocolAddress {
    const [user = '', number = '0'] = (device.split('@')[0] ?? '').split(':');
    return new ProtocolAddress(`${this.#name}${session === 'lid' ? '-lid' : ''}>${user}`, Number(number));
  }

  #inOrder<T>(device: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(device) ?? Promise.resolve();
    const result = before.then(work);
    this.#tails.set(
      device,
      result.catch(() => undefined),
    );
    return result;
  }
}

function withTypeByte(key: Uint8Array): Buffer {
  return Buffer.from(generateSignalPubKey(key));
}
