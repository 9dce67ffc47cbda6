import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
} from '../../router/src/core/errors.ts';
import type { IncomingMessage } from '../../router/src/core/models.ts';
import { AdkState } from '../../router/src/infra/agents/adk/adk-run.ts';
import { HttpAgentClient } from '../../router/src/infra/http-agent-client.ts';
import { type AdkApp, type AdkServer, startAdkServer } from '../support/adk-server.ts';

type HttpAgentClientConfig = ConstructorParameters<typeof HttpAgentClient>[0];

/** HttpAgentClient against the real Google ADK server, whose agents have scripted models (tests/adk-server). */

let server: AdkServer;
beforeAll(async () => {
  server = await startAdkServer();
}, 360_000);
afterEach(() => vi.restoreAllMocks());
afterAll(() => server?.stop());

let people = 0;

/** A new person, so that each test has its own session. */
function aPerson() {
  people += 1;
  const digits = String(5_490_000_000 + people);
  let sent = 0;
  return {
    sessionId: `${digits}_${digits}`,
    says(text: string): IncomingMessage {
      sent += 1;
      const id = `M${people}-${sent}`;
      return { id, from: `${digits}@s.whatsapp.net`, channelId: digits, text, timestamp: new Date() };
    },
    async events(
      app: AdkApp,
    ): Promise<Array<{ author: string; content?: { parts: Array<{ text?: string }> } }>> {
      const path = `apps/${app}/users/${digits}/sessions/${digits}_${digits}`;
      const session = await fetch(`${server.url}/${path}`);
      return ((await session.json()) as { events: [] }).events;
    },
  };
}

function aClient(appName: string, config: Partial<HttpAgentClientConfig> = {}): HttpAgentClient {
  return new HttpAgentClient({ timeout: 30_000, ...config, adk: { appName, baseUrl: server.url } });
}

function ask(appName: AdkApp, text: string) {
  return aClient(appName).sendMessage(server.url, aPerson().says(text));
}

/** Records the requests that clients make from now on, as "METHOD /path". */
function recordRequests(): string[] {
  const made: string[] = [];
  const original = globalThis.fetch;
  vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    made.push(`${init?.method ?? 'GET'} ${new URL(String(input)).pathname}`);
    return original(input, init);
  });
  return made;
}

describe('the context of a message for the agent', () => {
  it('is in the state of its session, and replaced by the next message', async () => {
    const person = aPerson();
    const [user] = person.sessionId.split('_');
    const state = async () => {
      const path = `apps/front_desk/users/${user}/sessions/${person.sessionId}`;
      return ((await (await fetch(`${server.url}/${path}`)).json()) as { state: object }).state;
    };
    const client = aClient('front_desk');
    const timestamp = new Date(Date.UTC(2026, 10, 22, 12, 0, 0));
    const mentions = [{ id: '34600000003@s.whatsapp.net', tag: '@34600000003', name: 'Bo' }];
    const fields = { pushName: 'Ana', quotedText: 'The sum is 4.', editOf: '3EB0OLD', mentions, timestamp };
    const first = { ...person.says('and this?'), ...fields };
    expect((await client.sendMessage(server.url, first)).response).toBe('turn 1: you said "and this?"');
    expect(await state()).toMatchObject({
      wa2ai_msg: first.id,
      wa2ai_time: '2026-11-22T12:00:00.000Z',
      wa2ai_name: 'Ana',
      wa2ai_chat: 'person',
      wa2ai_quoted: 'The sum is 4.',
      wa2ai_mentions: mentions,
      wa2ai_edit_of: '3EB0OLD',
    });
    await client.sendMessage(server.url, person.says('thanks'));
    expect(await state()).toMatchObject({ wa2ai_name: '', wa2ai_quoted: '', wa2ai_mentions: [] });
  });
});

describe('first contact', () => {
  it('detects the spelling and creates the session in three requests, then needs one', async () => {
    const client = aClient('front_desk');
    const person = aPerson();
    const requests = recordRequests();
    const startedMs = performance.now();
    const first = await client.sendMessage(server.url, person.says('hello'));
    console.log(
      `first contact: ${requests.length} requests, ${Math.round(performance.now() - startedMs)} ms`,
    );
    expect(first.response).toBe('turn 1: you said "hello"');
    expect(requests).toEqual([
      'POST /run',
      expect.stringMatching(/^POST \/apps\/front_desk\/users\/\d+\/sessions\/\d+_\d+$/),
      'POST /run',
    ]);
    requests.length = 0;
    expect((await client.sendMessage(server.url, person.says('again'))).response).toBe(
      'turn 2: you said "again"',
    );
    expect(requests).toEqual(['POST /run']);
  });

  it('shares the detected spelling with other clients', async () => {
    const state = new AdkState();
    await aClient('front_desk', { state }).sendMessage(server.url, aPerson().says('hello'));
    const requests = vi.spyOn(globalThis, 'fetch');
    await aClient('model', { state }).sendMessage(server.url, aPerson().says('hello'));
    expect(JSON.parse(String(requests.mock.calls[0]?.[1]?.body))).toHaveProperty('appName', 'model');
  });

  it('starts a new session when the server lost the old one', async () => {
    const client = aClient('front_desk');
    const person = aPerson();
    await client.sendMessage(server.url, person.says('hello'));
    const user = person.sessionId.split('_')[0];
    await fetch(`${server.url}/apps/front_desk/users/${user}/sessions/${person.sessionId}`, {
      method: 'DELETE',
    });
    expect((await client.sendMessage(server.url, person.says('still there?'))).response).toBe(
      'turn 1: you said "still there?"',
    );
  });

  it('reports the apps of the server when the route names another', async () => {
    const asked = aClient('front_dsek').sendMessage(server.url, aPerson().says('hello'));
    await expect(asked).rejects.toThrow(
      /^ADK agent endpoint returned 500: .*'front_dsek' not found.*front_desk/,
    );
    await expect(asked).rejects.toBeInstanceOf(AgentProtocolError);
  });
});

describe('a run', () => {
  it('returns the text after a tool call, not the text before it', async () => {
    expect((await ask('front_desk', 'weather please')).response).toBe(
      'get_weather said {"city":"Lima","celsius":25,"sky":"sunny"}',
    );
  });

  it('returns the text of a run whose tool failed', async () => {
    expect((await ask('front_desk', 'broken')).response).toContain('tool exploded');
  });

  it('reports in the metadata which agent answered and what it stored', async () => {
    const person = aPerson();
    const { metadata } = await aClient('front_desk').sendMessage(server.url, person.says('note this'));
    expect(metadata?.adk).toEqual({
      sessionId: person.sessionId,
      userId: person.sessionId.split('_')[0],
      eventCount: 3,
      invocationId: expect.stringMatching(/^e-/),
      author: 'front_desk',
      stateDelta: { note: 'blue' },
    });
  });

  it('returns the answer of the agent that the run was transferred to, and of the same agent next time', async () => {
    const client = aClient('front_desk');
    const person = aPerson();
    const first = await client.sendMessage(server.url, person.says('billing please'));
    expect(first.response).toBe('billing here: you said "billing please"');
    const second = await client.sendMessage(server.url, person.says('and now?'));
    expect(second.response).toBe('billing here: you said "and now?"');
  });

  it('omits thoughts', async () => {
    expect((await ask('front_desk', 'think hard')).response).toBe('The answer is 42.');
  });

  it('returns the answer of an agent that is named model', async () => {
    expect((await ask('model', 'hello')).response).toBe('turn 1: you said "hello"');
  });

  it('shows the answer of an agent while it is written, without thoughts', async () => {
    const shown: string[] = [];
    const onText = (textSoFar: () => string) => shown.push(textSoFar());
    const state = new AdkState();
    const requests = recordRequests();
    const person = aPerson();
    const client = aClient('model', { state });
    for (const [text, answer] of [
      ['hello', 'turn 1: you said "hello"'],
      ['write one two three', 'one two three'],
    ]) {
      const { response } = await client.sendMessage(server.url, person.says(text ?? ''), { onText });
      expect(response).toBe(answer);
    }
    expect(shown.slice(-4)).toEqual(['one ', 'one two ', 'one two three', 'one two three']);
    expect(shown.join()).not.toContain('secret');
    expect(requests.at(-1)).toBe('POST /run_sse');
  });

  it('returns the answer of the last of several agents in sequence', async () => {
    expect((await ask('drafts', 'tea')).response).toBe('edited answer on "tea"');
  });

  it('returns the answers of all parallel agents', async () => {
    const { response } = await ask('fanout', 'shall we?');
    expect(response?.split('\n\n').sort()).toEqual(['left says yes', 'right says no']);
  });

  it('returns only the summary that follows parallel agents', async () => {
    expect((await ask('merged', 'shall we?')).response).toBe('weighed: for it');
  });

  it.each(['silent', 'nothing', 'picture'])('has no text when the agent has none (%s)', async (text) => {
    const answer = await ask('front_desk', text);
    expect(answer.success).toBe(true);
    expect(answer).not.toHaveProperty('response');
  });

  it('sends a file and returns the files of the answer when the route has media', async () => {
    const client = new HttpAgentClient({
      timeout: 30_000,
      adk: { appName: 'front_desk', baseUrl: server.url, media: true },
    });
    const person = aPerson();
    const bytes = randomBytes(50_000);
    const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: bytes.length };
    const loadMedia = async () => bytes;
    const look = await client.sendMessage(server.url, { ...person.says('look'), media }, { loadMedia });
    expect(look.response).toBe('seen image/png of 50000 bytes, with "look"');
    expect(look.files).toEqual([{ kind: 'image', mimeType: 'image/png', bytes }]);
    const wordless = await client.sendMessage(server.url, { ...person.says(''), media }, { loadMedia });
    expect(wordless.response).toMatch(/^seen image\/png of 50000 bytes/);
    const picture = await client.sendMessage(server.url, person.says('picture'));
    expect(picture).not.toHaveProperty('response');
    expect(picture.files).toMatchObject([{ kind: 'image', bytes: expect.any(Buffer) }]);
  });

  it('returns a text that was cut short, with the reason', async () => {
    const answer = await ask('front_desk', 'cut');
    expect(answer.response).toBe('half an ans');
    expect(answer.metadata?.adk).toMatchObject({ finishReason: 'MAX_TOKENS' });
  });
});

describe('failures', () => {
  it('report a model that failed inside a run of status 200', async () => {
    const asked = ask('front_desk', 'fail');
    await expect(asked).rejects.toThrow(
      'Failed to send message to ADK agent: the agent reported UNKNOWN_ERROR: model exploded',
    );
    await expect(asked).rejects.toMatchObject({ code: 'AGENT_REPORTED_ERROR', disposition: 'dead' });
  });

  it('are retried when the model was overloaded before any tool ran', async () => {
    await expect(ask('front_desk', 'overloaded')).rejects.toBeInstanceOf(AgentUnavailableError);
  });

  it('report an answer that the model refused to give', async () => {
    await expect(ask('front_desk', 'blocked')).rejects.toThrow('SAFETY: blocked by the safety settings');
  });
});

describe('several requests', () => {
  it('return an answer that came after the time limit, from one run', async () => {
    const state = new AdkState();
    const person = aPerson();
    await aClient('front_desk', { state }).sendMessage(server.url, person.says('hello'));
    const hasty = aClient('front_desk', { state, timeout: 500, lateAnswerMs: 20_000 });
    const answer = await hasty.sendMessage(server.url, person.says('slow 1000'));
    expect(answer.response).toBe('turn 2: you said "slow 1000"');
    expect((await person.events('front_desk')).filter((event) => event.author === 'user')).toHaveLength(2);
  });

  it('read the answer from the session when a message is repeated after a time-out', async () => {
    const person = aPerson();
    const state = new AdkState();
    await aClient('front_desk', { state }).sendMessage(server.url, person.says('hello'));
    const message = person.says('slow 1000');
    const hasty = aClient('front_desk', { state, timeout: 500, lateAnswerMs: 0 });
    await expect(hasty.sendMessage(server.url, message)).rejects.toBeInstanceOf(AgentTimeoutError);
    const patient = aClient('front_desk', { state });
    expect((await patient.sendMessage(server.url, message)).response).toBe('turn 2: you said "slow 1000"');
    expect((await person.events('front_desk')).filter((event) => event.author === 'user')).toHaveLength(2);
  });

  it('read the answer of an attempt that a crash interrupted', async () => {
    const person = aPerson();
    const message = person.says('hello');
    await aClient('front_desk').sendMessage(server.url, message);
    const afterCrash = aClient('front_desk');
    const answer = await afterCrash.sendMessage(server.url, message, { isRepeat: true });
    expect(answer.response).toBe('turn 1: you said "hello"');
    expect((await person.events('front_desk')).filter((event) => event.author === 'user')).toHaveLength(1);
  });

  it('call the agent when a crash came before the server received the message', async () => {
    const person = aPerson();
    const message = person.says('hello');
    const answer = await aClient('front_desk').sendMessage(server.url, message, { isRepeat: true });
    expect(answer.response).toBe('turn 1: you said "hello"');
  });

  it('run one at a time in one session, also from different clients', async () => {
    const state = new AdkState();
    const person = aPerson();
    const texts = ['slow 400', 'two', 'three'];
    const answers = await Promise.all(
      texts.map((text) => aClient('front_desk', { state }).sendMessage(server.url, person.says(text))),
    );
    expect(answers.map((answer) => answer.response)).toEqual([
      'turn 1: you said "slow 400"',
      'turn 2: you said "two"',
      'turn 3: you said "three"',
    ]);
    const authors = (await person.events('front_desk')).map((event) => event.author);
    expect(authors).toEqual(['user', 'front_desk', 'user', 'front_desk', 'user', 'front_desk']);
  });

  it('run in parallel in different sessions', async () => {
    const client = aClient('front_desk');
    await client.sendMessage(server.url, aPerson().says('hello'));
    const order: string[] = [];
    const slow = client.sendMessage(server.url, aPerson().says('slow 800')).then(() => order.push('slow'));
    const quick = client.sendMessage(server.url, aPerson().says('hello')).then(() => order.push('quick'));
    await Promise.all([slow, quick]);
    expect(order).toEqual(['quick', 'slow']);
  });
});
