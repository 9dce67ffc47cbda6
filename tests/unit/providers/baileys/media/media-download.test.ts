import { randomBytes } from 'node:crypto';
import { readFile, unlink } from 'node:fs/promises';
import { encryptedStream } from '@whiskeysockets/baileys';
import fc from 'fast-check';
import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { MediaError } from '../../../../../router/src/core/errors.ts';
import { MAX_MEDIA_BYTES } from '../../../../../router/src/core/models.ts';
import { systemClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { downloadMedia, writeReference } from '../../../../../router/src/providers/baileys/media/media.ts';
import { mockNetwork } from '../../../../support/mocked-network.ts';
import { runs } from '../../../../support/property-runs.ts';
import { encryptFile } from '../../../../whatsapp-emulator/media-crypto.ts';

const host = 'https://mmg.whatsapp.net';
const path = '/v/t62.7118-24/file.enc?ccb=11-4&oh=01_Q5';
const plain = randomBytes(1_000);

mockNetwork();

/** A reference to a file, and the stored bytes of the host. */
function uploaded(bytes: Uint8Array = plain, sizeBytes?: number) {
  const { encrypted, ...file } = encryptFile(bytes, 'image');
  return { encrypted, file, reference: writeReference('image', { ...file, directPath: path }, sizeBytes) };
}

const download = (reference: string, more: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
  downloadMedia(reference, { clock: systemClock, ...more });

async function failure(reference: string, more: { timeoutMs?: number } = {}): Promise<MediaError> {
  const error: unknown = await download(reference, more).then(
    () => 'nothing failed',
    (caught: unknown) => caught,
  );
  if (!(error instanceof MediaError)) throw new Error(`not a MediaError: ${String(error)}`);
  return error;
}

describe('a file', () => {
  it('is downloaded from WhatsApp and decrypted', async () => {
    const { encrypted, reference } = uploaded();
    nock(host).get(path).reply(200, encrypted);
    expect(Buffer.from(await download(reference))).toEqual(plain);
  });

  it.each(['image', 'video', 'audio', 'document'] as const)(
    'that Baileys encrypted as %s is decrypted',
    async (type) => {
      const { encFilePath, ...file } = await encryptedStream(plain, type);
      const encrypted = await readFile(encFilePath);
      await unlink(encFilePath);
      nock(host).get(path).reply(200, encrypted);
      const reference = writeReference(type, { ...file, directPath: path });
      expect(Buffer.from(await download(reference))).toEqual(plain);
    },
  );

  it('of any size is downloaded byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 100 }), async (bytes) => {
        const { encrypted, reference } = uploaded(bytes);
        nock(host).get(path).reply(200, encrypted);
        expect(Buffer.from(await download(reference))).toEqual(Buffer.from(bytes));
      }),
      runs(50),
    );
  });

  it.each<[string, number, string]>([
    ['retry', 500, 'MEDIA_UNAVAILABLE'],
    ['retry', 503, 'MEDIA_UNAVAILABLE'],
    ['retry', 429, 'MEDIA_UNAVAILABLE'],
    ['retry', 302, 'MEDIA_UNAVAILABLE'],
    ['dead', 404, 'MEDIA_GONE'],
    ['dead', 410, 'MEDIA_GONE'],
    ['dead', 403, 'MEDIA_GONE'],
  ])('that is not served is %s: status %i', async (disposition, status, code) => {
    nock(host).get(path).reply(status, '', { location: 'https://elsewhere.example/' });
    expect(await failure(uploaded().reference)).toMatchObject({ code, disposition });
  });

  it('is not requested from another host', async () => {
    const { encrypted, reference } = uploaded();
    nock(host).get(path).reply(302, '', { location: 'https://elsewhere.example/' });
    const elsewhere = nock('https://elsewhere.example').get('/').reply(200, encrypted);
    expect((await failure(reference)).code).toBe('MEDIA_UNAVAILABLE');
    expect(elsewhere.isDone()).toBe(false);
  });

  it('that cannot be fetched in time is retried', async () => {
    const { encrypted, reference } = uploaded();
    nock(host).get(path).replyWithError('socket hang up');
    expect(await failure(reference)).toMatchObject({ code: 'MEDIA_UNAVAILABLE', disposition: 'retry' });
    nock(host).get(path).delay(10_000).reply(200, encrypted);
    expect((await failure(reference, { timeoutMs: 30 })).message).toContain('within 30 ms');
  });

  it('stops downloading when the service stops', async () => {
    const stopping = new AbortController();
    nock(host).get(path).delay(10_000).reply(200, uploaded().encrypted);
    const loading = download(uploaded().reference, { signal: stopping.signal });
    stopping.abort(new Error('wa2ai is stopping'));
    await expect(loading).rejects.toThrow('wa2ai is stopping');
  });

  it('is refused before it is fetched when the message says that it is too large', async () => {
    const { reference } = uploaded(plain, MAX_MEDIA_BYTES + 1);
    expect(await failure(reference)).toMatchObject({ code: 'MEDIA_TOO_LARGE', disposition: 'dead' });
  });

  it('is cut off when it is larger than the message said', async () => {
    const { reference } = uploaded(plain, 5);
    nock(host)
      .get(path)
      .reply(200, Buffer.alloc(MAX_MEDIA_BYTES + 1_000));
    expect((await failure(reference)).code).toBe('MEDIA_TOO_LARGE');
  });

  it.each<[string, (made: ReturnType<typeof uploaded>) => { encrypted: Buffer; reference: string }]>([
    [
      'has other bytes',
      ({ encrypted, reference }) => {
        const changed = Buffer.from(encrypted);
        changed.writeUInt8(changed.readUInt8(3) ^ 1, 3);
        return { encrypted: changed, reference };
      },
    ],
    ['is cut short', ({ encrypted, reference }) => ({ encrypted: encrypted.subarray(0, 100), reference })],
    ['is empty', ({ reference }) => ({ encrypted: Buffer.alloc(0), reference })],
    [
      'has another key',
      ({ encrypted, file }) => ({
        encrypted,
        reference: writeReference('image', { ...file, mediaKey: randomBytes(32), directPath: path }),
      }),
    ],
    [
      'is another kind',
      ({ encrypted, file }) => ({
        encrypted,
        reference: writeReference('audio', { ...file, directPath: path }),
      }),
    ],
    [
      'has another hash inside',
      ({ encrypted, file }) => ({
        encrypted,
        reference: writeReference('image', { ...file, fileSha256: randomBytes(32), directPath: path }),
      }),
    ],
  ])('that %s is damaged, and the error contains no secret', async (_, change) => {
    const made = uploaded();
    const { encrypted, reference } = change(made);
    nock(host).get(path).reply(200, encrypted);
    const error = await failure(reference);
    expect(error).toMatchObject({ code: 'MEDIA_BROKEN', disposition: 'dead' });
    expect(`${error.message} ${error.forPerson}`).not.toMatch(/[A-Za-z0-9+/]{20}|https?:/);
  });

  it.each(['', '{}', 'nonsense', '{"type":"image"}'])(
    'without a usable reference is gone: %j',
    async (reference) => {
      expect((await failure(reference)).code).toBe('MEDIA_GONE');
    },
  );

  it('is fetched from the configured host, whatever its path', async () => {
    const { encrypted, file: other } = uploaded();
    nock(host).get('//evil.example/x').reply(200, encrypted);
    const reference = writeReference('image', { ...other, directPath: '//evil.example/x' });
    expect(Buffer.from(await download(reference))).toEqual(plain);
  });
});
