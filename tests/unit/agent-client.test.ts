import nock from 'nock';
import { afterEach, describe, expect, it } from 'vitest';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../router/src/core/errors.ts';
import type { IncomingMessage } from '../../router/src/core/models.ts';
import { AdkState } from '../../router/src/infra/adk-state.ts';
import { HttpAgentClient, type HttpAgentClientConfig } from '../../router/src/infra/http-agent-client.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { mockNetwork } from '../support/mocked-network.ts';
import { recordingLog } from '../support/quiet-log.ts';

/** HttpAgentClient by the sentences of the agent contract, then by what real ADK servers do (refs/adk_api.md). */

const url = 'http://localhost:8000';
const sessionId = '5493777239922_5493777239922';
const sessionPath = `/apps/my_sample_agent/users/5493777239922/sessions/${sessionId}`;

/** The message of the contract's usage example. */
function aMessage(changes: Partial<IncomingMessage> = {}): IncomingMessage {
  return {
    id: 'msg_001',
    from: '5493777239922@s.whatsapp.net',
    channelId: '5493777239922',
    text: 'Hello',
    timestamp: new Date(0),
    ...changes,
  };
}

function aClient(
  config: Partial<HttpAgentClientConfig> = {},
  adk: Partial<HttpAgentClientConfig['adk']> = {},
) {
  return new HttpAgentClient({
    timeout: 30_000,
    ...config,
    adk: { appName: 'my_sample_agent', baseUrl: url, ...adk },
  });
}

const snakeBody = {
  app_name: 'my_sample_agent',
  user_id: '5493777239922',
  session_id: sessionId,
  new_message: { parts: [{ text: 'Hello' }] },
  streaming: false,
  state_delta: null,
  invocation_id: null,
};

const camelBody = {
  appName: 'my_sample_agent',
  userId: '5493777239922',
  sessionId,
  newMessage: { role: 'user', parts: [{ text: 'Hello' }] },
  streaming: false,
  stateDelta: { wa2ai_msg: 'msg_001' },
};

const isSnake = (body: object) => 'app_name' in body;
const isCamel = (body: object) => 'appName' in body;

function anEvent(text: string, changes: object = {}) {
  return {
    content: { parts: [{ text }], role: 'model' },
    invocationId: 'e-7e18',
    author: 'model',
    actions: { stateDelta: {}, artifactDelta: {} },
    ...changes,
  };
}

const never = () => new Promise<never>(() => undefined);

/** The error an ask ends with; fails when it ends with an answer. */
async function errorOf(asked: Promise<unknown>): Promise<Wa2aiError> {
  const outcome = await asked.then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome) return outcome.error as Wa2aiError;
  throw new Error(`it answered ${JSON.stringify(outcome.answer)}`);
}

mockNetwork();
afterEach(() => {
  const left = nock.pendingMocks();
  nock.cleanAll();
  expect(left).toEqual([]);
});

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

  it('asks the endpoint of the route when the configuration has no baseUrl', async () => {
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

describe('answer', () => {
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
  it.each([400, 401, 404, 418, 500])('throws the exact sentence for %i, and asks once', async (status) => {
    nock(url).post('/run').reply(status, 'no good');
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(error.message).toBe(`ADK agent endpoint returned ${status}: no good`);
  });

  it.each([429, 503])('lets %i be tried again after the wait that the agent named', async (status) => {
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

  it('lets 502 be tried again, and holds 504 for uncertain', async () => {
    nock(url).post('/run').reply(502, 'bad gateway').post('/run').reply(504, 'gateway timeout');
    expect(await errorOf(aClient().sendMessage(url, aMessage()))).toBeInstanceOf(AgentUnavailableError);
    expect(await errorOf(aClient().sendMessage(url, aMessage()))).toBeInstanceOf(AgentTimeoutError);
  });

  it('does not follow a redirect, and says where it points', async () => {
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
  it('throws the exact sentence when the connection is refused, and lets it be tried again', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:8000'), { code: 'ECONNREFUSED' });
    nock(url).post('/run').replyWithError(cause);
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error).toBeInstanceOf(AgentUnavailableError);
    expect(error.message).toBe('Failed to send message to ADK agent: connect ECONNREFUSED 127.0.0.1:8000');
  });

  it('looks into the session before it asks again when the connection was lost without an answer', async () => {
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

  it('asks again when the run that a crash cut off had failed on an overloaded model', async () => {
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

  it('asks again after a lost connection when the agent has no sessions to look into', async () => {
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
  it('tells the three lines of the contract, without text or phone number', async () => {
    const log = recordingLog();
    nock(url)
      .post('/run')
      .reply(200, [anEvent('Hi there')]);
    await aClient({ log }).sendMessage(url, aMessage({ text: 'private words' }));
    expect(log.lines.map((line) => line.message)).toEqual([
      '[HttpAgentClient] Sending ADK message',
      '[HttpAgentClient] ADK response processed',
      '[HttpAgentClient] ADK message sent successfully',
    ]);
    expect(JSON.stringify(log.lines)).not.toMatch(/private words|Hi there|5493777239922/);
  });

  it('tells the status and text of a failure at error', async () => {
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

describe('time limit', () => {
  it('throws the exact sentence and logs timeout: true', async () => {
    const clock = new FakeClock();
    const log = recordingLog();
    nock(url).post('/run').reply(never);
    const asked = errorOf(aClient({ clock, log, timeout: 1_234 }).sendMessage(url, aMessage()));
    await clock.untilSleeping();
    await clock.advanceMs(1_234);
    const error = await asked;
    expect(error).toBeInstanceOf(AgentTimeoutError);
    expect(error.message).toBe('Request to agent timed out after 1234ms');
    expect(log.lines.at(-1)).toMatchObject({ level: 'error', fields: { timeout: true } });
  });

  it('is 30 seconds when nothing else is said', async () => {
    const clock = new FakeClock();
    nock(url).post('/run').reply(never);
    const asked = errorOf(aClient({ clock, timeout: undefined }).sendMessage(url, aMessage()));
    await clock.untilSleeping();
    await clock.advanceMs(29_999);
    expect(clock.sleeping).toBe(1);
    await clock.advanceMs(1);
    expect((await asked).message).toBe('Request to agent timed out after 30000ms');
  });

  it('lets a turn be tried again when time ran out before any run, while the session was made', async () => {
    const clock = new FakeClock();
    nock(url).post('/run').reply(404, 'Session not found').post(sessionPath).reply(never);
    const asked = errorOf(aClient({ clock }).sendMessage(url, aMessage()));
    await untilNoMocks();
    await clock.advanceMs(30_000);
    expect(await asked).toBeInstanceOf(AgentUnavailableError);
  });

  it.each([
    ['runs out', () => never()],
    ['runs out behind a gateway', () => [504, 'gateway timeout'] as [number, string]],
  ])(
    'is uncertain at once in the spelling of the contract, which leaves no mark: it %s',
    async (_case, reply) => {
      const sessions = watchSessions();
      nock(url).post('/run').reply(reply);
      const error = await errorOf(aClient({ timeout: 50 }).sendMessage(url, aMessage()));
      expect(error).toBeInstanceOf(AgentTimeoutError);
      expect(sessions.asked).toEqual([]);
    },
  );

  it('gives an answer that the session shows later, and never asks again', async () => {
    const clock = new JumpingClock();
    nock(url).post('/run', camelBody).reply(never);
    const asked = aClient({ clock }, { dialect: 'camel' }).sendMessage(url, aMessage());
    await untilNoMocks();
    const done = [aToolCall(), anEvent('late but here', { author: 'front_desk' })];
    for (const events of [[], [], [aToolCall()], [aToolCall()], done, done]) {
      nock(url).get(sessionPath).reply(200, aSession(events));
    }
    await clock.endLimit();
    expect((await asked).response).toBe('late but here');
  });

  it('stays uncertain when the session shows no answer in time', async () => {
    const clock = new JumpingClock();
    nock(url).post('/run').reply(never);
    const client = aClient({ clock, lateAnswerMs: 1_000 }, { dialect: 'camel' });
    const asked = errorOf(client.sendMessage(url, aMessage()));
    await untilNoMocks();
    nock(url).get(sessionPath).times(3).reply(200, aSession([]));
    await clock.endLimit();
    expect(await asked).toMatchObject({
      disposition: 'uncertain',
      message: 'Request to agent timed out after 30000ms',
    });
  });

  it.each([
    [
      'lets it be tried again when the session never saw the message',
      200,
      { events: [] },
      AgentUnavailableError,
    ],
    ['stays uncertain when the session is not there', 404, { error: 'Session not found' }, AgentTimeoutError],
    ['stays uncertain when the session cannot be read', 200, { events: 'many' }, AgentTimeoutError],
  ])('%s', async (_case, status, session, expected) => {
    const clock = new FakeClock();
    nock(url).post('/run').reply(never);
    const asked = errorOf(aClient({ clock }, { dialect: 'camel' }).sendMessage(url, aMessage()));
    await clock.untilSleeping();
    nock(url).get(sessionPath).reply(status, session);
    await clock.advanceMs(30_000);
    expect(await asked).toBeInstanceOf(expected);
  });
});

describe('spelling and sessions', () => {
  it.each([
    ['JS', { error: 'Session not found: undefined' }, 200],
    ['Python', { detail: 'Session not found' }, 409],
    ['Go', 'failed to get session: not there', 201],
  ])('makes the missing session of a %s server and asks in camelCase, once', async (_case, body, created) => {
    nock(url)
      .post('/run', snakeBody)
      .reply(404, body)
      .post(sessionPath, {})
      .reply(created, {})
      .post('/run', (sent) => {
        expect(sent).toEqual(camelBody);
        return true;
      })
      .reply(200, [anEvent('Hi', { author: 'front_desk' })]);
    const answer = await aClient().sendMessage(url, aMessage());
    expect(answer.response).toBe('Hi');
    expect(answer.metadata?.adk).toMatchObject({ author: 'front_desk' });
  });

  it('takes "already exists" for a session that is there', async () => {
    nock(url)
      .post('/run', isSnake)
      .reply(404, { error: 'Session not found: undefined' })
      .post(sessionPath)
      .reply(400, { error: 'Session already exists: x' })
      .post('/run', isCamel)
      .reply(200, [anEvent('Hi')]);
    expect((await aClient().sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it('asks in the learnt spelling from then on, also through another client', async () => {
    const state = new AdkState();
    nock(url)
      .post('/run', isSnake)
      .reply(404, { error: 'Session not found: undefined' })
      .post(sessionPath)
      .reply(200, {})
      .post('/run', isCamel)
      .times(2)
      .reply(200, [anEvent('Hi')]);
    await aClient({ state }).sendMessage(url, aMessage());
    expect((await aClient({ state }).sendMessage(url, aMessage({ id: 'msg_001' }))).response).toBe('Hi');
  });

  it('asks in camelCase when the server refuses the fields of the contract', async () => {
    nock(url)
      .post('/run', isSnake)
      .reply(400, 'json: unknown field "app_name"')
      .post(sessionPath)
      .reply(200, {})
      .post('/run', isCamel)
      .reply(200, [anEvent('Hi')]);
    expect((await aClient().sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it('does not take an agent of the contract that misses fields for another spelling', async () => {
    const sessions = watchSessions();
    nock(url).post('/run').reply(400, { error: 'Missing required fields' });
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(sessions.asked).toEqual([]);
    expect(error.message).toBe('ADK agent endpoint returned 400: {"error":"Missing required fields"}');
  });

  it('makes the session when a bare 500 turns out to be its absence', async () => {
    nock(url)
      .post('/run', isSnake)
      .reply(500, 'Agent run failed')
      .get(sessionPath)
      .reply(404)
      .post(sessionPath)
      .reply(200, {})
      .post('/run', isCamel)
      .reply(200, [anEvent('Hi')]);
    expect((await aClient().sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it('does not repeat a run that failed with 500 in a session that is there', async () => {
    nock(url).post('/run').reply(500, 'Internal Server Error').get(sessionPath).reply(200, { events: [] });
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error.message).toBe('ADK agent endpoint returned 500: Internal Server Error');
  });

  it('does not look for a session that it knows to be there', async () => {
    const client = aClient();
    const sessions = watchSessions();
    nock(url).post('/run').reply(200, []).post('/run').reply(500, 'Internal Server Error');
    await client.sendMessage(url, aMessage());
    await errorOf(client.sendMessage(url, aMessage({ id: 'msg_002' })));
    expect(sessions.asked).toEqual([]);
  });

  it('gives up when the session is still missing after it was made', async () => {
    nock(url)
      .post('/run')
      .times(2)
      .reply(404, { error: 'Session not found: x' })
      .post(sessionPath)
      .reply(200, {});
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error.message).toBe('ADK agent endpoint returned 404: {"error":"Session not found: x"}');
  });

  it('reports the first refusal when the session cannot be made', async () => {
    nock(url).post('/run').reply(404, 'Session not found').post(sessionPath).reply(403, 'no');
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error.message).toBe('ADK agent endpoint returned 404: Session not found');
  });

  it('learns anew when another kind of server answers at the address', async () => {
    const state = new AdkState();
    state.learnDialect(url, 'camel');
    nock(url)
      .post('/run', isCamel)
      .reply(400, { error: 'Missing required fields' })
      .post('/run', isSnake)
      .times(2)
      .reply(200, [anEvent('Hi')]);
    await aClient({ state }).sendMessage(url, aMessage());
    expect((await aClient({ state }).sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it.each([
    ['snake', isSnake],
    ['camel', isCamel],
  ] as const)('keeps to %s when the route says so', async (dialect, isSpelt) => {
    nock(url)
      .post('/run', isSpelt)
      .reply(404, 'Session not found')
      .post(sessionPath)
      .reply(200, {})
      .post('/run', isSpelt)
      .reply(200, [anEvent('Hi')]);
    expect((await aClient({}, { dialect }).sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it('encodes what stands in the path of a session', async () => {
    const path = `/apps/my%20agent%2F1/users/5493777239922/sessions/${sessionId}`;
    nock(url)
      .post('/run')
      .reply(404, 'Session not found')
      .post(path)
      .reply(200, {})
      .post('/run')
      .reply(200, []);
    const client = aClient({}, { appName: 'my agent/1' });
    expect((await client.sendMessage(url, aMessage())).success).toBe(true);
  });
});

describe('several asks', () => {
  it('waits for the earlier ask of the same session, whatever client asks', async () => {
    const state = new AdkState();
    const order: string[] = [];
    let release: (reply: [number, object[]]) => void = () => undefined;
    nock(url)
      .post('/run')
      .reply(() => {
        order.push('first begins');
        return new Promise((resolve) => {
          release = (reply) => {
            order.push('first ends');
            resolve(reply);
          };
        });
      })
      .post('/run')
      .reply(() => {
        order.push('second begins');
        return [200, [anEvent('two')]];
      });
    const first = aClient({ state }).sendMessage(url, aMessage({ id: 'A' }));
    const second = aClient({ state }).sendMessage(url, aMessage({ id: 'B' }));
    await untilTrue(() => order.includes('first begins'));
    release([200, [anEvent('one')]]);
    expect((await first).response).toBe('one');
    expect((await second).response).toBe('two');
    expect(order).toEqual(['first begins', 'first ends', 'second begins']);
  });

  it('goes on after a failed ask of the same session', async () => {
    const client = aClient();
    nock(url)
      .post('/run')
      .reply(500, 'no good')
      .post('/run')
      .reply(200, [anEvent('two')]);
    const first = errorOf(client.sendMessage(url, aMessage({ id: 'A' })));
    const second = client.sendMessage(url, aMessage({ id: 'B' }));
    await first;
    expect((await second).response).toBe('two');
  });

  it('ends with the reason of the signal, while asking and while waiting its turn', async () => {
    const client = aClient();
    const stopping = new AbortController();
    nock(url).post('/run').reply(never);
    const asking = client.sendMessage(url, aMessage({ id: 'A' }), { signal: stopping.signal });
    const waiting = client.sendMessage(url, aMessage({ id: 'B' }), { signal: stopping.signal });
    const outcomes = Promise.allSettled([asking, waiting]);
    await untilNoMocks();
    const reason = new Error('stopping');
    stopping.abort(reason);
    expect(await outcomes).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);
  });
});

describe('stopping', () => {
  it('ends the watch for a late answer with the reason of the signal', async () => {
    const stopping = new AbortController();
    const reason = new Error('stopping');
    nock(url)
      .post('/run')
      .reply(never)
      .get(sessionPath)
      .reply(() => {
        setImmediate(() => stopping.abort(reason));
        return [200, aSession([])];
      });
    const asked = aClient({ timeout: 20 }, { dialect: 'camel' }).sendMessage(url, aMessage(), {
      signal: stopping.signal,
    });
    expect(await errorOf(asked)).toBe(reason);
  });
});

/** Answers every look at a session with "there is none" and keeps what was asked. */
function watchSessions(): { asked: string[] } {
  const asked: string[] = [];
  for (const method of ['GET', 'POST']) {
    nock(url)
      .intercept(/^\/apps\//, method)
      .optionally()
      .reply(() => {
        asked.push(method);
        return [404, 'Not found'];
      });
  }
  return { asked };
}

/** A session that holds our message msg_001 and these events of its run. */
function aSession(events: object[]) {
  const own = { author: 'user', invocationId: 'e-7e18', actions: { stateDelta: { wa2ai_msg: 'msg_001' } } };
  return { id: sessionId, events: [anEvent('of an older turn', { invocationId: 'e-0' }), own, ...events] };
}

function aToolCall() {
  const parts = [{ text: 'Let me look that up. ' }, { functionCall: { name: 'get_weather', args: {} } }];
  return anEvent('', { author: 'front_desk', content: { role: 'model', parts } });
}

/** A clock whose pauses are over at once, while its limits (5 s and more) end only when told to. */
class JumpingClock {
  #nowMs = 0;
  #limits: Array<() => void> = [];

  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms < 5_000) {
      this.#nowMs += ms;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      this.#limits.push(resolve);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }

  /** Ends the first limit that was set: the one of the whole ask. */
  async endLimit(): Promise<void> {
    await untilTrue(() => this.#limits.length > 0);
    this.#limits.shift()?.();
  }
}

async function untilTrue(holds: () => boolean): Promise<void> {
  for (let round = 0; round < 10_000 && !holds(); round++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(holds()).toBe(true);
}

/** Waits until every expected request was made. */
function untilNoMocks(): Promise<void> {
  return untilTrue(() => nock.isDone());
}
