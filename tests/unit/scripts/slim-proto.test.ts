import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { proto } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../../support/repository.ts';

const { slimProto } = await import(pathToFileURL(join(repositoryRoot, 'scripts/slim-proto.mjs')).href);

/** What protobufjs reads from a .proto file. */
interface Described {
  fullName: string;
  nestedArray?: Described[];
  values?: Record<string, number>;
  fieldsArray?: Array<{
    name: string;
    type: string;
    resolvedType: Described | null;
    map: boolean;
    repeated: boolean;
  }>;
}
interface Codec {
  fromObject(object: object): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): object;
}

const baileys = createRequire(import.meta.url).resolve('@whiskeysockets/baileys');
const waProto = dirname(createRequire(baileys).resolve('../WAProto/index.js'));
const code = readFileSync(join(waProto, 'index.js'), 'utf8');
const protobuf = createRequire(join(waProto, 'index.js'))('protobufjs');
const described: Described = protobuf
  .parse(readFileSync(join(waProto, 'WAProto.proto'), 'utf8'))
  .root.resolveAll();

function flatten(parent: Described): Described[] {
  return (parent.nestedArray ?? []).flatMap((each) => [each, ...flatten(each)]);
}
const all = flatten(described).filter((each) => each.values || each.fieldsArray);

/** What the installed package has under the name of a .proto file. */
const installed = (name: string): unknown =>
  name
    .split('.')
    .slice(1)
    .reduce<unknown>(
      (parent, part) => (part === 'proto' ? parent : (parent as Record<string, unknown>)[part]),
      proto,
    );

/** A message with a value in every field; nested messages are empty. */
function filled(kind: Described): object {
  const aValue = ({ type, resolvedType }: { type: string; resolvedType: Described | null }) => {
    if (resolvedType) return resolvedType.values ? (Object.values(resolvedType.values).at(-1) as number) : {};
    if (type === 'string') return 'é';
    if (type === 'bytes') return new Uint8Array([1, 2, 3]);
    return type === 'bool' ? true : 7;
  };
  return Object.fromEntries(
    (kind.fieldsArray ?? []).map((field) => {
      const value = aValue(field);
      if (field.map) return [field.name, { key: value }];
      return [field.name, field.repeated ? [value, value] : value];
    }),
  );
}

describe("Baileys' WAProto after the install", () => {
  it('makes each kind of message with its first use', () => {
    expect(code).toContain('$lazy(');
    expect(() => slimProto(code)).toThrow('another form');
  });

  it('has every enum of WAProto.proto', () => {
    const enums = all.filter((each) => each.values);
    expect(enums.length).toBeGreaterThan(100);
    for (const { fullName, values } of enums)
      expect(installed(fullName), fullName).toMatchObject(values as object);
  });

  it('writes and reads every kind of message as protobufjs does by WAProto.proto', () => {
    const kinds = all.filter((each) => each.fieldsArray) as Array<Described & Codec>;
    expect(kinds.length).toBeGreaterThan(400);
    for (const kind of kinds) {
      const ours = installed(kind.fullName) as Codec;
      const object = filled(kind);
      const bytes = Buffer.from(kind.encode(kind.fromObject(object)).finish());
      expect(Buffer.from(ours.encode(ours.fromObject(object)).finish()).equals(bytes), kind.fullName).toBe(
        true,
      );
      const options = { longs: String, bytes: String };
      expect(ours.toObject(ours.decode(bytes), options), kind.fullName).toEqual(
        kind.toObject(kind.decode(bytes), options),
      );
    }
  });

  it('is not changed when it has another form', () => {
    expect(() => slimProto('export const proto = {};')).toThrow('another form');
    expect(() => slimProto('        A.B = (function() {\nexport const proto = {}')).toThrow('another form');
  });
});
