import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import { agentKinds } from '../../../../router/src/infra/agents/agent-kinds.ts';
import { anyText } from '../../../support/any-text.ts';
import { type HttpApi, startHttpApi } from '../../../support/http-api.ts';
import { runs } from '../../../support/property-runs.ts';
import { rawRequest } from '../../../support/raw-request.ts';

const json = { 'content-type': 'application/json' };
const good = {
  channelId: '5493777239922',
  agentEndpoint: 'http://localhost:8000',
  environment: 'lab',
  config: { adk: { appName: 'a' } },
};
/** A text that cannot be part of a URL. */
const LONE_SURROGATE = /\p{Surrogate}/gu;
const adk = (change: object) => ({ config: { adk: { appName: 'a', ...change } } });
const failure = (failure: unknown) => ({ config: { adk: { appName: 'a' }, failure } });

const oneKind = `config must contain exactly one agent kind: ${agentKinds.map(({ name }) => name).join(', ')}.`;

let api: HttpApi;
beforeAll(async () => {
  api = await startHttpApi();
});
afterAll(() => api.close());

describe('a route with one mistake', () => {
  it.each<[object, string]>([
    [{ channelId: undefined }, 'channelId is missing.'],
    [{ channelId: 5493777239922 }, 'channelId must be a string.'],
    [
      { channelId: 'me' },
      'channelId must be *, @<user name>, a phone number with its country code, a JID or a group id.',
    ],
    [
      { channelId: '' },
      'channelId must be *, @<user name>, a phone number with its country code, a JID or a group id.',
    ],
    [
      { channelId: 'status@broadcast' },
      'channelId must be *, @<user name>, a phone number with its country code, a JID or a group id.',
    ],
    [{ agentEndpoint: undefined }, 'agentEndpoint is missing.'],
    [{ agentEndpoint: 'localhost:8000' }, 'agentEndpoint must be an http:// or https:// URL.'],
    [{ agentEndpoint: 'ftp://x/' }, 'agentEndpoint must be an http:// or https:// URL.'],
    [{ agentEndpoint: 'javascript:alert(1)' }, 'agentEndpoint must be an http:// or https:// URL.'],
    [{ agentEndpoint: `http://x/${'x'.repeat(2048)}` }, 'agentEndpoint must have at most 2048 characters.'],
    [
      { agentEndpoint: 'http://user:pass@x/' },
      'agentEndpoint must not contain a user name or password; use the headers of the agent kind.',
    ],
    [{ environment: 'staging' }, 'environment must be lab or prod.'],
    [{ priority: '5' }, 'priority must be a number.'],
    [{ priority: 1.5 }, 'priority must be a whole number.'],
    [{ priority: 1e9 }, 'priority must be at most 1000000.'],
    [{ enabled: 'yes' }, 'enabled must be a boolean.'],
    [{ name: 'x'.repeat(201) }, 'name must have at most 200 characters.'],
    [{ name: 'a\0b' }, 'name must not contain NUL characters or invalid Unicode.'],
    [{ name: '\ud800' }, 'name must not contain NUL characters or invalid Unicode.'],
    [{ accountId: 'a b' }, 'accountId must be 1 to 64 letters, digits, dots, dashes or underscores.'],
    [{ colour: 'red' }, 'colour is not a known field.'],
    [{ config: undefined }, 'config is missing.'],
    [{ config: null }, 'config must be a JSON object.'],
    [{ config: [] }, 'config must be a JSON object.'],
    [{ config: {} }, oneKind],
    [{ config: { shared: true } }, oneKind],
    [{ config: { adk: {} } }, 'config.adk.appName is missing.'],
    [adk({ appName: ' ' }), 'config.adk.appName must not be blank.'],
    [failure('no'), 'config.failure must be a JSON object.'],
    [failure({ tries: 3 }), 'config.failure.tries is not a known field.'],
    [failure({ tryForMs: -1 }), 'config.failure.tryForMs must be at least 0.'],
    [failure({ tryForMs: 1.5 }), 'config.failure.tryForMs must be a whole number.'],
    [failure({ circuit: { failures: 3 } }), 'config.failure.circuit.openMs is missing.'],
    [failure({ fallbackRouteId: 'x' }), 'config.failure.fallbackRouteId must be the id of a route.'],
    [failure({ fallbackText: ' ' }), 'config.failure.fallbackText must not be blank.'],
    [
      failure({ fallbackText: 'x', fallbackRouteId: '00000000-0000-4000-8000-000000000000' }),
      'config.failure.fallbackText cannot be combined with fallbackRouteId; choose one.',
    ],
    [adk({ baseUrl: 'x' }), 'config.adk.baseUrl must be an http:// or https:// URL.'],
    [adk({ dialect: 'kebab' }), 'config.adk.dialect must be auto, snake or camel.'],
    [adk({ timeoutMs: 5 }), 'config.adk.timeoutMs must be at least 100.'],
    [adk({ headers: { 'a b': 'x' } }), 'config.adk.headers.a b has a name that is not allowed.'],
    [adk({ headers: { Host: 'x' } }), 'config.adk.headers.Host has a name that is not allowed.'],
    [
      adk({ headers: { a: 'x\r\ny: z' } }),
      'config.adk.headers.a must contain printable ASCII characters only.',
    ],
    [adk({ stream: true }), 'config.adk.stream is not a known field.'],
    [{ config: { ...good.config, other: {} } }, 'config.other is not a known field.'],
    [
      { config: { ...good.config, failure: { fallbackText: ' ' } } },
      'config.failure.fallbackText must not be blank.',
    ],
  ])('%j is answered with its one sentence', async (change, sentence) => {
    for (const method of ['POST', 'PUT']) {
      const path = method === 'POST' ? '/api/routes' : '/api/routes/*';
      const isForPost = 'channelId' in change && change.channelId === undefined;
      if (method === 'PUT' && isForPost) continue;
      const answer = await api.call(method, path, { ...good, ...change });
      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({ success: false, error: sentence, code: 'INVALID_BODY' });
      expect(answer.body.details).toHaveLength(1);
      const { field, message } = answer.body.details[0];
      expect(`${field} ${message}.`).toBe(sentence);
    }
  });

  it('has its own code for an invalid pattern', async () => {
    const answer = await api.call('POST', '/api/routes', { ...good, regexFilter: '(unclosed' });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ success: false, code: 'INVALID_REGEX_PATTERN' });
    expect(answer.body.error).toMatch(/^regexFilter is not a valid pattern: .*Unterminated group\.$/);
    expect(answer.body.details[0].field).toBe('regexFilter');
    const empty = await api.call('POST', '/api/routes', { ...good, regexFilter: '' });
    expect(empty.body.error).toBe('regexFilter must not be empty; leave it out to match every text.');
  });

  it('is reported with all other mistakes at once', async () => {
    const answer = await api.call('POST', '/api/routes', {});
    expect(answer.body.error).toBe('channelId is missing. config is missing. agentEndpoint is missing.');
  });
});

describe('other resources', () => {
  it.each<[string, string, unknown, string]>([
    ['POST', '/api/messages', {}, 'channelId is missing.'],
    [
      'POST',
      '/api/messages',
      { channelId: '5493777239922' },
      'The body must contain exactly one of text, image, video, audio, voice, document, sticker, location, contacts, poll, react, delete.',
    ],
    [
      'POST',
      '/api/messages',
      { channelId: '*', text: 'x' },
      'channelId must be one chat: a phone number with its country code, a JID or a group id.',
    ],
    ['POST', '/api/messages', { channelId: '15551234567', text: '  ' }, 'text must not be blank.'],
    [
      'POST',
      '/api/messages',
      { channelId: '15551234567', text: 'x'.repeat(65_537) },
      'text must have at most 65536 characters.',
    ],
    [
      'POST',
      '/api/messages',
      { channelId: '15551234567', text: 'x', accountId: 'no' },
      'accountId is not a WhatsApp account of this service.',
    ],
    ['POST', '/api/accounts/default/pair', { method: 'nfc' }, 'method must be qr or code.'],
    ['POST', '/api/accounts/default/pair', { method: 'code' }, 'phone is missing; pairing by code needs it.'],
    [
      'POST',
      '/api/accounts/default/pair',
      { method: 'code', phone: 'mine' },
      'phone must be a phone number with its country code, 7 to 15 digits.',
    ],
    [
      'POST',
      '/api/accounts/default/pair',
      { phone: '15551234567' },
      'phone belongs to the method code only.',
    ],
    ['GET', '/api/messages?limit=many', undefined, 'limit must be a whole number from 1 to 500.'],
    ['GET', '/api/messages?limit=501', undefined, 'limit must be a whole number from 1 to 500.'],
    ['GET', '/api/messages?limit=1&limit=2', undefined, 'limit must be a string.'],
    ['GET', '/api/messages?cursor=99999999999999999999', undefined, 'cursor must be the id of a row.'],
    [
      'GET',
      '/api/messages?state=lost',
      undefined,
      'state must be received, answered, ignored, dead, draft, queued, sending, sent, acked, delivered or read.',
    ],
    [
      'GET',
      '/api/messages?channelId=x',
      undefined,
      'channelId must be one chat: @<user name>, a phone number with its country code, a JID or a group id.',
    ],
    ['GET', '/api/dead-letters?cursor=-1', undefined, 'cursor must be the id of a row.'],
    ['GET', '/api/routes?chat=1', undefined, 'chat is not a known field.'],
    [
      'GET',
      '/api/routes?accountId=%00',
      undefined,
      'accountId must not contain NUL characters or invalid Unicode.',
    ],
  ])('%s %s %j: %s', async (method, path, body, sentence) => {
    const answer = await api.call(method, path, body);
    expect(answer.body).toMatchObject({ success: false, error: sentence });
    expect(answer.status).toBe(400);
  });

  it.each(['', ' ', 'a b', 'x'.repeat(201), 'ñ'])('refuses the Idempotency-Key %j', async (key) => {
    const headers = { 'idempotency-key': key };
    const answer = await api.call('POST', '/api/messages', { channelId: '15551234567', text: 'x' }, headers);
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('INVALID_HEADERS');
  });

  it.each([
    'GET /api/nothing 404',
    'GET / 303',
    'DELETE /api/accounts 405',
    'PUT /qr 405',
    'GET /api/routes/%E0%A4%A 400',
  ])('%s', async (line) => {
    const [method = '', path = '', status] = line.split(' ');
    expect((await api.call(method, path)).status).toBe(Number(status));
  });
});

describe('a body that cannot be parsed', () => {
  const post = (body: string | Buffer, headers: Record<string, string> = json) =>
    rawRequest(`${api.url}/api/routes`, { method: 'POST', headers, body });

  it.each(['{', '{"a":1,}', 'nonsense', '\ufeff', "{'a':1}", '\0', '{"a":"\n"}'])(
    '%j is no JSON: 400',
    async (body) => {
      const answer = await post(body);
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.text).success).toBe(false);
    },
  );

  it.each(['null', '[]', '1', '"text"', 'true', '{"__proto__":{"channelId":"*"}}', '{"constructor":{}}'])(
    '%s is no route: 400',
    async (body) => {
      expect((await post(body)).status).toBe(400);
    },
  );

  it('no body at all: 400', async () => {
    const answer = await rawRequest(`${api.url}/api/routes`, { method: 'POST', headers: json });
    expect(answer.status).toBe(400);
  });

  it('over 1 MB: 413, also when compressed or without a length', async () => {
    const large = JSON.stringify({ ...good, name: 'x'.repeat(1_048_576) });
    const packed = { ...json, 'content-encoding': 'gzip' };
    const chunked = { ...json, 'transfer-encoding': 'chunked' };
    for (const answer of [
      await post(large),
      await post(gzipSync(large), packed),
      await post(large, chunked),
    ]) {
      expect(answer.status).toBe(413);
      expect(JSON.parse(answer.text)).toEqual({
        success: false,
        error: 'The body must not be larger than 1 MB.',
        phrase: { code: 'problem.body-over', values: { megabytes: 1 } },
        code: 'BODY_TOO_LARGE',
        docs: '../docs/troubleshooting.md#body_too_large',
      });
    }
  });

  it('a broken or unknown encoding: 4xx', async () => {
    expect((await post('not gzip', { ...json, 'content-encoding': 'gzip' })).status).toBe(400);
    expect((await post('{}', { ...json, 'content-encoding': 'lzma' })).status).toBe(415);
    expect((await post('{}', { 'content-type': 'application/json; charset=koi8-r' })).status).toBe(415);
  });

  it('nested a hundred thousand times: 400', async () => {
    const depth = 100_000;
    const answer = await post(`{"config":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text).error).toContain('must not be nested deeper than');
  });
});

describe('an internal error', () => {
  it('of an unavailable database is a 503 with Retry-After', async () => {
    api.messageLog.failure = new StorageUnavailableError({ sentence: 'The database does not answer.' });
    const answer = await api.call('GET', '/api/messages');
    api.messageLog.failure = undefined;
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(answer.body).toEqual({
      success: false,
      error: 'The database does not answer.',
      code: 'STORAGE_UNAVAILABLE',
      docs: '../docs/troubleshooting.md#storage_unavailable',
    });
  });

  it('without a known cause shows neither its text nor a stack, and is logged', async () => {
    api.messageLog.failure = new Error('secret internals');
    const answer = await api.call('GET', '/api/messages');
    api.messageLog.failure = undefined;
    expect(answer.status).toBe(500);
    expect(answer.text).not.toMatch(/secret|\.ts|node_modules/);
    expect(
      api.log.lines.some(({ level, message }) => level === 'error' && message === 'request failed'),
    ).toBe(true);
  });
});

const writes = [
  'POST /api/routes',
  'PUT /api/routes/*',
  'PATCH /api/routes/5493777239922',
  'POST /api/routes/explain',
  'POST /api/messages',
  'POST /api/accounts/default/pair',
  'POST /api/accounts/default/restart',
];

describe('any input', () => {
  /** Values similar to the real fields, so that the search passes the first check. */
  const nearBody = fc.dictionary(
    fc.constantFrom(
      ...Object.keys(good),
      'text',
      'to',
      'from',
      'method',
      'phone',
      'regexFilter',
      'priority',
      '__proto__',
    ),
    fc.oneof(
      fc.constantFrom<unknown>(...Object.values(good), '*', 'qr', 'code', '15551234567', '(?<a>x', '\\', {
        adk: { headers: null },
      }),
      fc.jsonValue(),
      anyText(),
    ),
  );

  it('never results in a status of 500 or above, and always in a JSON problem', async () => {
    await api.call('POST', '/api/routes', good);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...writes),
        fc.oneof(
          nearBody.map((body) => JSON.stringify(body)),
          fc.json(),
          anyText(),
        ),
        async (target, body) => {
          const [method = '', path = ''] = target.split(' ');
          const { status, text } = await rawRequest(api.url + path, { method, headers: json, body });
          expect(status).toBeLessThan(500);
          expect(JSON.parse(text).success).toBe(status < 300);
        },
      ),
      runs(200),
    );
  });

  it('in a URL never results in a status of 500 or above', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(
          '/api/routes/',
          '/api/messages/',
          '/api/accounts/',
          '/api/messages?cursor=',
          '/qr?account=',
        ),
        fc.oneof(
          fc.dictionary(anyText(10), anyText(30)).map((query) => new URLSearchParams(query).toString()),
          anyText().map((text) => encodeURIComponent(text.replace(LONE_SURROGATE, ''))),
          fc.stringMatching(/^[%0-9a-f]{0,12}$/),
        ),
        async (path, rest) => {
          const { status } = await rawRequest(api.url + path + rest);
          expect(status).toBeLessThan(500);
        },
      ),
      runs(200),
    );
  });
});
