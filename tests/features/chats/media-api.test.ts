import { describe, expect, it } from 'vitest';
import { MediaError } from '../../../router/src/core/errors.ts';
import { aReceivedMessage, aSentMessage } from '../../doubles/fake-message-log.ts';
import { httpApi } from '../../support/http-api.ts';
import { PNG } from '../../support/sounds.ts';

const api = httpApi({ apiKey: 'x'.repeat(32) });

const file = { accountId: 'default', reference: 'r', mimeType: 'image/png', fileName: "me'nú.png" };
const get = (token: string) => fetch(`${api.url}/api/media/${token}`);

describe('GET /api/media/{token}', () => {
  it('answers with the file, without a key, as a download', async () => {
    api.app.loadLinked = async (token) => (token === 'good' ? { file, bytes: PNG } : 'unknown');
    const response = await get('good');
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(PNG);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': "attachment; filename*=UTF-8''me%27n%C3%BA.png",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
  });

  it('names no type that is none', async () => {
    api.app.loadLinked = async () => ({ file: { ...file, mimeType: 'a b\r\nx: y' }, bytes: PNG });
    expect((await get('good')).headers.get('content-type')).toBe('application/octet-stream');
  });

  it('says that a link is unknown or has expired, or that the file is gone', async () => {
    api.app.loadLinked = async (token) => {
      if (token === 'gone') throw new MediaError('MEDIA_GONE', { sentence: 'It is gone.' });
      return token === 'old' ? 'expired' : 'unknown';
    };
    const answers = ['other', 'old', 'gone'].map(async (token) => {
      const response = await get(token);
      return [response.status, ((await response.json()) as { code: string }).code];
    });
    expect(await Promise.all(answers)).toEqual([
      [404, 'NOT_FOUND'],
      [410, 'LINK_EXPIRED'],
      [409, 'MEDIA_GONE'],
    ]);
  });

  it('lists nothing', async () => {
    expect((await fetch(`${api.url}/api/media`, { headers: { 'x-api-key': 'x'.repeat(32) } })).status).toBe(
      404,
    );
  });
});

describe('GET /api/messages/{id}/file', () => {
  const asAdmin = { headers: { 'x-api-key': 'x'.repeat(32) } };
  const fileOf = (id: string) => fetch(`${api.url}/api/messages/${id}/file`, asAdmin);
  const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: PNG.length };

  it('answers with the file of a message received or sent', async () => {
    api.messageLog.rows = [aReceivedMessage({ id: '2', media, hasFile: true })];
    api.messageLog.sentRows = [aSentMessage({ id: '3', media, hasFile: true })];
    api.app.loadReceived = async ({ messageId }) => (messageId === '2' ? PNG : new Uint8Array());
    api.app.sentFile = async (messageId) => (messageId === '3' ? PNG : undefined);
    for (const id of ['2', '3']) {
      const response = await fileOf(id);
      expect(response.headers.get('content-type')).toBe('image/png');
      expect(response.headers.get('content-disposition')).toBe('attachment');
      expect(Buffer.from(await response.arrayBuffer())).toEqual(PNG);
    }
  });

  it('answers 404 without a message, and without a file', async () => {
    api.messageLog.rows = [aReceivedMessage({ id: '2', media }), aReceivedMessage({ id: '4' })];
    api.messageLog.sentRows = [aSentMessage({ id: '3', media, hasFile: true })];
    for (const id of ['2', '3', '4', '9', 'x']) expect((await fileOf(id)).status, id).toBe(404);
  });

  it('says that WhatsApp does not have the file any more', async () => {
    api.messageLog.rows = [aReceivedMessage({ id: '2', media, hasFile: true })];
    const response = await fileOf('2');
    expect(await response.json()).toMatchObject({ code: 'MEDIA_GONE' });
  });

  it('is not for a key of other chats, nor without a key', async () => {
    api.messageLog.rows = [aReceivedMessage({ id: '2', media, hasFile: true })];
    const key = await api.addKey({ scopes: ['messages:read'], chats: ['34600000001'] });
    const get = (headers: Record<string, string>) => fetch(`${api.url}/api/messages/2/file`, { headers });
    expect((await get({ 'x-api-key': key })).status).toBe(403);
    expect((await get({})).status).toBe(401);
  });
});
