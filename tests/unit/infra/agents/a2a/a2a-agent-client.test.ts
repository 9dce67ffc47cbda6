import { describe, expect, it } from 'vitest';
import type { Wa2aiError } from '../../../../../router/src/core/errors.ts';
import { PIXEL } from '../../../../doubles/a2a-agent.ts';
import { a2aClient, a2aDouble, ChatStore } from '../../../../support/a2a.ts';
import { impatientClock } from '../../../../support/fake-clock.ts';
import { npcMessage } from '../../../../support/npc.ts';
import { quietLog } from '../../../../support/quiet-log.ts';
import { until } from '../../../../support/until.ts';

async function errorOf(work: Promise<unknown>): Promise<Wa2aiError> {
  return work.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: Wa2aiError) => error,
  );
}

const dialects = [
  { version: '1.0', binding: 'JSONRPC', streaming: true },
  { version: '1.0', binding: 'JSONRPC', streaming: false },
  { version: '1.0', binding: 'HTTP+JSON', streaming: true },
  { version: '1.0', binding: 'HTTP+JSON', streaming: false },
  { version: '0.3', binding: 'JSONRPC', streaming: true },
  { version: '0.3', binding: 'JSONRPC', streaming: false },
  { version: '0.3', binding: 'HTTP+JSON', streaming: true },
] as const;

describe.each(dialects)('A2aAgentClient, $version over $binding, streaming: $streaming', (dialect) => {
  const say = (text: string, id = '3EB0AAAAAAAAAAAAAAAAAA') => npcMessage(text, { id });

  it('gets the artifacts of a task, without the chatter of its history', async () => {
    const agent = await a2aDouble(dialect);
    const store = new ChatStore();
    const response = await a2aClient().sendMessage(agent.url, say('hello'), { store });
    expect(response).toMatchObject({
      success: true,
      response: 'echo: hello',
      metadata: {
        a2a: { taskId: store.added[0], contextId: agent.messages[0]?.contextId, state: 'completed' },
      },
    });
    expect(store.added).toHaveLength(1);
  });

  it('gets a message that is no task', async () => {
    const agent = await a2aDouble(dialect);
    expect((await a2aClient().sendMessage(agent.url, say('plain'))).response).toBe('a plain message');
  });

  it('shows what the agent writes where it streams, and longer than the wait for a task', async () => {
    const agent = await a2aDouble(dialect);
    const store = new ChatStore();
    const shown: string[] = [];
    let onShown: () => void = () => undefined;
    const onText = (textSoFar: () => string) => {
      shown.push(textSoFar());
      onShown();
    };
    const client = a2aClient({ waitMs: 20_000 }, impatientClock(20_000));
    const asked = client.sendMessage(agent.url, say('run'), { store, onText });
    const task = await until('the task', async () => agent.running[0]);
    for (const text of ['One ', 'two']) {
      const seen = new Promise<void>((resolve) => {
        onShown = resolve;
      });
      agent.write(task, text);
      if (dialect.streaming) await seen;
    }
    agent.end(task, 'One two.');
    expect((await asked).response).toBe('One two.');
    // The SDK's events of version 0.3 over HTTP do not say that a piece is appended.
    const isAppended = dialect.version === '1.0' || dialect.binding === 'JSONRPC';
    const pieces = ['One', isAppended ? 'One two' : 'two'];
    expect(shown.slice(0, 2)).toEqual(dialect.streaming ? pieces : []);
  });

  it('has one context for each person and chat', async () => {
    const agent = await a2aDouble(dialect);
    const client = a2aClient();
    await client.sendMessage(agent.url, say('one', 'A'));
    await client.sendMessage(agent.url, say('two', 'B'));
    await client.sendMessage(agent.url, { ...say('three', 'C'), channelId: '120363000000000000@g.us' });
    const [one, two, three] = agent.messages.map(({ contextId }) => contextId);
    expect(two).toBe(one);
    expect(three).not.toBe(one);
  });

  it('gives the next message to the task that asked for input, and only that one', async () => {
    const agent = await a2aDouble(dialect);
    const client = a2aClient();
    const store = new ChatStore();
    expect((await client.sendMessage(agent.url, say('ask me', 'A'), { store })).response).toBe('Which city?');
    expect(store.stored).toEqual({ contextId: agent.messages[0]?.contextId, taskId: store.added[0] });
    expect((await client.sendMessage(agent.url, say('Lima', 'B'), { store })).response).toBe(
      'you said: Lima',
    );
    expect(agent.messages[1]?.taskId).toBe(store.added[0]);
    expect(store.stored?.taskId).toBeUndefined();
    expect((await client.sendMessage(agent.url, say('hello', 'C'), { store })).response).toBe('echo: hello');
  });

  it.each([
    ['fail', 'AGENT_TASK_FAILED', /failed: a secret reason\.$/],
    ['reject', 'AGENT_TASK_REJECTED', /was rejected by the agent: not for you\.$/],
    ['login', 'AGENT_AUTH_REQUIRED', /needs a login that wa2ai cannot give: please log in\.$/],
  ])('%s is the dead letter %s, and nothing of it reaches the person', async (text, code, sentence) => {
    const agent = await a2aDouble(dialect);
    const error = await errorOf(a2aClient().sendMessage(agent.url, say(text)));
    expect(error).toMatchObject({ code, message: expect.stringMatching(sentence), forPerson: undefined });
  });

  it('takes files both ways', async () => {
    const agent = await a2aDouble(dialect);
    const client = a2aClient();
    const answer = await client.sendMessage(agent.url, say('picture'));
    expect(answer).toMatchObject({
      response: 'Here it is',
      files: [{ kind: 'image', mimeType: 'image/png' }],
    });
    expect(Buffer.from(answer.files?.[0]?.bytes ?? [])).toEqual(PIXEL);
    const sent = npcMessage('look', { media: { kind: 'image', mimeType: 'image/png' } });
    expect(await client.takesFile(sent, agent.url)).toBe(true);
    const response = await client.sendMessage(agent.url, sent, { loadMedia: async () => PIXEL });
    expect(response.response).toBe(`echo: look (${PIXEL.length} bytes)`);
    const video = npcMessage('see', { media: { kind: 'video', mimeType: 'video/mp4' } });
    expect(await client.takesFile(video, agent.url)).toBe(false);
    expect((await client.sendMessage(agent.url, video)).response).toBe('echo: see');
  });

  it('leaves a task running that lasts longer than waitMs, and follows it to its end', async () => {
    const agent = await a2aDouble(dialect);
    const client = a2aClient({ waitMs: 10, progress: true });
    const store = new ChatStore();
    const response = await client.sendMessage(agent.url, say('run'), { store });
    const [remoteId = ''] = store.added;
    expect(response).toMatchObject({
      response: `Task ${remoteId.slice(0, 8)} started, I will report here.`,
      task: { remoteId },
    });
    expect(agent.running).toEqual([remoteId]);
    const position = undefined;
    const options = { signal: AbortSignal.timeout(30_000), log: quietLog, store };
    const followed = a2aClient().followTask(agent.url, { remoteId, message: say('run'), position }, options);
    agent.end(remoteId, 'finished at last');
    expect(await followed).toMatchObject({ kind: 'end', response: { response: 'finished at last' } });
  });

  it('continues a stored task after a crash, and sends nothing again', async () => {
    const agent = await a2aDouble(dialect);
    const store = new ChatStore();
    await a2aClient({ waitMs: 10 }).sendMessage(agent.url, say('run'), { store });
    const [remoteId = ''] = store.added;
    const again = a2aClient().sendMessage(agent.url, say('run'), { store, isRepeat: true });
    agent.end(remoteId, 'only once');
    expect((await again).response).toBe('only once');
    expect(agent.messages).toHaveLength(1);
  });

  it('says what a task does now, and cancels it for an operator', async () => {
    const agent = await a2aDouble(dialect);
    const client = a2aClient({ waitMs: 10 });
    const store = new ChatStore();
    await client.sendMessage(agent.url, say('run'), { store });
    const [remoteId = ''] = store.added;
    const task = { remoteId, message: say('run') };
    const signal = AbortSignal.timeout(30_000);
    expect(await client.taskNow(agent.url, task, signal)).toMatchObject({ state: 'working' });
    expect(await client.cancelTask(agent.url, task, signal)).toBe(true);
    expect(await client.taskNow(agent.url, task, signal)).toMatchObject({ state: 'canceled' });
    const unknown = { ...task, remoteId: 'unknown-task' };
    expect(await client.cancelTask(agent.url, unknown, signal)).toBe(false);
  });

  it('cancels a task of the chat', async () => {
    const agent = await a2aDouble(dialect);
    const client = a2aClient({ waitMs: 10 });
    const store = new ChatStore();
    await client.sendMessage(agent.url, say('run'), { store });
    const [remoteId = ''] = store.added;
    store.chat = [{ remoteId, isOpen: true }];
    const id = remoteId.slice(0, 8);
    const about = async (text: string) =>
      (await client.sendMessage(agent.url, say(text), { store })).response;
    expect(await about('/tasks')).toBe(`• ${id}: running`);
    expect(await about(`/task ${id}`)).toBe(`Task ${id}: working`);
    expect(await about('/task 00000000 cancel')).toContain('This chat has no task 00000000');
    expect(await about(`/task ${id} cancel`)).toBe(`Task ${id} will be cancelled.`);
    const options = { signal: AbortSignal.timeout(30_000), log: quietLog, store };
    const end = await client.followTask(agent.url, { remoteId, message: say('run') }, options);
    expect(end).toMatchObject({ response: { response: `Task ${id} was cancelled.` } });
  });
});

// The SDK's 0.3 binding over HTTP loses the metadata that marks thoughts.
describe.each(dialects.filter(({ version, binding }) => version === '1.0' || binding === 'JSONRPC'))(
  'A2aAgentClient, $version over $binding, streaming: $streaming',
  (dialect) => {
    it('shows neither thoughts nor the work of tools', async () => {
      const agent = await a2aDouble(dialect);
      expect((await a2aClient().sendMessage(agent.url, npcMessage('tools'))).response).toBe('25 degrees');
    });
  },
);

describe('A2aAgentClient', () => {
  it('sends the key as the card asks for it, and only to the host of the route', async () => {
    const agent = await a2aDouble({ apiKey: 'key-12345' });
    expect((await a2aClient({ apiKey: 'key-12345' }).sendMessage(agent.url, npcMessage('hi'))).response).toBe(
      'echo: hi',
    );
    const error = await errorOf(a2aClient({ apiKey: 'wrong-123' }).sendMessage(agent.url, npcMessage('hi')));
    expect(error).toMatchObject({ code: 'AGENT_ACCESS_DENIED' });
    const other = await a2aDouble({ card: null });
    const foreign = await a2aDouble();
    other.options.misbehave = ({ path }, response) => {
      if (!path.includes('agent-card')) return false;
      void fetch(`${foreign.url}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })
        .then((answer) => answer.json())
        .then((card) => response.json(card));
      return true;
    };
    await a2aClient({ apiKey: 'key-12345' }).sendMessage(other.url, npcMessage('hi'));
    const calls = foreign.requests.filter(({ path }) => path.startsWith('/a2a'));
    expect(calls.length).toBeGreaterThan(0);
    for (const { headers } of calls) expect(JSON.stringify(headers)).not.toContain('key-12345');
  });

  it('speaks the version of the settings', async () => {
    const agent = await a2aDouble({ version: '0.3' });
    await a2aClient({ version: '0.3' }).sendMessage(agent.url, npcMessage('hi'));
    expect(agent.requests.at(-1)?.headers['a2a-version']).not.toBe('1.0');
    const newer = await a2aDouble({ version: '1.0' });
    const error = await errorOf(a2aClient({ version: '0.3' }).sendMessage(newer.url, npcMessage('hi')));
    expect(error.message).toContain('no interface for version 0.3');
  });

  it('needs no card when the settings name version and transport', async () => {
    const agent = await a2aDouble({ card: null });
    const error = await errorOf(a2aClient().sendMessage(agent.url, npcMessage('hi')));
    expect(error.message).toContain('has no agent card');
    const client = a2aClient({ version: '1.0', transport: 'jsonrpc' });
    expect((await client.sendMessage(`${agent.url}/a2a`, npcMessage('hi'))).response).toBe('echo: hi');
  });

  it('follows the template of the route, also for what is else for the admin', async () => {
    const agent = await a2aDouble();
    const client = a2aClient({
      output: '{{#completed}}[{{text}}]{{/completed}}{{#rejected}}No: {{text}}{{/rejected}}',
    });
    expect((await client.sendMessage(agent.url, npcMessage('hi'))).response).toBe('[echo: hi]');
    const rejected = npcMessage('reject', { id: 'B' });
    expect(await errorOf(client.sendMessage(agent.url, rejected))).toMatchObject({
      forPerson: 'No: not for you',
    });
    const failed = npcMessage('fail', { id: 'C' });
    expect(await errorOf(client.sendMessage(agent.url, failed))).toMatchObject({ forPerson: undefined });
  });

  it('shows data when the agent says nothing else', async () => {
    const agent = await a2aDouble();
    expect((await a2aClient().sendMessage(agent.url, npcMessage('data'))).response).toBe('total price: 5');
  });

  it('finds the task of a lost answer in the list of the conversation', async () => {
    const agent = await a2aDouble({ streaming: false });
    let isCut = false;
    agent.options.misbehave = ({ path }, response) => {
      if (!path.startsWith('/a2a') || isCut) return false;
      isCut = true;
      const end = response.end.bind(response);
      response.end = ((...parts: Parameters<typeof end>) => {
        response.destroy();
        return parts.length > 0 ? response : response;
      }) as typeof response.end;
      return false;
    };
    const client = a2aClient();
    const store = new ChatStore();
    expect(await errorOf(client.sendMessage(agent.url, npcMessage('hi'), { store }))).toMatchObject({
      disposition: expect.stringMatching(/retry|uncertain/),
    });
    expect((await client.sendMessage(agent.url, npcMessage('hi'), { store })).response).toBe('echo: hi');
    expect(agent.messages).toHaveLength(1);
  });

  const reply = { messageId: 'm', role: 'agent', parts: [{ text: 'hi there' }] };
  it.each([
    ['a message and a part without kind', '0.3', false, { id: 1, result: reply }],
    ['an event without kind', '0.3', true, { id: 1, result: reply }],
    ['an id as text', '0.3', false, { id: '1', result: { ...reply, kind: 'message' } }],
    ['an id of null', '0.3', true, { id: null, result: { ...reply, kind: 'message' } }],
    ['an id as text', '1.0', false, { id: '1', result: { message: { ...reply, role: 'ROLE_AGENT' } } }],
    ['an id of null', '1.0', true, { id: null, result: { message: { ...reply, role: 'ROLE_AGENT' } } }],
  ] as const)('reads %s of version %s, streaming: %s', async (_what, version, streaming, answer) => {
    const agent = await a2aDouble({
      version,
      streaming,
      misbehave: ({ path }, response) => {
        if (!path.startsWith('/a2a')) return false;
        const json = JSON.stringify({ jsonrpc: '2.0', ...answer });
        if (streaming) response.type('text/event-stream').end(`data: ${json}\n\n`);
        else response.type('application/json').end(json);
        return true;
      },
    });
    expect((await a2aClient().sendMessage(agent.url, npcMessage('hi'))).response).toBe('hi there');
  });

  it('previews the call', async () => {
    const agent = await a2aDouble();
    expect(await a2aClient().preview(npcMessage('hi'), agent.url)).toEqual({
      kind: 'call',
      url: `${agent.url}/a2a`,
      version: '1.0',
      method: 'SendStreamingMessage',
      contextId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      text: 'hi',
    });
    expect(agent.messages).toEqual([]);
  });
});
