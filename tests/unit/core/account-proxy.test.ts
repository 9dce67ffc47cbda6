import { describe, expect, it } from 'vitest';
import { maskedProxyUrl, readProxyUrl } from '../../../router/src/core/account-proxy.ts';

describe('the URL of a proxy', () => {
  it.each([
    ['http://proxy.example:3128', { scheme: 'http', host: 'proxy.example', port: 3128 }],
    ['https://proxy.example/', { scheme: 'https', host: 'proxy.example', port: 443 }],
    ['http://10.0.0.7', { scheme: 'http', host: '10.0.0.7', port: 80 }],
    ['socks5://[::1]', { scheme: 'socks5', host: '::1', port: 1080 }],
    [
      'socks5://us%40r:p%3Ass%25@proxy.example:1',
      { scheme: 'socks5', host: 'proxy.example', port: 1, login: { user: 'us@r', password: 'p:ss%' } },
    ],
    [
      'https://user:@proxy.example',
      { scheme: 'https', host: 'proxy.example', port: 443, login: { user: 'user', password: '' } },
    ],
  ])('is read: %s', (url, address) => {
    expect(readProxyUrl(url)).toEqual(address);
  });

  it.each([
    ['proxy.example', /is not a URL/],
    ['ftp://proxy.example', /must begin with/],
    ['socks4://proxy.example', /must begin with/],
    ['socks5://:1080', /is not a URL|must name a host/],
    ['socks5://a%20b:1080', /must name a host/],
    ['http://proxy.example/path', /must end after/],
    ['http://proxy.example?a=b', /must end after/],
    ['http://proxy.example#a', /must end after/],
    ['http://proxy.example:0', /port above 0/],
    ['http://us%3Aer:secret@proxy.example', /colon in the user name/],
    ['http://:secret@proxy.example', /password without a user name/],
    ['http://user:100%@proxy.example', /not written as %25/],
    ['http://user:a%0D%0Ab@proxy.example', /control character/],
    [`socks5://user:${'s'.repeat(256)}@proxy.example`, /more than 255 bytes/],
  ])('is refused without being quoted: %s', (url, refusal) => {
    const read = readProxyUrl(url);
    expect(read).toEqual({ refusal: expect.stringMatching(refusal) });
    expect(JSON.stringify(read)).not.toMatch(/secret|sss/);
    expect(maskedProxyUrl(url)).toBe('***');
  });

  it.each([
    ['http://user:secret@proxy.example', 'http://***@proxy.example:80'],
    ['socks5://user@[fd00::1]:1081', 'socks5://***@[fd00::1]:1081'],
    ['https://proxy.example', 'https://proxy.example:443'],
  ])('is shown without user name and password: %s', (url, shown) => {
    expect(maskedProxyUrl(url)).toBe(shown);
  });
});
