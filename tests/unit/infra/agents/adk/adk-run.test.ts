import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { AdkState } from '../../../../../router/src/infra/agents/adk/adk-run.ts';
import {
  aClient,
  aMessage,
  anEvent,
  camelBody,
  errorOf,
  isCamel,
  isSnake,
  mockAgentServer,
  never,
  sessionId,
  sessionPath,
  snakeBody,
  untilNoMocks,
  untilTrue,
  url,
  watchSessions,
} from '../../../../support/adk-requests.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

/** HttpAgentClient against the behaviour of real ADK servers (refs/adk_api.md): spelling, sessions, concurrent requests. */

mockAgentServer();

describe('spelling and sessions', () => {
  it.each([
    ['JS', { error: 'Session not found: undefined' }, 200],
    ['Python', { detail: 'Session not found' }, 409],
    ['Go', 'failed to get session: not there', 201],
  ])('creates the missing session of a %s server and uses camelCase, once', async (_case, body, created) => {
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

  it('treats "already exists" as an existing session', async () => {
    nock(url)
      .post('/run', isSnake)
      .reply(404, { error: 'Session not found: undefined' })
      .post(sessionPath)
      .reply(400, { error: 'Session already exists: x' })
      .post('/run', isCamel)
      .reply(200, [anEvent('Hi')]);
    expect((await aClient().sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it('uses camelCase when the server refuses the fields of the contract', async () => {
    nock(url)
      .post('/run', isSnake)
      .reply(400, 'json: unknown field "app_name"')
      .post(sessionPath)
      .reply(200, {})
      .post('/run', isCamel)
      .reply(200, [anEvent('Hi')]);
    expect((await aClient().sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it('does not infer another spelling from missing fields of a contract agent', async () => {
    const sessions = watchSessions();
    nock(url).post('/run').reply(400, { error: 'Missing required fields' });
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(sessions.asked).toEqual([]);
    expect(error.message).toBe('ADK agent endpoint returned 400: {"error":"Missing required fields"}');
  });

  it('creates the session when a plain 500 is caused by its absence', async () => {
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

  it('does not repeat a run that failed with 500 in an existing session', async () => {
    nock(url).post('/run').reply(500, 'Internal Server Error').get(sessionPath).reply(200, { events: [] });
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error.message).toBe('ADK agent endpoint returned 500: Internal Server Error');
  });

  it('does not check for a session that is known to exist', async () => {
    const client = aClient();
    const sessions = watchSessions();
    nock(url).post('/run').reply(200, []).post('/run').reply(500, 'Internal Server Error');
    await client.sendMessage(url, aMessage());
    await errorOf(client.sendMessage(url, aMessage({ id: 'msg_002' })));
    expect(sessions.asked).toEqual([]);
  });

  it('gives up when the session is still missing after it was created', async () => {
    nock(url)
      .post('/run')
      .times(2)
      .reply(404, { error: 'Session not found: x' })
      .post(sessionPath)
      .reply(200, {});
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error.message).toBe('ADK agent endpoint returned 404: {"error":"Session not found: x"}');
  });

  it('reports the first refusal when the session cannot be created', async () => {
    nock(url).post('/run').reply(404, 'Session not found').post(sessionPath).reply(403, 'no');
    const error = await errorOf(aClient().sendMessage(url, aMessage()));
    expect(error.message).toBe('ADK agent endpoint returned 404: Session not found');
  });

  it('detects the spelling again when another kind of server responds at the address', async () => {
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
  ] as const)('uses %s when the route says so', async (dialect, isSpelt) => {
    nock(url)
      .post('/run', isSpelt)
      .reply(404, 'Session not found')
      .post(sessionPath)
      .reply(200, {})
      .post('/run', isSpelt)
      .reply(200, [anEvent('Hi')]);
    expect((await aClient({}, { dialect }).sendMessage(url, aMessage())).response).toBe('Hi');
  });
});

describe('several requests', () => {
  it('wait for the earlier request of the same session, from any client', async () => {
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

  it('continue after a failed request of the same session', async () => {
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

  it('end with the reason of the signal, during a request and while queued', async () => {
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

describe('the context beside the text', () => {
  it('is in the session state of a camelCase server, updated for each message', async () => {
    const deltas: unknown[] = [];
    nock(url)
      .post('/run', (body) => {
        deltas.push(body.stateDelta);
        return body.newMessage.parts[0].text === 'and this?';
      })
      .times(2)
      .reply(200, []);
    const client = aClient({}, { dialect: 'camel' });
    const fields = { pushName: 'Ana', isGroup: true, quotedText: 'The sum is 4.', editOf: '3EB0OLD' };
    const mentions = [
      { id: '34600000003@s.whatsapp.net', tag: '@34600000003', name: 'Bo' },
      { id: '49123@lid', tag: '@49123' },
    ];
    await client.sendMessage(url, aMessage({ text: 'and this?', ...fields, mentions }));
    await client.sendMessage(url, aMessage({ text: 'and this?' }));
    expect(deltas).toEqual([
      {
        wa2ai_msg: 'msg_001',
        wa2ai_time: '1970-01-01T00:00:00.000Z',
        wa2ai_name: 'Ana',
        wa2ai_chat: 'group',
        wa2ai_quoted: 'The sum is 4.',
        wa2ai_edit_of: '3EB0OLD',
        wa2ai_mentions: [mentions[0], { ...mentions[1], name: '' }],
        wa2ai_number: '5493777239922',
        wa2ai_lid: '',
        wa2ai_subject: '',
        wa2ai_language: 'en',
        wa2ai_quoted_by: {},
        wa2ai_kind: 'text',
        wa2ai_file: {},
        wa2ai_card: {},
        wa2ai_transcript: false,
      },
      camelBody.stateDelta,
    ]);
  });

  it('reaches a server that shows an existing session in camelCase with the first message', async () => {
    nock(url)
      .get(sessionPath)
      .reply(200, { id: sessionId, appName: 'my_sample_agent', userId: 'u', state: {}, events: [] })
      .post('/run', isCamel)
      .times(2)
      .reply(200, [anEvent('Hi')]);
    const client = aClient({ readsSessionFirst: true });
    expect((await client.sendMessage(url, aMessage({ id: 'A' }))).response).toBe('Hi');
    expect((await client.sendMessage(url, aMessage({ id: 'B' }))).response).toBe('Hi');
  });

  it.each([
    ['has no sessions', 404, 'Not found'],
    ['shows none in camelCase', 200, { id: sessionId, app_name: 'my_sample_agent', events: [] }],
    ['shows something else', 200, 'no JSON'],
  ])('is not in the first message to a server that %s', async (_case, status, reply) => {
    nock(url)
      .get(sessionPath)
      .reply(status, reply)
      .post('/run', isSnake)
      .reply(200, [anEvent('Hi')]);
    const client = aClient({ readsSessionFirst: true });
    expect((await client.sendMessage(url, aMessage())).response).toBe('Hi');
  });

  it('does not wait long for a server that never shows the session', async () => {
    const clock = new FakeClock();
    nock(url)
      .get(sessionPath)
      .reply(never)
      .post('/run', isSnake)
      .reply(200, [anEvent('Hi')]);
    const sent = aClient({ clock, readsSessionFirst: true, timeout: 4_000 }).sendMessage(url, aMessage());
    await expect.poll(() => clock.sleeping).toBe(2);
    await clock.advanceMs(1_000);
    expect((await sent).response).toBe('Hi');
  });

  it('reaches a server that accepts both spellings from the second message on', async () => {
    const actions = { stateDelta: {}, artifactDelta: {}, requestedAuthConfigs: {} };
    nock(url)
      .post('/run', isSnake)
      .reply(200, [anEvent('one', { id: 'knmlS6MJ', author: 'front_desk', actions })])
      .post('/run', isCamel)
      .reply(200, [anEvent('two', { id: 'x', author: 'front_desk', actions })]);
    const client = aClient();
    expect((await client.sendMessage(url, aMessage({ id: 'A' }))).response).toBe('one');
    expect((await client.sendMessage(url, aMessage({ id: 'B' }))).response).toBe('two');
  });
});

describe('a session that cannot be read after an attempt that may have run', () => {
  const lost = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });

  it.each([
    ['404', 404, 'Not found'],
    ['500', 500, 'broken'],
    ['no session', 200, 'no JSON'],
  ])('is a dead letter when the route says so and the agent answers %s', async (_case, status, reply) => {
    nock(url).get(sessionPath).reply(status, reply);
    const asked = aClient().sendMessage(url, aMessage(), { isRepeat: true, uncertain: 'dead-letter' });
    const error = await errorOf(asked);
    expect(error).toMatchObject({ code: 'AGENT_UNCERTAIN', disposition: 'uncertain' });
  });

  it('is a dead letter in the same process too, after a lost connection', async () => {
    const client = aClient();
    nock(url).post('/run').replyWithError(lost).get(sessionPath).reply(404, 'Not found');
    const options = { uncertain: 'dead-letter' as const };
    expect(await errorOf(client.sendMessage(url, aMessage(), options))).toMatchObject({
      disposition: 'retry',
    });
    expect(await errorOf(client.sendMessage(url, aMessage(), options))).toMatchObject({
      code: 'AGENT_UNCERTAIN',
    });
  });

  it.each(['retry', undefined] as const)('is repeated when the route says %s', async (uncertain) => {
    nock(url)
      .get(sessionPath)
      .reply(404, 'Not found')
      .post('/run')
      .reply(200, [anEvent('Hi')]);
    const asked = aClient().sendMessage(url, aMessage(), { isRepeat: true, uncertain });
    expect((await asked).response).toBe('Hi');
  });

  it('does not matter when the session shows that the message never arrived', async () => {
    nock(url)
      .get(sessionPath)
      .reply(200, { id: sessionId, events: [] })
      .post('/run')
      .reply(200, [anEvent('Hi')]);
    const asked = aClient().sendMessage(url, aMessage(), { isRepeat: true, uncertain: 'dead-letter' });
    expect((await asked).response).toBe('Hi');
  });
});

describe('an answer that is shown while it is written', () => {
  const sse = { 'content-type': 'text/event-stream; charset=utf-8' };
  const eventsOf = (...events: object[]) =>
    events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const ask = async (client = aClient({}, { dialect: 'camel' })) => {
    const shown: string[] = [];
    const options = { onText: (textSoFar: () => string) => shown.push(textSoFar()) };
    return { ...(await client.sendMessage(url, aMessage(), options)), shown };
  };

  it('comes from /run_sse, and its complete events decide what it is', async () => {
    nock(url)
      .post('/run_sse', { ...camelBody, streaming: true })
      .reply(200, eventsOf(anEvent('Hel', { partial: true }), anEvent('Hello.')), sse);
    const { response, shown, metadata } = await ask();
    expect(response).toBe('Hello.');
    expect(shown).toEqual(['Hel', 'Hello.']);
    expect(metadata?.adk).toMatchObject({ eventCount: 1 });
  });

  it('comes from /run of a server without /run_sse, which is asked there from then on', async () => {
    nock(url)
      .post('/run_sse')
      .reply(404, { detail: 'Not Found' })
      .post('/run', camelBody)
      .twice()
      .reply(200, [anEvent('Hi')]);
    const client = aClient({}, { dialect: 'camel' });
    expect(await ask(client)).toMatchObject({ response: 'Hi', shown: [] });
    expect(await ask(client)).toMatchObject({ response: 'Hi' });
  });

  it('comes from /run of a server with the spelling of the contract', async () => {
    nock(url)
      .post('/run', snakeBody)
      .reply(200, [anEvent('Hi')]);
    expect(await ask(aClient())).toMatchObject({ response: 'Hi', shown: [] });
  });

  it('creates a missing session first', async () => {
    nock(url)
      .post('/run', isSnake)
      .reply(404, { error: 'Session not found' })
      .post(sessionPath, {})
      .reply(200, {})
      .post('/run_sse', isCamel)
      .reply(200, eventsOf(anEvent('Hi')), sse);
    expect((await ask(aClient())).response).toBe('Hi');
  });

  it.each([
    [
      'reports an error',
      eventsOf(anEvent('He', { partial: true }), { error: 'the model is gone' }),
      /returned 500: .*model is gone/,
    ],
    ['sends something else', 'data: nonsense\n\n', /is not JSON/],
    ['sends too much', eventsOf(anEvent('x'.repeat(3_000))), /larger than 2000 bytes/],
  ])('fails when the server %s', async (_what, body, sentence) => {
    nock(url)
      .post('/run_sse')
      .reply(200, body, sse)
      .get(/sessions/)
      .optionally()
      .reply(200, {});
    const client = aClient({ maxBytes: 2_000 }, { dialect: 'camel' });
    expect((await errorOf(ask(client))).message).toMatch(sentence);
  });
});
