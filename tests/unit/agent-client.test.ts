import nock from 'nock';
import { describe, expect, it } from 'vitest';
import type { AttemptOptions } from '../../router/src/core/agent-client.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  MediaError,
  StorageUnavailableError,
} from '../../router/src/core/errors.ts';
import {
  aClient,
  aMessage,
  anEvent,
  aSession,
  errorOf,
  JumpingClock,
  mockAgentServer,
  sessionId,
  sessionPath,
  snakeBody,
  url,
} from '../support/adk-requests.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { recordingLog } from '../support/quiet-log.ts';

/** HttpAgentClient against the agent contract. */

mockAgentServer();

describe('request', () => {
  it('posts exactly the body of the contract to {baseUrl}/run, and nothing else', async () => {
    nock(url, { reqheaders: { 'content-type': 'application/json' } })
      .post('/run', (body) => {
        expect(body).toEqual(snakeBody);
        return true;
      })
      .reply(200, [anEvent('Hi')]);
    expect((await aClient().sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it.each([
    ['a person by number', '5493777239922@s.whatsapp.net', '5493777239922', '5493777239922_5493777239922'],
    ['a person by a device of theirs', '5493777239922:7@s.whatsapp.net', '5493777239922', sessionId],
    ['a person by LID', '120363000111@lid', '120363000111@lid', '120363000111_120363000111'],
    [
      'a group',
      '5493777239922@s.whatsapp.net',
      '120363025246125486@g.us',
      '5493777239922_120363025246125486',
    ],
    [
      'an old group',
      '5493777239922@s.whatsapp.net',
      '5493777-1400000000@g.us',
      '5493777239922_5493777-1400000000',
    ],
  ])('names the session {from}_{channelId} for %s', async (_case, from, channelId, expected) => {
    nock(url)
      .post('/run', (body) => body.session_id === expected && expected.startsWith(`${body.user_id}_`))
      .reply(200, []);
    const answer = await aClient().sendMessage(url, aMessage({ from, channelId }));
    expect(answer.metadata?.adk).toMatchObject({ sessionId: expected });
  });

  it('uses the endpoint of the route when the configuration has no baseUrl', async () => {
    nock('http://agent.example:9000')
      .post('/run')
      .reply(200, [anEvent('Hi')]);
    const client = aClient({}, { baseUrl: undefined });
    expect((await client.sendMessage('http://agent.example:9000', aMessage())).response).toBe('Hi');
  });

  it('keeps a path and a query of the base URL and drops trailing slashes', async () => {
    nock(url)
      .post('/prefix/adk/run?tenant=a')
      .reply(200, [anEvent('Hi')]);
    const client = aClient({}, { baseUrl: `${url}/prefix/adk//?tenant=a` });
    expect((await client.sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it('sends the headers of the route, but never another content type', async () => {
    nock(url, {
      reqheaders: { authorization: 'Bearer token-of-the-route', 'content-type': 'application/json' },
    })
      .post('/run')
      .reply(200, [anEvent('Hi')]);
    const headers = { Authorization: 'Bearer token-of-the-route', 'Content-Type': 'text/plain' };
    expect((await aClient({}, { headers }).sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it('sends the user and password of a base URL as an Authorization header', async () => {
    nock(url)
      .post('/run')
      .basicAuth({ user: 'ana', pass: 'p@ss word' })
      .reply(200, [anEvent('Hi')]);
    const client = aClient({}, { baseUrl: 'http://ana:p%40ss%20word@localhost:8000' });
    expect((await client.sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it.each(['localhost:8000', 'ftp://localhost', 'nonsense', ''])(
    'refuses the base URL %j',
    async (baseUrl) => {
      const error = await errorOf(aClient({}, { baseUrl }).sendMessage(url, aMessage()));
      expect(error).toBeInstanceOf(AgentProtocolError);
      expect(error.message).toMatch(/^Failed to send message to ADK agent: .*http/);
    },
  );

  it('refuses a header that cannot be sent, without showing its value', async () => {
    const headers = { Authorization: 'Bearer top\nsecret' };
    const error = await errorOf(aClient({}, { headers }).sendMessage(url, aMessage()));
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(error.message).toContain('"Authorization"');
    expect(`${error.message}${error.cause}`).not.toContain('secret');
  });
});

describe('response', () => {
  it('is exactly the AgentResponse of the contract', async () => {
    nock(url)
      .post('/run')
      .reply(200, [anEvent('Hi')]);
    expect(await aClient().sendMessage(url, aMessage())).toStrictEqual({
      success: true,
      response: 'Hi',
      metadata: { adk: { sessionId, userId: '5493777239922', eventCount: 1, invocationId: 'e-7e18' } },
    });
  });

  it('is the text of the last model event, its parts joined', async () => {
    const last = anEvent('', { content: { role: 'model', parts: [{ text: 'one ' }, { text: 'two' }] } });
    nock(url)
      .post('/run')
      .reply(200, [anEvent('first'), last, anEvent('mine', { author: 'user' })]);
    const answer = await aClient().sendMessage(url, aMessage());
    expect(answer.response).toBe('one two');
    expect(answer.metadata?.adk).toMatchObject({ eventCount: 3 });
  });

  it.each([
    ['no events', '[]'],
    ['null, as a Go server writes it', 'null'],
    ['only the own message', JSON.stringify([anEvent('Hello', { author: 'user' })])],
    ['an event without content', JSON.stringify([{ author: 'model', invocationId: 'e-1' }])],
  ])('has success and no response for %s', async (_case, body) => {
    nock(url).post('/run').reply(200, body);
    const answer = await aClient().sendMessage(url, aMessage());
    expect(answer.success).toBe(true);
    expect(answer).not.toHaveProperty('response');
  });

  it.each([
    ['an object', '{"response":"Hi"}'],
    ['a text', '"Hi"'],
    ['half a JSON text', '[{"author":'],
    ['a web page', '<html>It works</html>'],
    ['nothing', ''],
    ['an event of another shape', '[{"author":"model","content":{"parts":"Hi"}}]'],
  ])('is an error when the body is %s', async (_case, body) => {
    nock(url).post('/run').reply(200, body);
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(error.message).toMatch(/^Failed to send message to ADK agent: /);
  });

  it('is an error when the run only reported one', async () => {
    const failed = { author: 'front_desk', errorCode: 'UNKNOWN_ERROR', errorMessage: 'model exploded' };
    nock(url).post('/run').reply(200, [failed]);
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error).toMatchObject({ disposition: 'dead', code: 'AGENT_REPORTED_ERROR' });
    expect(error.message).toBe(
      'Failed to send message to ADK agent: the agent reported UNKNOWN_ERROR: model exploded',
    );
  });

  it('is cut off at the size limit', async () => {
    nock(url)
      .post('/run')
      .reply(200, [anEvent('x'.repeat(2_000))]);
    const error = await errorOf(aClient({ maxBytes: 1_000 }).sendMessage(url, aMessage()));
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(error.message).toBe('Failed to send message to ADK agent: the answer is larger than 1000 bytes');
  });
});

describe('status other than 200', () => {
  it.each([400, 401, 404, 418, 500])(
    'throws the exact sentence for %i, after one request',
    async (status) => {
      nock(url).post('/run').reply(status, 'no good');
      const error = await errorOf(aClient().sendMessage(url, aMessage()));
      expect(error).toBeInstanceOf(AgentProtocolError);
      expect(error.message).toBe(`ADK agent endpoint returned ${status}: no good`);
    },
  );

  it.each([429, 503])('makes %i retryable after the wait that the agent named', async (status) => {
    nock(url).post('/run').reply(status, 'busy', { 'retry-after': '7' });
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error).toBeInstanceOf(AgentUnavailableError);
    expect(error).toMatchObject({
      message: `ADK agent endpoint returned ${status}: busy`,
      retryAfterMs: 7_000,
    });
  });

  it('reads a Retry-After that is a date', async () => {
    const clock = new FakeClock(Date.UTC(2026, 0, 1, 12, 0, 0));
    nock(url).post('/run').reply(503, '', { 'retry-after': 'Thu, 01 Jan 2026 12:00:30 GMT' });
    expect(await errorOf(aClient({ clock }).sendMessage(url, aMessage()))).toMatchObject({
      retryAfterMs: 30_000,
    });
  });

  it('makes 502 retryable, and 504 uncertain', async () => {
    nock(url).post('/run').reply(502, 'bad gateway').post('/run').reply(504, 'gateway timeout');
    expect(await errorOf(aClient().sendMessage(url, aMessage()))).toBeInstanceOf(AgentUnavailableError);
    expect(await errorOf(aClient().sendMessage(url, aMessage()))).toBeInstanceOf(AgentTimeoutError);
  });

  it('does not follow a redirect, and reports its target', async () => {
    nock(url).post('/run').reply(307, '', { location: 'https://agent.example/run' });
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error.message).toMatch(/^ADK agent endpoint returned 307: .*https:\/\/agent\.example\/run/);
  });

  it('names the apps of the server when it does not know the app', async () => {
    nock(url)
      .post('/run')
      .reply(404, { detail: 'Agent not found' })
      .get('/list-apps')
      .reply(200, ['one', 'two']);
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error.message).toBe(
      'ADK agent endpoint returned 404: {"detail":"Agent not found"} (apps of this server: one, two)',
    );
  });

  it('shows a web page of an error as one line without its stack', async () => {
    const page =
      '<!DOCTYPE html><html><head><title>Error</title></head><body><pre>SyntaxError: oops<br> &nbsp; &nbsp;at JSON.parse (/srv/secret/path.js:1)</pre></body></html>';
    nock(url).post('/run').reply(500, page);
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error.message).toBe('ADK agent endpoint returned 500: SyntaxError: oops');
  });

  it('keeps the text of an error short', async () => {
    nock(url).post('/run').reply(500, 'x'.repeat(100_000));
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error.message.length).toBeLessThan(600);
  });

  it('shows neither the message nor a secret of the route that an agent repeats', async () => {
    const text = 'my "private" words';
    const log = recordingLog();
    const headers = { Authorization: 'Bearer token-of-the-route' };
    nock(url).post('/run').reply(500, { got: text, header: 'token-of-the-route' });
    const error = await errorOf(aClient({ log }, { headers }).sendMessage(url, aMessage({ text })));
    const shown = `${error.message} ${JSON.stringify(log.lines)}`;
    expect(shown).not.toContain('private');
    expect(shown).not.toContain('token-of-the-route');
    expect(error.message).toContain('[message text]');
  });

  it('does not show the phone number in a session id that an agent repeats', async () => {
    nock(url).post('/run').reply(500, `no luck with ${sessionId} of 5493777239922`);
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error.message).toBe('ADK agent endpoint returned 500: no luck with [session] of [user]');
  });

  it('shows a validation report without the input that it quotes', async () => {
    const detail = [{ type: 'missing', loc: ['body', 'x'], msg: 'Field required', input: { text: 'Hello' } }];
    nock(url).post('/run').reply(422, { detail });
    const error = await errorOf(aClient({}, { dialect: 'snake' }).sendMessage(url, aMessage()));
    expect(error.message).toBe('ADK agent endpoint returned 422: body.x: Field required');
  });
});

describe('network', () => {
  it('throws the exact sentence when the connection is refused, as a retryable error', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:8000'), { code: 'ECONNREFUSED' });
    nock(url).post('/run').replyWithError(cause);
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error).toBeInstanceOf(AgentUnavailableError);
    expect(error.message).toBe('Failed to send message to ADK agent: connect ECONNREFUSED 127.0.0.1:8000');
  });

  describe('as an attempt', () => {
    async function attempts(options: AttemptOptions, { message = aMessage(), config = {}, adk = {} } = {}) {
      let count = 0;
      const beforeRequest = async () => {
        count += 1;
      };
      const sent = aClient(config, adk).sendMessage(url, message, { ...options, beforeRequest });
      await sent.catch(() => undefined);
      return count;
    }
    const answered = aSession([anEvent('Hi', { author: 'front_desk' })]);
    const failed = aSession([{ author: 'front_desk', invocationId: 'e-7e18', errorCode: 'SAFETY' }]);

    it.each([
      ['answered', answered],
      ['failed', failed],
      ['has not ended', aSession([])],
    ])('is not counted when the session shows that an earlier run %s', async (_case, session) => {
      nock(url).get(sessionPath).times(9).reply(200, session);
      const config = { clock: new JumpingClock(), timeout: 1_000 };
      expect(await attempts({ isRepeat: true }, { config })).toBe(0);
      nock.cleanAll();
    });

    it('is not counted when the file of the message cannot be loaded', async () => {
      const media = { kind: 'image' as const, mimeType: 'image/png' };
      const loadMedia = () => Promise.reject(new MediaError('MEDIA_GONE', { sentence: 'It is gone.' }));
      const message = aMessage({ media });
      expect(await attempts({ loadMedia }, { message, adk: { media: true } })).toBe(0);
    });

    it('is counted once, although a missing session makes it several requests', async () => {
      nock(url)
        .post('/run')
        .reply(404, 'Session not found')
        .post(sessionPath)
        .reply(200, '{}')
        .post('/run')
        .reply(200, [anEvent('Hi')]);
      expect(await attempts({})).toBe(1);
    });

    it('is not made when it cannot be counted', async () => {
      const beforeRequest = () => Promise.reject(new StorageUnavailableError({ sentence: 'closed' }));
      const error = await errorOf(aClient().sendMessage(url, aMessage(), { beforeRequest }));
      expect(error).toBeInstanceOf(StorageUnavailableError);
    });
  });

  it('reads the session before it repeats a request whose connection was lost', async () => {
    const client = aClient({ clock: new JumpingClock() }, { dialect: 'camel' });
    nock(url)
      .post('/run')
      .replyWithError(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    expect(await errorOf(client.sendMessage(url, aMessage()))).toBeInstanceOf(AgentUnavailableError);
    nock(url)
      .get(sessionPath)
      .times(2)
      .reply(200, aSession([anEvent('Hi', { author: 'front_desk' })]));
    expect((await client.sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it('repeats the request when the interrupted run had failed on an overloaded model', async () => {
    const failed = { author: 'front_desk', invocationId: 'e-7e18', errorCode: '429' };
    nock(url)
      .get(sessionPath)
      .times(2)
      .reply(200, aSession([failed]))
      .post('/run')
      .reply(200, [anEvent('Hi')]);
    const client = aClient({ clock: new JumpingClock() });
    expect((await client.sendMessage(url, aMessage(), { isRepeat: true })).response).toBe('Hi');
  });

  it('repeats the request after a lost connection when the agent has no readable sessions', async () => {
    const client = aClient();
    nock(url)
      .post('/run')
      .replyWithError(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    await errorOf(client.sendMessage(url, aMessage()));
    nock(url)
      .get(sessionPath)
      .reply(404, 'Not found')
      .post('/run', snakeBody)
      .reply(200, [anEvent('Hi')]);
    expect((await client.sendMessage(url, aMessage())).response).toBe('Hi');
  });
});

describe('log', () => {
  it('writes the three lines of the contract, without text or phone number', async () => {
    const log = recordingLog();
    nock(url)
      .post('/run')
      .reply(200, [anEvent('Hi there')]);
    await aClient({ log }).sendMessage(url, aMessage({ text: 'private words' }));
    expect(log.lines.map((line) => line.message)).toEqual([
      'sending ADK message',
      'ADK response processed',
      'ADK message sent',
    ]);
    expect(JSON.stringify(log.lines)).not.toMatch(/private words|Hi there|5493777239922/);
  });

  it('writes to the log of the turn where there is one, else names the message by its WhatsApp id', async () => {
    const own = recordingLog();
    const turn = recordingLog();
    nock(url)
      .post('/run')
      .twice()
      .reply(200, [anEvent('Hi')]);
    const client = aClient({ log: own });
    await client.sendMessage(url, aMessage({ id: 'W1' }), {
      log: turn.child({ messageId: '7', chat: 'a1b2' }),
    });
    expect(own.lines).toEqual([]);
    for (const { fields } of turn.lines) expect(fields).toMatchObject({ messageId: '7', chat: 'a1b2' });
    await client.sendMessage(url, aMessage({ id: 'W1' }));
    expect(own.lines).toHaveLength(3);
    for (const { fields } of own.lines) expect(fields).toMatchObject({ waMessageId: 'W1' });
  });

  it('writes the status and text of a failure at level error', async () => {
    const log = recordingLog();
    nock(url).post('/run').reply(500, 'no good');
    await errorOf(aClient({ log }).sendMessage(url, aMessage()));
    const line = log.lines.at(-1);
    expect(line).toMatchObject({
      level: 'error',
      fields: { error: 'ADK agent endpoint returned 500: no good' },
    });
    expect(line?.fields).not.toHaveProperty('timeout');
  });
});
