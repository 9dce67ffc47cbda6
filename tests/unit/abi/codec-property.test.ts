import { AbiCoder, Interface } from 'ethers';
import fc from 'fast-check';
import type { Abi, AbiFunction as ViemFunction } from 'viem';
import { encodeFunctionData, parseAbi, toFunctionSelector } from 'viem/utils';
import { describe, expect, it } from 'vitest';
import { AbiDecodeError, decodeValues } from '../../../router/src/infra/abi/abi-decode.ts';
import { readable } from '../../../router/src/infra/abi/abi-render.ts';
import { type AbiFunction, createAbi, encodeCall } from '../../../router/src/infra/abi/abi-signature.ts';
import type { AbiParam, AbiType, AbiValue } from '../../../router/src/infra/abi/abi-type.ts';
import { coerceAll } from '../../../router/src/infra/abi/abi-value.ts';
import { parseExactJson } from '../../../router/src/infra/abi/exact-json.ts';
import { abiCalls } from '../../support/abi-arbitraries.ts';

/** A signature with these types as inputs and as outputs; every parameter has a name. */
function signatureOf(types: readonly string[]): string {
  const params = types.map((text, index) => `${text} value${index}`).join(', ');
  return `function call(${params}) returns (${params})`;
}

async function readCall(types: readonly string[]) {
  const abi = await createAbi([signatureOf(types)]);
  return { abi, target: abi.functions[0] as AbiFunction };
}

/** A value as viem takes it: tuples with names as objects. */
function forViem(type: AbiType, value: AbiValue): unknown {
  if (!Array.isArray(value)) return value;
  if (type.kind === 'array') return value.map((item) => forViem(type.item, item));
  if (type.kind !== 'tuple') return value;
  const items = type.fields.map((field, index) => forViem(field.type, value[index] as AbiValue));
  const isNamed = type.fields.every(({ name }) => name !== '');
  return isNamed ? Object.fromEntries(type.fields.map(({ name }, index) => [name, items[index]])) : items;
}

/** A value as a person types it in JSON: numbers in full, everything else as text. */
function typed(value: AbiValue): string {
  if (Array.isArray(value)) return `[${value.map(typed).join(',')}]`;
  return typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : JSON.stringify(value);
}

describe('calldata of random functions', { timeout: 120_000 }, () => {
  it('is byte for byte that of viem and of ethers, and its selector too', async () => {
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
      { numRuns: 1_500 },
    );
  });

  it('comes back from ethers through the decoder as the same values', async () => {
    await fc.assert(
      fc.asyncProperty(abiCalls, async ({ types, values }) => {
        const { abi, target } = await readCall(types);
        const encoded = AbiCoder.defaultAbiCoder().encode(types, values);
        expect(decodeValues(target.outputs, Buffer.from(encoded.slice(2), 'hex'), abi.codec)).toEqual(values);
      }),
      { numRuns: 1_500 },
    );
  });

  it('is the same when every value is typed as JSON text or read back from what the log shows', async () => {
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
      { numRuns: 1_000 },
    );
  });
});

describe('answers cut or changed anywhere', { timeout: 120_000 }, () => {
  it('are an error when they end early, at whichever byte', async () => {
    await fc.assert(
      fc.asyncProperty(abiCalls, fc.nat(), async ({ types, values }, cut) => {
        const { abi, target } = await readCall(types);
        const encoded = Buffer.from(AbiCoder.defaultAbiCoder().encode(types, values).slice(2), 'hex');
        fc.pre(encoded.length > 0);
        const part = encoded.subarray(0, cut % encoded.length);
        expect(() => decodeValues(target.outputs, part, abi.codec)).toThrow();
      }),
      { numRuns: 1_000 },
    );
  });

  it('are values of the type or an AbiDecodeError when a word is replaced, never anything else', async () => {
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
      { numRuns: 1_000 },
    );
  });
});

/** Values that a decoder gives can always be encoded. */
function expectTyped(params: readonly AbiParam[], values: AbiValue[]): void {
  expect(values).toHaveLength(params.length);
  const types = params.map(({ type }) => type);
  for (const [index, type] of types.entries()) {
    if (type.kind === 'array' || type.kind === 'tuple') expect(Array.isArray(values[index])).toBe(true);
    if (type.kind === 'bool') expect(typeof values[index]).toBe('boolean');
    if (type.kind === 'uint') expect(values[index]).toBeGreaterThanOrEqual(0n);
  }
}
