import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as ours from 'whatsapp-rust-bridge';
import * as original from 'whatsapp-rust-bridge-original';
import { repositoryRoot } from '../../../../support/repository.ts';

/** Its types are stricter than its code. */
const theirs = original as unknown as typeof ours;

const { resolve } = createRequire(import.meta.url);
const baileys = dirname(resolve('@whiskeysockets/baileys'));

const bytes = (maxLength: number) => fc.uint8Array({ maxLength });
const hash = fc.uint8Array({ minLength: 128, maxLength: 128 });
const parts = fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }), { maxLength: 5 });

/** The package takes each part away from its caller. */
const copies = (arrays: readonly Uint8Array[]) => arrays.map((array) => Uint8Array.from(array));

describe('the functions in the place of whatsapp-rust-bridge', () => {
  it('are what Baileys loads, in the version that it asks for', () => {
    expect(createRequire(join(baileys, 'index.js')).resolve('whatsapp-rust-bridge')).toBe(
      join(repositoryRoot, 'packages/whatsapp-rust-bridge/index.js'),
    );
    const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
    expect(read(join(repositoryRoot, 'packages/whatsapp-rust-bridge/package.json')).version).toBe(
      read(join(baileys, '../package.json')).dependencies['whatsapp-rust-bridge'],
    );
  });

  it('derive the same bytes', () => {
    const options = fc.record(
      { salt: fc.option(bytes(64)), info: fc.option(fc.string({ maxLength: 100 })) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(bytes(100), fc.integer({ min: 1, max: 255 * 32 }), options, (key, length, option) => {
        expect(ours.hkdf(key, length, option)).toEqual(theirs.hkdf(key, length, option));
      }),
    );
  });

  it('hash the same bytes', () => {
    fc.assert(
      fc.property(bytes(1_000), (text) => {
        expect(ours.md5(text)).toEqual(theirs.md5(text));
      }),
    );
  });

  it('derive the same keys of app state', () => {
    const names = ['indexKey', 'valueEncryptionKey', 'valueMacKey', 'snapshotMacKey', 'patchMacKey'] as const;
    fc.assert(
      fc.property(bytes(64), (keyData) => {
        const [own, other] = [ours.expandAppStateKeys(keyData), theirs.expandAppStateKeys(keyData)];
        for (const name of names) expect(own[name]).toEqual(other[name]);
      }),
    );
  });

  it('sum up app state to the same hash', () => {
    fc.assert(
      fc.property(hash, parts, parts, (base, subtract, add) => {
        const sum = (each: typeof ours) =>
          new each.LTHashAntiTampering().subtractThenAdd(
            Uint8Array.from(base),
            copies(subtract),
            copies(add),
          );
        expect(sum(ours)).toEqual(sum(theirs));
      }),
    );
  });

  it('refuse a hash of another size', () => {
    expect(() => new ours.LTHashAntiTampering().subtractThenAdd(new Uint8Array(64), [], [])).toThrow(
      'A hash of app state has 128 bytes, and this one has 64.',
    );
  });

  it('are all that Baileys imports of it', () => {
    const files = readdirSync(baileys, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.js'),
    );
    const imported = files.flatMap((file) => {
      const code = readFileSync(join(baileys, file), 'utf8');
      return [...code.matchAll(/\{([^}]*)\} from 'whatsapp-rust-bridge'/g)].flatMap(([, names = '']) =>
        names.split(',').map((name) => name.trim()),
      );
    });
    expect(imported.sort()).toEqual(Object.keys(ours).sort());
  });
});
