import { type AuthenticationCreds, BufferJSON, proto, type SignalDataTypeMap } from '@whiskeysockets/baileys';
import { CredentialsDamagedError } from '../../../core/errors.ts';
import { DAMAGED_VALUE } from '../../../core/ports/key-store.ts';
import { field } from '../field.ts';
import { pruneSession } from './session-pruning.ts';

/** Categories whose values contain no bytes; the others go through Baileys' BufferJSON. */
const PLAIN_CATEGORIES = new Set(['session', 'lid-mapping', 'device-list', 'sender-key-memory']);

/** A key's value in its stored form. */
export function encodeKey(category: string, value: unknown): string {
  if (category === 'session') pruneSession(value);
  if (category === 'sender-key') return encodeSenderKey(value as Uint8Array);
  return PLAIN_CATEGORIES.has(category) ? JSON.stringify(value) : JSON.stringify(value, BufferJSON.replacer);
}

/**
 * Baileys passes a sender key as JSON in a form that its own reader (BufferJSON) does not recognize as bytes. The keys
 * of skipped messages would be useless, and every late group message undecryptable. This writes the form of the reader.
 */
function encodeSenderKey(value: Uint8Array): string {
  return JSON.stringify(JSON.parse(Buffer.from(value).toString()), BufferJSON.replacer);
}

/** The value of a stored key. @throws {SyntaxError} for a text that `encodeKey` did not write */
export function decodeKey<T extends keyof SignalDataTypeMap>(
  category: T,
  text: string,
): SignalDataTypeMap[T] {
  if (PLAIN_CATEGORIES.has(category)) return JSON.parse(text);
  if (category === 'sender-key') return Buffer.from(text) as Uint8Array as SignalDataTypeMap[T];
  const value = JSON.parse(text, BufferJSON.reviver);
  if (category !== 'app-state-sync-key') return value;
  const key: unknown = proto.Message.AppStateSyncKeyData.fromObject(value);
  return key as SignalDataTypeMap[T];
}

/** Whether a stored value has the shape of its category. */
export function isReadableKey(category: keyof SignalDataTypeMap, text: string): boolean {
  if (text === DAMAGED_VALUE) return false;
  try {
    const value: unknown = category === 'sender-key' ? JSON.parse(text) : decodeKey(category, text);
    if (category === 'session') return typeof field(value, '_sessions') === 'object';
    if (category === 'pre-key') return isKeyPair(value);
    if (category === 'sender-key') return Array.isArray(value);
    return value !== null && value !== undefined;
  } catch {
    return false;
  }
}

/** The stored form of credentials. */
export function encodeCreds(creds: AuthenticationCreds): string {
  return JSON.stringify(creds, BufferJSON.replacer);
}

/** The credentials of a stored form. @throws {CredentialsDamagedError} they cannot be read, or a key is missing */
export function decodeCreds(text: string): AuthenticationCreds {
  let creds: unknown;
  try {
    creds = JSON.parse(text, BufferJSON.reviver);
  } catch (cause) {
    throw new CredentialsDamagedError({ cause });
  }
  const keyPairs = ['noiseKey', 'pairingEphemeralKeyPair', 'signedIdentityKey'].map((name) =>
    field(creds, name),
  );
  keyPairs.push(field(field(creds, 'signedPreKey'), 'keyPair'));
  const isWhole = keyPairs.every(isKeyPair) && typeof field(creds, 'registrationId') === 'number';
  if (!isWhole) throw new CredentialsDamagedError();
  return creds as AuthenticationCreds;
}

function isKeyPair(value: unknown): boolean {
  return field(value, 'public') instanceof Uint8Array && field(value, 'private') instanceof Uint8Array;
}
