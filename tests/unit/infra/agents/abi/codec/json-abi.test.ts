import { describe, expect, it } from 'vitest';
import { functionOfJson } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { AbiDefinitionError } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';

describe('functionOfJson', () => {
  it.each<[string, object]>([
    ['a missing name', {}],
    ['an invalid name', { name: '1f' }],
    ['inputs that are not a list', { name: 'f', inputs: {} }],
    ['an input without a type', { name: 'f', inputs: [{ name: 'a' }] }],
    ['an input that is not an object', { name: 'f', inputs: [null] }],
    ['a tuple without components', { name: 'f', inputs: [{ type: 'tuple' }] }],
    ['an unknown type', { name: 'f', outputs: [{ type: 'uint7' }] }],
  ])('refuses %s', (_name, entry) => {
    expect(() => functionOfJson(entry)).toThrow(AbiDefinitionError);
  });

  it('refuses components nested without end', () => {
    const loop: Record<string, unknown> = { name: 'a', type: 'tuple' };
    loop.components = [loop];
    expect(() => functionOfJson({ name: 'f', inputs: [loop] })).toThrow(AbiDefinitionError);
  });
});
