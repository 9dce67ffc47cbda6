import { randomInt } from 'node:crypto';
import { Curve, generateSignalPubKey, type KeyPair, signedKeyPair } from '@whiskeysockets/baileys';
import type { KeyBundle } from './actors.ts';

/** The private keys in the form of libsignal. */
export interface LibsignalKeyPair {
  privKey: Buffer;
  pubKey: Buffer;
}

/**
 * The Signal keys of one device: identity, one signed pre-key, and one-time pre-keys created on request.
 * Creation takes well under a millisecond: the signature over the signed pre-key (10 ms) is made at its first use.
 */
export class SignalIdentity {
  /** 14 bits, as clients choose it */
  readonly registrationId = randomInt(1, 0x3fff);
  readonly identityKey: KeyPair;
  readonly #oneTimeKeys = new Map<number, KeyPair>();
  #signedPreKey: ReturnType<typeof signedKeyPair> | undefined;
  #nextKeyId = 1;

  constructor(identityKey: KeyPair = Curve.generateKeyPair()) {
    this.identityKey = identityKey;
  }

  /** A bundle with a one-time key that no other bundle contains. */
  newBundle(): KeyBundle {
    const keyId = this.#nextKeyId++;
    const oneTimeKey = Curve.generateKeyPair();
    this.#oneTimeKeys.set(keyId, oneTimeKey);
    const signed = this.#signed();
    return {
      registrationId: this.registrationId,
      identityKey: this.identityKey.public,
      signedPreKey: { keyId: signed.keyId, publicKey: signed.keyPair.public, signature: signed.signature },
      preKey: { keyId, publicKey: oneTimeKey.public },
    };
  }

  /** The number of one-time keys that were issued and not used yet. */
  get unusedPreKeys(): number {
    return this.#oneTimeKeys.size;
  }

  ownIdentity(): LibsignalKeyPair {
    return toLibsignal(this.identityKey);
  }

  signedPreKeyPair(): LibsignalKeyPair {
    return toLibsignal(this.#signed().keyPair);
  }

  oneTimeKeyPair(keyId: number): LibsignalKeyPair | undefined {
    const pair = this.#oneTimeKeys.get(keyId);
    return pair && toLibsignal(pair);
  }

  dropOneTimeKey(keyId: number): void {
    this.#oneTimeKeys.delete(keyId);
  }

  #signed(): ReturnType<typeof signedKeyPair> {
    this.#signedPreKey ??= signedKeyPair(this.identityKey, 1);
    return this.#signedPreKey;
  }
}

function toLibsignal(pair: KeyPair): LibsignalKeyPair {
  return { privKey: Buffer.from(pair.private), pubKey: Buffer.from(generateSignalPubKey(pair.public)) };
}
