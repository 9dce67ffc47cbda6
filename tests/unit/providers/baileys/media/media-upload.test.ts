import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { proto } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import type { OutgoingMessage, ReplyMedia } from '../../../../../router/src/core/models.ts';
import { uploadFile } from '../../../../../router/src/providers/baileys/media/media.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { quietLog } from '../../../../support/quiet-log.ts';
import { opusFile } from '../../../../support/sounds.ts';
import { decryptFile } from '../../../../whatsapp-emulator/media-crypto.ts';

type Upload = Parameters<typeof uploadFile>[2]['waUploadToServer'];

const bytes = randomBytes(1_000);
const pdf: ReplyMedia = { kind: 'document', mimeType: 'application/pdf', sizeBytes: bytes.length };

function setup(
  respond: () => ReturnType<Upload> = async () => ({ mediaUrl: '', directPath: '/v/file.enc' }),
) {
  const clock = new FakeClock();
  const uploads: Array<{ encrypted: Buffer; path: string; timeoutMs?: number }> = [];
  let started: () => void = () => undefined;
  const hasStarted = new Promise<void>((resolve) => {
    started = resolve;
  });
  const waUploadToServer: Upload = async (path, { timeoutMs }) => {
    uploads.push({ encrypted: await readFile(path), path: String(path), timeoutMs });
    started();
    return respond();
  };
  const upload = (media: ReplyMedia | undefined, text = '', file: Uint8Array = bytes) => {
    const to = '34600000002@s.whatsapp.net';
    const message: OutgoingMessage = { accountId: 'main', to, waMessageId: '3EB0A', text, media };
    return uploadFile(message, file, { waUploadToServer }, { clock, log: quietLog });
  };
  return { clock, uploads, upload, hasStarted };
}

const sent = async (content: Promise<Uint8Array>) => proto.Message.decode(await content);

describe('uploadFile', () => {
  it('uploads the encrypted file, and returns content that decrypts it', async () => {
    const { upload, uploads } = setup();
    const { documentMessage } = await sent(upload({ ...pdf, fileName: 'bill.pdf' }, 'your bill'));
    expect(documentMessage).toMatchObject({
      directPath: '/v/file.enc',
      mimetype: 'application/pdf',
      fileName: 'bill.pdf',
      caption: 'your bill',
    });
    const { encrypted, path } = uploads[0] ?? { encrypted: Buffer.alloc(0), path: '' };
    expect(encrypted.includes(bytes)).toBe(false);
    expect(decryptFile(encrypted, documentMessage?.mediaKey ?? Buffer.alloc(0), 'document')).toEqual(bytes);
    expect(existsSync(path)).toBe(false);
  });

  it('limits each response of the server to a minute', async () => {
    const { upload, uploads } = setup();
    await upload(pdf);
    expect(uploads[0]?.timeoutMs).toBe(60_000);
  });

  it('names a document without a name, and gives an empty caption none', async () => {
    const { upload } = setup();
    const { documentMessage } = await sent(upload(pdf, ''));
    expect(documentMessage?.fileName).toBe('file');
    expect(documentMessage?.caption || undefined).toBeUndefined();
  });

  it('makes images and audio of that kind', async () => {
    const { upload } = setup();
    const image = await sent(upload({ kind: 'image', mimeType: 'image/png', sizeBytes: 1 }, 'look'));
    expect(image.imageMessage).toMatchObject({ mimetype: 'image/png', caption: 'look' });
    const audio = await sent(upload({ kind: 'audio', mimeType: 'audio/ogg', sizeBytes: 1 }, 'listen'));
    expect(audio.audioMessage).toMatchObject({ mimetype: 'audio/ogg' });
  });

  it('gives a voice note its length and waveform', async () => {
    const { upload } = setup();
    const media: ReplyMedia = { kind: 'voice', mimeType: 'audio/ogg; codecs=opus', sizeBytes: 1 };
    const { audioMessage } = await sent(upload(media, '', opusFile()));
    expect(audioMessage).toMatchObject({ ptt: true, seconds: 2, mimetype: 'audio/ogg; codecs=opus' });
    expect(audioMessage?.waveform).toHaveLength(64);
    expect((await sent(upload(media))).audioMessage).toMatchObject({ ptt: true, seconds: 1 });
  });

  it('makes videos and stickers of that kind', async () => {
    const { upload } = setup();
    const video = await sent(upload({ kind: 'video', mimeType: 'video/mp4', sizeBytes: 1 }, 'look'));
    expect(video.videoMessage).toMatchObject({ mimetype: 'video/mp4', caption: 'look' });
    const sticker = await sent(upload({ kind: 'sticker', mimeType: 'image/webp', sizeBytes: 1 }));
    expect(sticker.stickerMessage).toMatchObject({ mimetype: 'image/webp' });
  });

  it('refuses a message without a file', async () => {
    const { upload, uploads } = setup();
    await expect(upload(undefined, 'text')).rejects.toMatchObject({ code: 'SEND_REFUSED' });
    expect(uploads).toEqual([]);
  });

  it('can be repeated after a failure of the server, whose sentence has no address', async () => {
    const { upload } = setup(async () => {
      throw new Error('https://mmg.whatsapp.net/?auth=secret failed');
    });
    const error: unknown = await upload(pdf).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'UPLOAD_FAILED', disposition: 'retry' });
    expect((error as Error).message).not.toMatch(/http|secret/);
  });

  it('is not connected when the connection is closed', async () => {
    const { upload } = setup(async () => {
      throw Object.assign(new Error('Connection Closed'), { output: { statusCode: 428 } });
    });
    await expect(upload(pdf)).rejects.toMatchObject({ code: 'NOT_CONNECTED', disposition: 'retry' });
  });

  it('ends after 150 s when the server does not respond', async () => {
    let respond: (response: { mediaUrl: string; directPath: string }) => void = () => undefined;
    const { upload, clock, hasStarted } = setup(
      () =>
        new Promise((resolve) => {
          respond = resolve;
        }),
    );
    const failed = expect(upload(pdf)).rejects.toMatchObject({
      code: 'UPLOAD_FAILED',
      message: expect.stringContaining('150000 ms'),
    });
    await hasStarted;
    await clock.advanceMs(149_999);
    expect(clock.sleeping).toBe(1);
    await clock.advanceMs(1);
    await failed;
    expect(clock.sleeping).toBe(0);
    // A late response lets Baileys delete its temporary file.
    respond({ mediaUrl: '', directPath: '/v/file.enc' });
  });
});
