import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { repositoryRoot } from '../../support/repository.ts';

const { slimProto } = await import(pathToFileURL(join(repositoryRoot, 'scripts/slim-proto.mjs')).href);

interface Kind {
  new (): Record<string, unknown>;
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
  fromObject(object: object): unknown;
  toObject(message: unknown, options: object): object;
}

const require = createRequire(import.meta.url);
const original = createRequire(require.resolve('@whiskeysockets/baileys')).resolve('../WAProto/index.js');
const code = readFileSync(original, 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'wa2ai-slim-proto-'));
const file = join(folder, 'index.mjs');
const minimal = pathToFileURL(createRequire(original).resolve('protobufjs/minimal.js')).href;
// With the root of Baileys the copy would replace Baileys' kinds, here and in tests that run later.
const copy = slimProto(code)
  .replace('"protobufjs/minimal.js"', JSON.stringify(minimal))
  .replace('$protobuf.roots["default"] || ($protobuf.roots["default"] = {})', '{}');
writeFileSync(file, copy);
const { proto: theirs } = await import(pathToFileURL(original).href);
const { proto: ours } = await import(pathToFileURL(file).href);

afterAll(() => rmSync(folder, { recursive: true }));

/** Every name in a namespace of messages, with its kind or enum. */
function namesOf(value: object, path = 'proto', found = new Map<string, unknown>()): Map<string, unknown> {
  for (const [name, each] of Object.entries(value)) {
    const isNamed = /^[A-Z]/.test(name) && (typeof each === 'function' || typeof each === 'object');
    if (!isNamed) continue;
    found.set(`${path}.${name}`, each);
    namesOf(each, `${path}.${name}`, found);
  }
  return found;
}

const isKind = (value: unknown): value is Kind => typeof value === 'function' && 'encode' in value;

/** A message of this kind with a value in every field, as far as plain values fit; nested messages are empty. */
function filled(kind: Kind): object {
  const fields = Object.keys(Object.getPrototypeOf(new kind())).filter((name) => /^[a-z]/.test(name));
  const object: Record<string, unknown> = {};
  for (const name of fields) {
    for (const value of [{}, [{}], 'AQID', [1], 1, true]) {
      try {
        const made = kind.fromObject({ [name]: value }) as Record<string, unknown>;
        const bytes = kind.encode(made).finish();
        if (bytes.length === 0) continue;
        object[name] = value;
        break;
      } catch {
        // a value of another type
      }
    }
  }
  return object;
}

describe('slimProto', () => {
  const [before, after] = [namesOf(theirs), namesOf(ours)];
  const kinds = [...before].filter((entry): entry is [string, Kind] => isKind(entry[1]));

  it('is compared with what Baileys has', () => {
    const [name, kind] = kinds[0] as [string, Kind];
    expect(kind.fromObject({})).toBeInstanceOf(kind);
    expect((after.get(name) as Kind).fromObject({})).not.toBeInstanceOf(kind);
  });

  it('keeps every kind of message and every enum', () => {
    expect(kinds.length).toBeGreaterThan(400);
    expect([...after.keys()]).toEqual([...before.keys()]);
    for (const [name, value] of before) {
      if (!isKind(value)) expect(after.get(name), name).toEqual(value);
    }
  });

  it('writes and reads the same bytes for every kind', () => {
    for (const [name, kind] of kinds) {
      const slim = after.get(name) as Kind;
      const object = filled(kind);
      const bytes = Buffer.from(kind.encode(kind.fromObject(object)).finish());
      expect(Buffer.from(slim.encode(slim.fromObject(object)).finish()).equals(bytes), name).toBe(true);
      const read = (each: Kind) =>
        JSON.stringify([each.decode(bytes), each.toObject(each.decode(bytes), {})]);
      expect(read(slim), name).toBe(read(kind));
    }
  });

  it('refuses code of another form', () => {
    expect(() => slimProto('export const proto = {};')).toThrow('another form');
    expect(() => slimProto(code.replace('    })();\n', ''))).toThrow('another form');
  });
});
