import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type HttpApi, startHttpApi } from '../../../support/http-api.ts';
import { rawRequest } from '../../../support/raw-request.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi();
});
afterEach(() => {
  vi.restoreAllMocks();
  return api.close();
});

describe.each([
  ['/openapi.json', 'application/json; charset=utf-8'],
  ['/docs/settings.md', 'text/html; charset=utf-8'],
  ['/docs/troubleshooting', 'text/html; charset=utf-8'],
  ['/docs/images/chat.svg', 'image/svg+xml; charset=utf-8'],
])('%s, which is the same for everybody,', (path, type) => {
  const get = (headers: Record<string, string> = {}) => rawRequest(api.url + path, { headers });

  it('is compressed for those who read gzip, and the same for all others', async () => {
    const plain = await get();
    expect(plain).toMatchObject({ status: 200, headers: { 'content-type': type, vary: 'Accept-Encoding' } });
    const response = await fetch(api.url + path, { headers: { 'accept-encoding': 'gzip' } });
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(await response.text()).toBe(plain.text);
    expect(Number(response.headers.get('content-length'))).toBeLessThan(plain.text.length);
  });

  it('is not sent again to those who have it', async () => {
    const { headers, text } = await get();
    const etag = String(headers.etag);
    for (const known of [etag, `"other", ${etag}`, etag.replace('W/', ''), '*']) {
      const again = await get({ 'if-none-match': known, 'accept-encoding': 'gzip' });
      expect(again).toMatchObject({ status: 304, text: '' });
      expect(again.headers.etag).toBe(etag);
    }
    expect((await get({ 'if-none-match': '"other"' })).text).toBe(text);
    expect(await rawRequest(api.url + path, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
  });

  it('is written once for all requests', async () => {
    await get();
    const written = vi.spyOn(JSON, 'stringify');
    const parsed = vi.spyOn(Array.prototype, 'join');
    for (let request = 0; request < 20; request += 1) await get({ 'accept-encoding': 'gzip' });
    const longest = (calls: Array<{ value: unknown }>) =>
      Math.max(0, ...calls.map(({ value }) => String(value).length));
    expect(longest(written.mock.results)).toBeLessThan(10_000);
    expect(longest(parsed.mock.results)).toBeLessThan(10_000);
  });
});
