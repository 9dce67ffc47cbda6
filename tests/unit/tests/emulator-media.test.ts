import { readFile, unlink } from 'node:fs/promises';
import { request } from 'node:https';
import { encryptedStream } from '@whiskeysockets/baileys';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decryptFile, encryptFile, sha256 } from '../../whatsapp-emulator/media-crypto.ts';
import { MediaHost } from '../../whatsapp-emulator/media-host.ts';

const bytes = Buffer.from('a file of forty bytes, more than a block');
let host: MediaHost;

beforeAll(async () => {
  host = await MediaHost.start();
});
afterAll(() => host.stop());

async function call(method: 'GET' | 'POST', path: string, body?: Buffer) {
  const [hostname, port] = host.hostname.split(':');
  const ca = await readFile(host.caFile);
  return new Promise<{ status: number; body: Buffer }>((resolve, reject) => {
    const sent = request({ method, hostname, port, path, ca }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks) }));
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('The emulated media host', () => {
  it('is trusted with its certificate and serves uploaded files', async () => {
    const { imageMessage } = host.message('image', bytes, { caption: 'look' });
    const answer = await call('GET', imageMessage?.directPath ?? '');
    expect(answer.status).toBe(200);
    expect(decryptFile(answer.body, imageMessage?.mediaKey ?? bytes, 'image')).toEqual(bytes);
    expect(sha256(answer.body)).toEqual(imageMessage?.fileEncSha256);
  });

  it('accepts only uploads whose hash is the token, with the issued auth', async () => {
    const { encrypted, fileEncSha256 } = encryptFile(bytes, 'document');
    const token = fileEncSha256.toString('base64url');
    const auth = host.connectionNode().attrs.auth ?? '';
    const path = `/mms/document/${token}?auth=${auth}&token=${token}`;
    expect((await call('POST', path.replace(auth, 'other'), encrypted)).status).toBe(401);
    expect((await call('POST', path, bytes)).status).toBe(400);
    const { status, body } = await call('POST', path, encrypted);
    expect(status).toBe(200);
    const { direct_path: directPath } = JSON.parse(body.toString());
    expect((await call('GET', directPath)).body).toEqual(encrypted);
  });

  it.each(['image', 'video', 'audio', 'document'] as const)(
    'reads what Baileys encrypts as %s',
    async (type) => {
      const { mediaKey, encFilePath, fileSha256, fileEncSha256 } = await encryptedStream(bytes, type);
      const encrypted = await readFile(encFilePath);
      await unlink(encFilePath);
      expect(decryptFile(encrypted, mediaKey, type)).toEqual(bytes);
      expect([sha256(bytes), sha256(encrypted)]).toEqual([fileSha256, fileEncSha256]);
      expect(() => decryptFile(Buffer.concat([encrypted, encrypted]), mediaKey, type)).toThrow('MAC');
    },
  );
});
