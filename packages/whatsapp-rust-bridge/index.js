// What Baileys imports of `whatsapp-rust-bridge`, with node:crypto. `overrides` of package.json installs this package instead of
// the one of that name, which compiles 0.7 MB of WebAssembly whenever it is loaded. Workaround: refs/baileys-workarounds.md.
// What each export does is in index.d.ts.
import { createHash, hkdfSync } from 'node:crypto';

/** The hash of app state has 64 little-endian numbers of 16 bits. */
const LT_HASH_BYTES = 128;

export function hkdf(key, bytes, { salt, info }) {
  return new Uint8Array(hkdfSync('sha256', key, salt ?? new Uint8Array(), info ?? '', bytes));
}

export function md5(bytes) {
  return Uint8Array.from(createHash('md5').update(bytes).digest());
}

export function expandAppStateKeys(keyData) {
  const expanded = hkdf(keyData, 160, { info: 'WhatsApp Mutation Keys' });
  const key = (index) => expanded.slice(index * 32, (index + 1) * 32);
  return {
    indexKey: key(0),
    valueEncryptionKey: key(1),
    valueMacKey: key(2),
    snapshotMacKey: key(3),
    patchMacKey: key(4),
  };
}

export class LTHashAntiTampering {
  subtractThenAdd(base, subtract, add) {
    if (base.length !== LT_HASH_BYTES) {
      throw new Error(`A hash of app state has ${LT_HASH_BYTES} bytes, and this one has ${base.length}.`);
    }
    const sum = Uint8Array.from(base);
    for (const part of subtract) mix(sum, part, -1);
    for (const part of add) mix(sum, part, 1);
    return sum;
  }
}

function mix(sum, part, sign) {
  const view = new DataView(sum.buffer);
  const expanded = new DataView(hkdf(part, LT_HASH_BYTES, { info: 'WhatsApp Patch Integrity' }).buffer);
  for (let at = 0; at < LT_HASH_BYTES; at += 2) {
    view.setUint16(at, view.getUint16(at, true) + sign * expanded.getUint16(at, true), true);
  }
}
