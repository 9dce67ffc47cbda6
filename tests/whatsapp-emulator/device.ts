import type { BinaryNode } from '@whiskeysockets/baileys';
import type { KeyBundle, LinkedDevice, PhoneActor } from './actors.ts';
import type { Connection } from './connection.ts';
import { EmulatorError } from './emulator-error.ts';
import { Mailbox } from './mailbox.ts';
import { childBytes, children, deviceJid, uintOf } from './nodes.ts';

const LOW_KEY_COUNT = 5;

interface OneTimeKey {
  readonly keyId: number;
  readonly publicKey: Uint8Array;
}

/** The keys that a client registered with: its identity and its first signed pre-key. */
export interface RegisteredKeys {
  readonly registrationId: number;
  readonly identityKey: Uint8Array;
  readonly signedPreKey: KeyBundle['signedPreKey'];
}

/** A client linked to an account: its keys on the server, its waiting stanzas, its connection if any. */
export class Device implements LinkedDevice {
  readonly phone: PhoneActor;
  readonly number: number;
  readonly keyIndex: number;
  /** The Noise static public key, hex, which identifies the client at login. */
  readonly noiseKey: string;
  readonly pn: string;
  readonly lid: string;
  readonly mailbox = new Mailbox();
  connection: Connection | undefined;
  /** True between `<ib><offline>` and the end of the connection: new stanzas are sent at once. */
  isLive = false;
  #keys: RegisteredKeys;
  #oneTimeKeys: OneTimeKey[] = [];
  #isWarned = false;

  constructor(phone: PhoneActor, number: number, keyIndex: number, noiseKey: string, keys: RegisteredKeys) {
    this.phone = phone;
    this.number = number;
    this.keyIndex = keyIndex;
    this.noiseKey = noiseKey;
    this.pn = deviceJid(phone.pn, number);
    this.lid = deviceJid(phone.lid, number);
    this.#keys = keys;
  }

  get isOnline(): boolean {
    return this.connection !== undefined;
  }

  get oneTimeKeyCount(): number {
    return this.#oneTimeKeys.length;
  }

  /** True once per shortage of one-time keys: the client must be notified. */
  isToBeWarned(): boolean {
    if (this.#isWarned || this.#oneTimeKeys.length >= LOW_KEY_COUNT) return false;
    this.#isWarned = true;
    return true;
  }

  get identity(): RegisteredKeys {
    return this.#keys;
  }

  /** Stores an `encrypt` set query: all keys, or only a rotated signed key. */
  storeKeys(iq: BinaryNode): void {
    const rotate = children(iq).find((child) => child.tag === 'rotate');
    const skey = children(rotate ?? iq).find((child) => child.tag === 'skey');
    const identityKey = childBytes(iq, 'identity') ?? this.#keys.identityKey;
    const registrationId = uintOf(childBytes(iq, 'registration')) ?? this.#keys.registrationId;
    this.#keys = { registrationId, identityKey, signedPreKey: signedKeyOf(skey) };
    const list = children(iq).find((child) => child.tag === 'list');
    for (const key of children(list)) this.#oneTimeKeys.push(oneTimeKeyOf(key));
    this.#isWarned = false;
  }

  /** A bundle for a new session; uses up a one-time key if there is one. */
  takeKeyBundle(): KeyBundle {
    return { ...this.#keys, preKey: this.#oneTimeKeys.shift() };
  }
}

function signedKeyOf(skey: BinaryNode | undefined): KeyBundle['signedPreKey'] {
  const signature = childBytes(skey, 'signature');
  if (!signature) throw new EmulatorError('the signed pre-key has no signature');
  return { ...oneTimeKeyOf(skey), signature };
}

function oneTimeKeyOf(key: BinaryNode | undefined): OneTimeKey {
  const publicKey = childBytes(key, 'value');
  const keyId = uintOf(childBytes(key, 'id'));
  if (!publicKey || keyId === undefined) throw new EmulatorError('a pre-key lacks its id or its value');
  return { keyId, publicKey };
}
