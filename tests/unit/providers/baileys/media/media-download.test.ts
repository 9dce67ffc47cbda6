import { randomBytes } from 'node:crypto';
import { readFile, unlink } from 'node:fs/promises';
import { encryptedStream, proto } from '@whiskeysockets/baileys';
import fc from 'fast-check';
import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { MediaError } from '../../../../../router/src/core/errors.ts';
import { MAX_MEDIA_BYTES } from '../../../../../router/src/core/models.ts';
import { systemClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { downloadMedia } from '../../../../../router/src/providers/baileys/media/media-download.ts';
import {
  readReference,
  writeReference,
} from '../../../../../router/src/providers/baileys/media/media-reference.ts';
import { readContent } from '../../../../../router/src/providers/baileys/messages/message-content.ts';
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
});

describe('the reference of a file', () => {
  const { file } = uploaded();
  const read = (media: Record<string, unknown>) => readReference(writeReference('image', media));

  it('is read back as it was written', () => {
    expect(read({ ...file, directPath: path })).toMatchObject({
      type: 'image',
      path,
      mediaKey: file.mediaKey,
      fileSha256: file.fileSha256,
      fileEncSha256: file.fileEncSha256,
    });
  });

  it('keeps only the path of a WhatsApp URL', () => {
    expect(read({ ...file, url: 'https://mmg.whatsapp.net/v/a.enc?x=1' })?.path).toBe('/v/a.enc?x=1');
  });

  it.each([
    'https://internal.example:8443/v/a.enc?x=1',
    'http://127.0.0.1/admin',
    'https://evilwhatsapp.net/v/a.enc',
    'http://mmg.whatsapp.net/v/a.enc',
    'file:///etc/passwd',
  ])('is absent for another host: %s', (url) => {
    expect(writeReference('image', { ...file, url })).toBe('');
  });

  it.each([
    { directPath: '@evil.example/x' },
    { directPath: 'https://evil.example/x' },
    { directPath: '/with space' },
    { directPath: `/${'x'.repeat(5_000)}` },
    { directPath: 7 },
    { url: 'nonsense' },
    {},
  ])('is absent for an invalid path: %j', (where) => {
    expect(writeReference('image', { ...file, ...where })).toBe('');
  });

  it('stays on the configured host for any path', async () => {
    const { encrypted, file: other } = uploaded();
    nock(host).get('//evil.example/x').reply(200, encrypted);
    const reference = writeReference('image', { ...other, directPath: '//evil.example/x' });
    expect(Buffer.from(await download(reference))).toEqual(plain);
  });
});

describe('the description of a file', () => {
  const file = { ...uploaded().file, directPath: path };
  const sent = (message: proto.IMessage) =>
    readContent(proto.Message.decode(proto.Message.encode(proto.Message.create(message)).finish()));

  it.each<[proto.IMessage, Record<string, unknown>]>([
    [
      { imageMessage: { ...file, mimetype: 'image/png', caption: 'look' } },
      { kind: 'text', text: 'look', media: { kind: 'image', mimeType: 'image/png', sizeBytes: 1_000 } },
    ],
    [
      { audioMessage: { ...file, ptt: true } },
      { kind: 'audio', media: { kind: 'voice', mimeType: 'audio/ogg' } },
    ],
    [
      { audioMessage: { ...file, mimetype: 'audio/mp4' } },
      { media: { kind: 'audio', mimeType: 'audio/mp4' } },
    ],
    [{ videoMessage: file }, { kind: 'video', media: { kind: 'video', mimeType: 'video/mp4' } }],
    [{ ptvMessage: file }, { media: { kind: 'video' } }],
    [{ stickerMessage: file }, { media: { kind: 'sticker', mimeType: 'image/webp' } }],
    [
      {
        documentWithCaptionMessage: {
          message: {
            documentMessage: { ...file, fileName: 'a.pdf', caption: 'read', mimetype: 'application/pdf' },
          },
        },
      },
      { text: 'read', media: { kind: 'document', mimeType: 'application/pdf', fileName: 'a.pdf' } },
    ],
    [{ viewOnceMessageV2: { message: { imageMessage: file } } }, { media: { kind: 'image' } }],
  ])('contains kind, type, name, size and reference: %#', (message, expected) => {
    const content = sent(message);
    expect(content).toMatchObject(expected);
    const reference = 'media' in content ? content.media?.reference : undefined;
    expect(readReference(reference ?? '')).toMatchObject({ path, mediaKey: file.mediaKey });
  });

  it('has no reference when the message has none', () => {
    expect(sent({ imageMessage: { caption: 'x' } })).toMatchObject({
      media: { kind: 'image', reference: '' },
    });
  });

  it('is absent for text, locations and contacts', () => {
    for (const message of [{ conversation: 'x' }, { locationMessage: {} }, { contactMessage: {} }]) {
      expect(sent(message)).not.toHaveProperty('media');
    }
  });

  it.each([-1, 1.5, 'many', {}, { low: 'x' }, Number.NaN, true])(
    'has no size for the length %j',
    (fileLength) => {
      const content = readContent({ imageMessage: { ...file, fileLength } });
      expect('media' in content && content.media).not.toHaveProperty('sizeBytes');
    },
  );
});
