import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MediaError } from '../../../../../../router/src/core/errors.ts';
import { type HttpApi, startHttpApi } from '../../../../../support/http-api.ts';
import { PNG } from '../../../../../support/sounds.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi({ apiKey: 'x'.repeat(32) });
});
afterEach(() => api.close());

const file = { accountId: 'default', reference: 'r', mimeType: 'image/png', fileName: "me'nú.png" };
const get = (token: string) => fetch(`${api.url}/api/media/${token}`);

describe('GET /api/media/{token}', () => {
  it('answers with the file, without a key, as a download', async () => {
    api.deps.loadLinked = async (token) => (token === 'good' ? { file, bytes: PNG } : 'unknown');
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
    api.deps.loadLinked = async () => ({ file: { ...file, mimeType: 'a b\r\nx: y' }, bytes: PNG });
    expect((await get('good')).headers.get('content-type')).toBe('application/octet-stream');
  });

  it('says that a link is unknown or has expired, or that the file is gone', async () => {
    api.deps.loadLinked = async (token) => {
      if (token === 'gone') throw new MediaError('MEDIA_GONE', 'It is gone.');
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
