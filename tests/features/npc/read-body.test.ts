import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readBody } from '../../../router/src/features/npc/json-rpc.ts';

const request = (body: Buffer, headers: Record<string, string> = {}) =>
  Object.assign(Readable.from([body.subarray(0, 3), body.subarray(3)]), { headers });

describe('readBody', () => {
  it('reads text, also where a character is cut', async () => {
    expect(await readBody(request(Buffer.from('{"ñ€😀"}')))).toBe('{"ñ€😀"}');
  });

  it('refuses a body that is too large, compressed, or incomplete', async () => {
    await expect(readBody(request(Buffer.alloc(262_145)))).rejects.toMatchObject({ status: 413 });
    const broken = new Readable({ read: () => undefined });
    const reading = readBody(Object.assign(broken, { headers: {} }));
    broken.destroy(new Error('aborted'));
    await expect(reading).rejects.toMatchObject({ status: 400 });
    const compressed = request(Buffer.from('abcd'), { 'content-encoding': 'gzip' });
    await expect(readBody(compressed)).rejects.toMatchObject({ status: 415 });
  });
});
