import { AbiCoder, Interface } from 'ethers';
import fc from 'fast-check';
import type { Abi, AbiFunction as ViemFunction } from 'viem';
import { encodeAbiParameters, encodeFunctionData, parseAbi, toFunctionSelector } from 'viem/utils';
import { describe, expect, it } from 'vitest';
import {
  AbiDecodeError,
  decodeValues,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-decode.ts';
import { readable, rulesOf } from '../../../../../../router/src/infra/agents/abi/codec/abi-rules.ts';
import {
  type AbiFunction,
  createAbi,
  encodeCall,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import type {
  AbiParam,
  AbiType,
  AbiValue,
} from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import { coerceAll } from '../../../../../../router/src/infra/agents/abi/codec/abi-value.ts';
import { interpret } from '../../../../../../router/src/infra/agents/abi/input/abi-command.ts';
import { parseExactJson } from '../../../../../../router/src/infra/agents/lenient-json.ts';
import { abiCalls } from '../../../../../support/abi-arbitraries.ts';
import { runs } from '../../../../../support/property-runs.ts';

/** A signature with these types as inputs and as outputs; every parameter has a name. */
function signatureOf(types: readonly string[]): string {
  const params = types.map((text, index) => `${text} value${index}`).join(', ');
  return `function call(${params}) returns (${params})`;
}

async function readCall(types: readonly string[]) {
  const abi = await createAbi([signatureOf(types)]);
  return { abi, target: abi.functions[0] as AbiFunction };
}

/** A value for viem: tuples with names as objects. */
function forViem(type: AbiType, value: AbiValue): unknown {
  if (!Array.isArray(value)) return value;
  if (type.kind === 'array') return value.map((item) => forViem(type.item, item));
  if (type.kind !== 'tuple') return value;
  const items = type.fields.map((field, index) => forViem(field.type, value[index] as AbiValue));
  const isNamed = type.fields.every(({ name }) => name !== '');
  return isNamed ? Object.fromEntries(type.fields.map(({ name }, index) => [name, items[index]])) : items;
}

/** A value as a person writes it in JSON: numbers in full, all others as text. */
function typed(value: AbiValue): string {
  if (Array.isArray(value)) return `[${value.map(typed).join(',')}]`;
  return typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : JSON.stringify(value);
}

const message = {
  id: '3EB0ABC',
  from: '34600111222@s.whatsapp.net',
  channelId: '34600111222',
  timestamp: new Date(1_700_000_000_000),
};

describe('calldata of random functions', { timeout: 120_000 }, () => {
  it('equals that of viem and of ethers byte for byte, with the same selector', async () => {
    await fc.assert(
      fc.asyncProperty(abiCalls, async ({ types, values }) => {
        const { abi, target } = await readCall(types);
        const calldata = `0x${encodeCall(abi, target, values).toString('hex')}`;
        const signature = signatureOf(types);

        const viemAbi: Abi = parseAbi([signature]);
        const args = target.inputs.map(({ type }, index) => forViem(type, values[index] as AbiValue));
        expect(calldata).toBe(encodeFunctionData({ abi: viemAbi, functionName: 'call', args }));
        expect(target.selector).toBe(toFunctionSelector(viemAbi[0] as ViemFunction));

        const contract = new Interface([signature]);
        expect(calldata).toBe(contract.encodeFunctionData('call', values));
        expect(target.signature).toBe(contract.getFunction('call')?.format('sighash'));
      }),
      runs(250),
    );
  });

  it('is decoded to the same values when ethers or viem encoded it', async () => {
    await fc.assert(
      fc.asyncProperty(abiCalls, async ({ types, values }) => {
        const { abi, target } = await readCall(types);
        const encoded = AbiCoder.defaultAbiCoder().encode(types, values);
        expect(decodeValues(target.outputs, Buffer.from(encoded.slice(2), 'hex'), abi.codec)).toEqual(values);
        const args = target.inputs.map(({ type }, index) => forViem(type, values[index] as AbiValue));
        expect(encodeAbiParameters(target.viemInputs, args)).toBe(encoded);
      }),
      runs(250),
    );
  });

  it('is the same when a person writes the values after the command, by position or by name', async () => {
    await fc.assert(
      fc.asyncProperty(abiCalls, async ({ types, values }) => {
        fc.pre(types.length > 0);
        const result = await rulesOf([signatureOf(types)], {});
        if (!result.ok) throw new Error(JSON.stringify(result.problems));
        const names = values.map((value, index) => `"value${index}":${typed(value)}`);
        for (const written of [`[${values.map(typed).join(',')}]`, `{${names.join(',')}}`]) {
          const text = `/call ${written}`;
          // A single list or text is its own argument, without brackets around it.
          const sole = types.length === 1 ? `/call ${typed(values[0] as AbiValue)}` : text;
          const meant = interpret(result.rules, { ...message, text: written.startsWith('[') ? sole : text });
          if (types.length === 1 && types[0] === 'string' && written.startsWith('{')) continue;
          expect(meant, text).toMatchObject({ kind: 'call', values });
        }
      }),
      runs(150),
    );
  });

  it('is the same when each value is written as JSON text or copied from the log', async () => {
    await fc.assert(
      fc.asyncProperty(abiCalls, async ({ types, values }) => {
        const { abi, target } = await readCall(types);
        const { inputs } = target;
        expect(coerceAll(inputs, parseExactJson(typed(values)), abi.codec)).toEqual(values);
        const shown = readable(inputs, values) as never;
        // Longer ones are cut.
        fc.pre(JSON.stringify(shown).length < 40_000);
        expect(coerceAll(inputs, shown, abi.codec)).toEqual(values);
      }),
      runs(250),
    );
  });
});

describe('outputs truncated or changed at any position', { timeout: 120_000 }, () => {
  it('are an error when they end early, at each byte', async () => {
    await fc.assert(
      fc.asyncProperty(abiCalls, async ({ types, values }) => {
        const { abi, target } = await readCall(types);
        const encoded = Buffer.from(AbiCoder.defaultAbiCoder().encode(types, values).slice(2), 'hex');
        fc.pre(encoded.length < 4_000);
        const decode = (length: number) =>
          decodeValues(target.outputs, encoded.subarray(0, length), abi.codec);
        const lengths = Array.from({ length: encoded.length }, (_, length) => length);
        expect(lengths.filter((length) => !isRefused(() => decode(length)))).toEqual([]);
      }),
      runs(25),
    );
  });

  it('are encodable values or an AbiDecodeError when a byte is changed', async () => {
    await fc.assert(
      fc.asyncProperty(abiCalls, fc.nat(), fc.integer({ min: 1, max: 255 }), async (call, place, change) => {
        const { abi, target } = await readCall(call.types);
        const encoded = Buffer.from(
          AbiCoder.defaultAbiCoder().encode(call.types, call.values).slice(2),
          'hex',
        );
        fc.pre(encoded.length > 0);
        const at = place % encoded.length;
        encoded[at] = (encoded[at] ?? 0) ^ change;
        let decoded: AbiValue[];
        try {
          decoded = decodeValues(target.outputs, encoded, abi.codec);
        } catch (error) {
          expect(error).toBeInstanceOf(AbiDecodeError);
          return;
        }
        // Offsets may point to another position with a valid value, so only the values are checked.
        const again = Buffer.from(abi.codec.encode(target.viemInputs, decoded).slice(2), 'hex');
        expect(decodeValues(target.outputs, again, abi.codec)).toEqual(decoded);
      }),
      runs(250),
    );
  });

  it('are values of the type or an AbiDecodeError when a word is replaced', async () => {
    const words = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.bigInt({ min: 0n, max: 512n }));
    await fc.assert(
      fc.asyncProperty(abiCalls, fc.nat(), words, async ({ types, values }, place, word) => {
        const { abi, target } = await readCall(types);
        const encoded = Buffer.from(AbiCoder.defaultAbiCoder().encode(types, values).slice(2), 'hex');
        fc.pre(encoded.length > 0);
        const at = (place % (encoded.length / 32)) * 32;
        Buffer.from(word.toString(16).padStart(64, '0'), 'hex').copy(encoded, at);
        let decoded: AbiValue[];
        try {
          decoded = decodeValues(target.outputs, encoded, abi.codec);
        } catch (error) {
          expect(error).toBeInstanceOf(AbiDecodeError);
          return;
        }
        expectTyped(target.outputs, decoded);
      }),
      runs(200),
    );
  });
});

/** Hundreds of thousands of `expect` calls would take longer than the checked code. */
function isRefused(decode: () => unknown): boolean {
  try {
    decode();
    return false;
  } catch (error) {
    return error instanceof AbiDecodeError;
  }
}

/** Decoded values can always be encoded. */
function expectTyped(params: readonly AbiParam[], values: AbiValue[]): void {
  expect(values).toHaveLength(params.length);
  const types = params.map(({ type }) => type);
  for (const [index, type] of types.entries()) {
    if (type.kind === 'array' || type.kind === 'tuple') expect(Array.isArray(values[index])).toBe(true);
    if (type.kind === 'bool') expect(typeof values[index]).toBe('boolean');
    if (type.kind === 'uint') expect(values[index]).toBeGreaterThanOrEqual(0n);
  }
}
