import { describe, expect, it } from 'vitest';
import {
  AbiInputError,
  ANYTHING,
  FileInput,
} from '../../../../../../router/src/infra/agents/abi/input/abi-input.ts';

describe('FileInput', () => {
  it('can be shown before its bytes are fetched', () => {
    const file = new FileInput('<image/png, 512 bytes>');
    expect(file.shown).toBe('<image/png, 512 bytes>');
    expect(file.bytes).toBeUndefined();
  });

  it('has the bytes of the file once they are fetched', () => {
    expect(new FileInput('<image/png, 2 bytes>', new Uint8Array([1, 2])).bytes).toEqual(
      new Uint8Array([1, 2]),
    );
  });
});

describe('AbiInputError', () => {
  it('is distinguished from a fault of the program, and keeps its sentence', () => {
    const error = new AbiInputError('amount must be a whole number.');
    expect(error).toBeInstanceOf(AbiInputError);
    expect(new TypeError('x')).not.toBeInstanceOf(AbiInputError);
    expect(error.message).toBe('amount must be a whole number.');
  });
});

it('ANYTHING equals no value that a person can type', () => {
  expect([undefined, null, '', 0, 'any value', Symbol('any value')]).not.toContain(ANYTHING);
});
