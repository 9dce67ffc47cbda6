import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LinkedFile } from '../../../../router/src/core/ports/media.ts';
import { SealedMediaLinks } from '../../../../router/src/infra/media/sealed-media-links.ts';

const file: LinkedFile = {
  accountId: 'default',
  reference: '{"mediaKey":"a secret"}',
  mimeType: 'application/pdf',
  fileName: 'menú.pdf',
};
const key = randomBytes(32);
const HOUR_MS = 3_600_000;

function links(nowMs = 0, options: { key?: Uint8Array; publicUrl?: string } = {}) {
  const { key: own = key, publicUrl = 'https://wa2ai.test' } = options;
  return new SealedMediaLinks({ publicUrl, key: async () => own, clock: { now: () => nowMs } });
}
const tokenOf = (url: string | undefined) => url?.split('/').at(-1) ?? '';

describe('SealedMediaLinks', () => {
  it('makes a link that each node opens for an hour', async () => {
    const url = await links(0).urlOf(file);
    expect(url).toMatch(/^https:\/\/wa2ai\.test\/api\/media\/[\w-]+$/);
    expect(await links(HOUR_MS - 1).open(tokenOf(url))).toEqual(file);
    expect(await links(HOUR_MS).open(tokenOf(url))).toBe('expired');
  });

  it('shows nothing of the file in the link', async () => {
    const sealed = Buffer.from(tokenOf(await links().urlOf(file)), 'base64url').toString('latin1');
    expect(sealed).not.toMatch(/secret|default|pdf/);
    expect(await links().urlOf(file)).not.toBe(await links().urlOf(file));
  });

  it('opens no link that was changed, cut, or made with another key', async () => {
    const token = tokenOf(await links().urlOf(file));
    const bytes = Buffer.from(token, 'base64url');
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ change;
        expect(await links().open(changed.toString('base64url'))).toBe('unknown');
      }),
    );
    expect(await links().open(token.slice(0, -4))).toBe('unknown');
    expect(await links(0, { key: randomBytes(32) }).open(token)).toBe('unknown');
  });

  it.each(['', 'short', '../../etc/passwd', '%2e%2e%2f'.repeat(10), 'a'.repeat(9_000)])(
    'does not open %s',
    async (token) => {
      expect(await links().open(token)).toBe('unknown');
    },
  );

  it('makes none when its own address is not known', async () => {
    const clock = { now: () => 0 };
    const off = new SealedMediaLinks({ key: async () => key, clock });
    expect(await off.urlOf(file)).toBeUndefined();
    expect([off.isOn, links().isOn]).toEqual([false, true]);
  });
});
