import { describe, expect, it } from 'vitest';
import { MAX_SHOWN_CHARS } from '../../../../../router/src/core/agent-exchange.ts';
import {
  maskedContent,
  maskedText,
  maskedUrl,
  secretsOf,
} from '../../../../../router/src/infra/agents/transport/exchange-mask.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const shown = (body: string, headers: Record<string, string> = JSON_TYPE) =>
  maskedContent(new Headers(headers), body, Buffer.byteLength(body), []).body;

describe('exchange-mask', () => {
  it('masks the value of every header that is not known to be harmless', () => {
    const headers = new Headers({ authorization: 'Bearer abc', 'x-company': 'k', accept: '*/*' });
    expect(maskedContent(headers, undefined, undefined, []).headers).toEqual({
      authorization: '***',
      'x-company': '***',
      accept: '*/*',
    });
  });

  it('masks values of headers wherever they are quoted, also escaped and without their scheme', () => {
    const headers = new Headers({ authorization: 'Bearer 12345678-key', 'x-own': 'quote"d-value' });
    const secrets = secretsOf('https://agent/?key=query-secret', headers);
    expect(maskedText('12345678-key, query-secret and quote\\"d-value', secrets)).toBe('***, *** and ***');
  });

  it('masks user, password and query of the address', () => {
    const url = 'https://bob:pass-word@agent/run/pass-word?key=abc&key=def';
    expect(maskedUrl(url, secretsOf(url, new Headers()))).toBe('https://***@agent/run/***?key=***');
  });

  it('masks a password with a per cent sign that encodes nothing', () => {
    const url = 'https://user:50%-secret@agent/run';
    expect(maskedUrl(url, secretsOf(url, new Headers()))).toBe('https://***@agent/run');
  });

  it('masks fields with secret names, tokens of known forms, private keys and links to files', () => {
    const link = `https://wa2ai/api/media/${'a'.repeat(50)}`;
    const key = '-----BEGIN PRIVATE KEY-----\\nabc\\n-----END PRIVATE KEY-----';
    const masked = shown(
      JSON.stringify({
        replyToken: 'secret-1',
        api_key: 'se"cret-2',
        nested: { Authorization: 'secret-3' },
        text: `use ghp_${'a1'.repeat(20)} or ${key}`,
        file: link,
        max_tokens: 100,
      }),
    );
    expect(masked).not.toMatch(/secret|cret-2|ghp_|abc|aaaa/);
    expect(JSON.parse(masked ?? '')).toMatchObject({
      replyToken: '***',
      api_key: '***',
      nested: { Authorization: '***' },
      file: 'https://wa2ai/api/media/***',
      max_tokens: 100,
    });
  });

  it('shows the length of a file in base64 and what stands after it', () => {
    const body = JSON.stringify({ data: 'QUJD'.repeat(1_000), text: 'hello' });
    expect(shown(body)).toBe('{"data":"[4000 characters of a file]","text":"hello"}');
    const call = `{"data":"0x${'ab'.repeat(1_000)}"}`;
    expect(shown(call)).toBe(call);
  });

  it('cuts a long body with a mark, and says how large it was', () => {
    const body = 'word '.repeat(10_000);
    const content = maskedContent(new Headers(JSON_TYPE), body, body.length, []);
    expect(content.body).toBe(`${body.slice(0, MAX_SHOWN_CHARS)}…`);
    expect(content.bytes).toBe(50_000);
  });

  it('shows bytes in hexadecimal, without secrets', () => {
    const bytes = Buffer.from('\0a-secret-value\x01', 'latin1');
    const { body } = maskedContent(new Headers(), bytes, bytes.length, ['a-secret-value']);
    expect(body).toBe(`0x00${Buffer.from('***').toString('hex')}01`);
  });

  it('shows no body that is no text', () => {
    expect(shown('PNG', { 'content-type': 'image/png' })).toBeUndefined();
    expect(shown('data: 1\n\n', { 'content-type': 'text/event-stream' })).toBe('data: 1\n\n');
  });
});

describe('maskedText', () => {
  it.each(['/api/media/', '/api/replies/', '/task-pushes/'])(
    'hides the secret of an address with %s',
    (path) => {
      expect(maskedText(`{"url":"https://wa2ai.example.com${path}${'aB3_-'.repeat(9)}"}`, [])).toBe(
        `{"url":"https://wa2ai.example.com${path}***"}`,
      );
    },
  );
});
