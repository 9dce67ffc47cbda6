import { describe, expect, it } from 'vitest';
import { baseOf, cardAddress, ownHeaders } from '../../../../router/src/infra/agents/card-address.ts';

describe('cardAddress', () => {
  it.each([
    ['/rpc', 'https://a.example/x/card.json', 'https://a.example/rpc'],
    ['https://b.example/rpc?v=1', 'https://a.example/card', 'https://b.example/rpc?v=1'],
    ['http://localhost:3000/rpc', 'https://a.example/card', 'https://a.example/rpc'],
    ['http://[::1]:3000/rpc', 'https://a.example/card', 'https://a.example/rpc'],
    ['http://localhost:3000/rpc', 'http://127.0.0.1:8000/card', 'http://localhost:3000/rpc'],
  ])('%s in the card %s is %s', (url, cardUrl, address) => {
    expect(cardAddress(url, cardUrl)).toBe(address);
  });

  it.each([['file:///etc/passwd'], ['javascript:1'], ['http://']])('refuses %s', (url) => {
    expect(() => cardAddress(url, 'https://a.example/card')).toThrow(/not an http/);
  });
});

describe('baseOf', () => {
  it('has no trailing slash, query or fragment', () => {
    expect(baseOf('https://a.example/x/?y=1#z')).toBe('https://a.example/x');
    expect(baseOf('https://a.example')).toBe('https://a.example');
  });
});

describe('ownHeaders', () => {
  it('are sent to the origins of the route only, the last of a name', () => {
    const headers = [
      ['authorization', 'Bearer one'],
      ['Authorization', 'Bearer two'],
    ] as const;
    const own = ownHeaders(headers, ['https://a.example/x', undefined]);
    expect(own.headersFor('https://a.example/y').get('authorization')).toBe('Bearer two');
    expect([...own.headersFor('https://b.example/').keys()]).toEqual([]);
    expect(own.secrets).toEqual(['Bearer one', 'one', 'Bearer two', 'two']);
  });
});
