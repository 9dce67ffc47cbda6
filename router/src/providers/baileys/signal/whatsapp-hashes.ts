// What Baileys imports of `whatsapp-rust-bridge`, with node:crypto. The build puts this file in the place of that package,
// which compiles 0.7 MB of WebAssembly whenever it is loaded. Workaround: refs/baileys-workarounds.md.
import { createHash, hkdfSync } from 'node:crypto';

/** The hash of app state has 64 little-endian numbers of 16 bits. */
const LT_HASH_BYTES = 128;

/** HKDF (RFC 5869) with SHA-256. @throws {Error} node:crypto refuses the length */
export function hkdf(
  key: Uint8Array,
  bytes: number,
  { salt, info }: { salt?: Uint8Array | null; info?: string | null },
): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, salt ?? new Uint8Array(), info ?? '', bytes));
}

/** MD5, 16 bytes. */
export function md5(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(createHash('md5').update(bytes).digest());
}

/** The keys of WhatsApp's app state, 32 bytes each. */
export interface AppStateKeys {
  indexKey: Uint8Array;
  valueEncryptionKey: Uint8Array;
  valueMacKey: Uint8Array;
  snapshotMacKey: Uint8Array;
  patchMacKey: Uint8Array;
}

/** Derives the keys of app state from the key that the phone sends. */
export function expandAppStateKeys(keyData: Uint8Array): AppStateKeys {
  const expanded = hkdf(keyData, 160, { info: 'WhatsApp Mutation Keys' });
  const key = (index: number) => expanded.slice(index * 32, (index + 1) * 32);
  return {
    indexKey: key(0),
    valueEncryptionKey: key(1),
    valueMacKey: key(2),
    snapshotMacKey: key(3),
    patchMacKey: key(4),
  };
}

/** The sum over app state that does not depend on the order of its parts. */
export class LTHashAntiTampering {
  /** @param base 128 bytes, which stay as they are. @throws {Error} `base` has another size */
  subtractThenAdd(base: Uint8Array, subtract: readonly Uint8Array[], add: readonly Uint8Array[]): Uint8Array {
    if (base.length !== LT_HASH_BYTES) {
      throw new Error(`A hash of app state has ${LT_HASH_BYTES} bytes, and this one has ${base.length}.`);
    }
    const sum = Uint8Array.from(base);
    for (const part of subtract) mix(sum, part, -1);
    for (const part of add) mix(sum, part, 1);
    return sum;
  }
}

function mix(sum: Uint8Array, part: Uint8Array, sign: 1 | -1): void {
  const view = new DataView(sum.buffer);
  const expanded = new DataView(hkdf(part, LT_HASH_BYTES, { info: 'WhatsApp Patch Integrity' }).buffer);
  for (let at = 0; at < LT_HASH_BYTES; at += 2) {
    view.setUint16(at, view.getUint16(at, true) + sign * expanded.getUint16(at, true), true);
  }
}
