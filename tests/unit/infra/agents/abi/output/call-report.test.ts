import { describe, expect, it } from 'vitest';
import { createAbi, encodeCall } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import type { AbiValue } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import {
  callRedactor,
  describeCall,
} from '../../../../../../router/src/infra/agents/abi/output/read-outputs.ts';
import { saying } from '../../../../../support/abi.ts';

describe('callRedactor', () => {
  const redact = (values: AbiValue[], text: string, headers?: Record<string, string>) =>
    callRedactor(saying('/greet Alice in Wonderland'), values, headers)(text);

  it('removes arguments of 8 characters and more, at every depth', () => {
    const values: AbiValue[] = ['Wonderland', ['1234567', [12345678n, '0xabcdef0123']]];
    expect(redact(values, 'Wonderland 1234567 12345678 0xabcdef0123')).toBe(
      '[argument] 1234567 [argument] [argument]',
    );
  });

  it('removes the text, the number, and header values with and without their scheme', () => {
    expect(
      redact([], '34600111222 said "/greet Alice in Wonderland" with s3cret-token and Bearer s3cret-token', {
        Authorization: 'Bearer s3cret-token',
      }),
    ).toBe('[user] said "[message text]" with [secret] and [secret]');
  });

  it('keeps everything else', () => {
    expect(redact(['true', 'Ann'], 'true: Ann is unknown', { 'x-short': 'unknown' })).toBe(
      'true: Ann is unknown',
    );
  });

  it('looks for 1,000 arguments and not for more', () => {
    const name = (index: number) => `argument${String(index).padStart(5, '0')}`;
    const values = [Array.from({ length: 1_001 }, (_, index) => name(index))];
    expect(redact(values, name(999))).toBe('[argument]');
    expect(redact(values, name(1_000))).toBe(name(1_000));
  });
});

describe('describeCall', () => {
  async function call(values: AbiValue[], needsFile = false) {
    const abi = await createAbi(['f(bytes data)']);
    const [target] = abi.functions;
    if (!target) throw new Error('no function');
    const calldata = needsFile ? undefined : encodeCall(abi, target, values);
    return {
      kind: 'call' as const,
      target,
      values,
      calldata,
      ...(needsFile && { needsFile: true as const }),
    };
  }

  it('names the function and its arguments, with the whole calldata when it is short', async () => {
    const { calldata, ...made } = await call(['0x1234']);
    expect(describeCall(made, calldata)).toEqual({
      function: 'f(bytes)',
      selector: made.target.selector,
      arguments: { data: '0x1234' },
      calldata: `0x${calldata?.toString('hex')}`,
    });
  });

  it('cuts the calldata after 1,025 bytes and says how long it is', async () => {
    const { calldata: _, ...made } = await call(['0x12']);
    const shown = (bytes: number) => describeCall(made, Buffer.alloc(bytes, 0xab)).calldata;
    expect(shown(1_025)).toBe(`0x${'ab'.repeat(1_025)}`);
    expect(shown(1_026)).toBe(`0x${'ab'.repeat(1_025)}… (1026 bytes)`);
  });

  it('never shows the bytes of a file', async () => {
    const { calldata: _, ...made } = await call(['<image/png, 3 bytes>'], true);
    const { selector } = made.target;
    expect(describeCall(made, Buffer.alloc(100, 0xab)).calldata).toBe(`${selector}… (100 bytes)`);
    expect(describeCall(made, undefined)).toMatchObject({
      arguments: { data: '<image/png, 3 bytes>' },
      calldata: `${selector}… (with the bytes of the file)`,
    });
  });
});
