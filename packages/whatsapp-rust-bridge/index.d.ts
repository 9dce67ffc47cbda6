/** HKDF (RFC 5869) with SHA-256. @throws {Error} node:crypto refuses the length */
export function hkdf(
  key: Uint8Array,
  bytes: number,
  options: { salt?: Uint8Array | null; info?: string | null },
): Uint8Array;

/** MD5, 16 bytes. */
export function md5(bytes: Uint8Array): Uint8Array;

/** The keys of WhatsApp's app state, 32 bytes each. */
export interface AppStateKeys {
  indexKey: Uint8Array;
  valueEncryptionKey: Uint8Array;
  valueMacKey: Uint8Array;
  snapshotMacKey: Uint8Array;
  patchMacKey: Uint8Array;
}

/** Derives the keys of app state from the key that the phone sends. */
export function expandAppStateKeys(keyData: Uint8Array): AppStateKeys;

/** The sum over app state that does not depend on the order of its parts. */
export class LTHashAntiTampering {
  /** @param base 128 bytes, which stay as they are. @throws {Error} `base` has another size */
  subtractThenAdd(base: Uint8Array, subtract: readonly Uint8Array[], add: readonly Uint8Array[]): Uint8Array;
}
