import { describe, expect, it } from 'vitest';
import type { AttemptStore } from '../../../../../router/src/core/agent-client.ts';
import type { Wa2aiError } from '../../../../../router/src/core/errors.ts';
import type { StoredTask } from '../../../../../router/src/core/tasks.ts';
import { npcClient, npcDouble, npcMessage } from '../../../../support/npc.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

const opponent = '0x742d35Cc6634C0532925a3b8D4B9C05e5b8E4C7d';
const duel = npcMessage(`/duel ${opponent} 1`);

/** A store of one message whose chat has these tasks. */
function storeOf(chat: StoredTask[] = [], own: StoredTask[] = []): AttemptStore & { added: string[] } {
  const added: string[] = [];
  return {
    added,
    tasks: async () => [...own, ...added.map((remoteId) => ({ remoteId, isOpen: true }))],
    addTask: async (remoteId) => {
      added.push(remoteId);
    },
    chatTasks: async () => chat,
    knownTasks: async (ids) => ids.filter((id) => chat.some(({ remoteId }) => remoteId === id)),
    session: async () => undefined,
    saveSession: async () => undefined,
  };
}

async function errorOf(work: Promise<unknown>): Promise<Wa2aiError> {
  return work.then(
    () => Promise.reject(new Error('it did not fail')),
    (error: Wa2aiError) => error,
  );
}

describe('NpcAgentClient', () => {
  it('opens a social task for text and answers with its result', async () => {
    const agent = await npcDouble({ apiKey: 'key-12345' });
    const client = npcClient({ apiKey: 'key-12345' });
    const response = await client.sendMessage(agent.url, npcMessage('Hi!'));
    expect(response).toMatchObject({
      success: true,
      response: 'echo: Hi!',
      metadata: { npc: { type: 'social', taskId: 'task_1000001', status: 'completed' } },
    });
    expect(agent.calls).toMatchObject([
      { method: 'task.open', params: { type: 'social', params: { action: 'message', message: 'Hi!' } } },
    ]);
  });

  it('waits for the end of a task by its events', async () => {
    const agent = await npcDouble({
      onOpen: ({ taskId }, double) => {
        setImmediate(() => {
          double.update(taskId, { status: 'processing', progress: 50 });
          double.complete(taskId, { message: 'You won!' });
        });
      },
    });
    expect((await npcClient().sendMessage(agent.url, duel)).response).toBe('You won!');
  });

  it('waits for the end of a task by its status when the agent has no events', async () => {
    let looks = 0;
    const agent = await npcDouble({
      hasEvents: false,
      misbehave: ({ rpc }) => {
        looks += rpc?.method === 'task.status' ? 1 : 0;
        if (looks === 2) for (const { taskId } of agent.opened('duel')) agent.complete(taskId, 'done');
        return false;
      },
    });
    expect((await npcClient().sendMessage(agent.url, duel)).response).toBe('done');
    expect(looks).toBe(2);
  });

  it('opens the stream again when it is cut, and does not open the task again', async () => {
    const agent = await npcDouble();
    const sent = npcClient().sendMessage(agent.url, duel);
    await expect.poll(() => agent.openStreams).toBe(1);
    agent.cutStreams();
    await expect.poll(() => agent.openStreams).toBe(1);
    agent.complete('task_1000001', 'after the cut');
    expect((await sent).response).toBe('after the cut');
    expect(agent.tasks.size).toBe(1);
  });

  it('stores the task before it waits, and leaves a task that lasts longer than waitMs running', async () => {
    const agent = await npcDouble();
    const store = storeOf();
    const response = await npcClient({ waitMs: 50 }).sendMessage(agent.url, duel, { store });
    expect(store.added).toEqual(['task_1000001']);
    expect(response).toMatchObject({
      success: true,
      response: 'Task task_1000001 started, I will report here.',
      task: { remoteId: 'task_1000001' },
    });
  });

  it('is a time-out without a store', async () => {
    const agent = await npcDouble();
    expect(await errorOf(npcClient({ waitMs: 50 }).sendMessage(agent.url, duel))).toMatchObject({
      code: 'AGENT_TIMEOUT',
    });
  });

  it('answers the mistakes of a person without the agent', async () => {
    const agent = await npcDouble();
    let requests = 0;
    const beforeRequest = async () => {
      requests += 1;
    };
    const response = await npcClient().sendMessage(agent.url, npcMessage('/duel bob 1'), { beforeRequest });
    expect(response.response).toMatch(/^opponent must be an Ethereum address/);
    expect([requests, agent.calls.length]).toEqual([0, 0]);
  });

  it.each([
    ['a wrong key', 'AGENT_ACCESS_DENIED', { apiKey: 'right-key-1' }],
    ['something that is no JSON-RPC', 'AGENT_PROTOCOL', { body: '{"ok":true}' }],
    ['something that is no JSON', 'AGENT_PROTOCOL', { body: '<html>' }],
    [
      'a task without an id',
      'AGENT_PROTOCOL',
      { body: '{"jsonrpc":"2.0","id":1,"result":{"status":"pending"}}' },
    ],
    ['status 500', 'AGENT_PROTOCOL', { status: 500 }],
    ['status 503', 'AGENT_UNAVAILABLE', { status: 503 }],
    ['more than 2 MB', 'AGENT_PROTOCOL', { body: 'x'.repeat(3_000_000) }],
    ['a redirect', 'AGENT_PROTOCOL', { status: 302 }],
  ])(
    'fails for %s',
    async (_name, code, {
      apiKey,
      body,
      status = 200,
    }: { apiKey?: string; body?: string; status?: number }) => {
      const agent = await npcDouble({
        ...(apiKey && { apiKey }),
        misbehave: ({ rpc }, response) => {
          if (!rpc || apiKey) return false;
          response.writeHead(status, { location: 'http://169.254.169.254/' }).end(body);
          return true;
        },
      });
      const error = await errorOf(npcClient({ apiKey: 'wrong-key-1' }).sendMessage(agent.url, duel));
      expect(error.code).toBe(code);
      expect(error.message).not.toContain('wrong-key-1');
    },
  );

  it('is a dead letter when the task fails, and a sentence when the funds are missing', async () => {
    const agent = await npcDouble({
      onOpen: (task, double) =>
        double.update(task.taskId, {
          status: 'failed',
          error: task.params.wager === '1' ? 'boom' : { code: -32010, message: 'no' },
        }),
    });
    expect(await errorOf(npcClient().sendMessage(agent.url, duel))).toMatchObject({
      code: 'AGENT_TASK_FAILED',
      message: 'Task task_1000001 of the NPC agent failed: boom.',
    });
    const poor = npcMessage(`/duel ${opponent} 2`, { id: '3EB0BBBBBBBBBBBBBBBBBB' });
    expect((await npcClient().sendMessage(agent.url, poor)).response).toBe(
      'There are not enough funds for this.',
    );
  });

  describe('after an attempt that may have opened a task', () => {
    it('continues with the stored task', async () => {
      const agent = await npcDouble({ onOpen: ({ taskId }, double) => double.complete(taskId, 'the first') });
      const client = npcClient();
      await client.sendMessage(agent.url, duel);
      const store = storeOf([], [{ remoteId: 'task_1000001', isOpen: true }]);
      const response = await client.sendMessage(agent.url, duel, { isRepeat: true, store });
      expect(response.response).toBe('the first');
      expect(agent.tasks.size).toBe(1);
    });

    it('opens one when the list has none', async () => {
      const agent = await npcDouble({ onOpen: ({ taskId }, double) => double.complete(taskId, 'new') });
      const response = await npcClient().sendMessage(agent.url, duel, { isRepeat: true, store: storeOf() });
      expect(response.response).toBe('new');
      expect(agent.calls.map(({ method }) => method)).toEqual(['task.list', 'task.open']);
    });

    it('finds it in the list by its parameters', async () => {
      const agent = await npcDouble({
        showsParams: true,
        onOpen: ({ taskId }, double) => double.complete(taskId, 'found'),
      });
      await npcClient().sendMessage(agent.url, duel);
      const store = storeOf();
      const response = await npcClient().sendMessage(agent.url, duel, { isRepeat: true, store });
      expect(response.response).toBe('found');
      expect([agent.tasks.size, store.added]).toEqual([1, ['task_1000001']]);
    });

    it('does not take a task of another message', async () => {
      const agent = await npcDouble({
        showsParams: true,
        onOpen: ({ taskId }, double) => double.complete(taskId, taskId),
      });
      await npcClient().sendMessage(agent.url, duel);
      const store = storeOf([{ remoteId: 'task_1000001', isOpen: true }]);
      const again = npcMessage(duel.text, { id: '3EB0BBBBBBBBBBBBBBBBBB' });
      const response = await npcClient().sendMessage(agent.url, again, { isRepeat: true, store });
      expect(response.response).toBe('task_1000002');
    });

    it('does not open another one of value when the list does not show whose it is', async () => {
      const agent = await npcDouble();
      await npcClient({ waitMs: 1 }).sendMessage(agent.url, duel, { store: storeOf() });
      const repeat = npcClient({ waitMs: 1 }).sendMessage(agent.url, duel, {
        isRepeat: true,
        store: storeOf(),
      });
      expect(await errorOf(repeat)).toMatchObject({
        code: 'AGENT_UNCERTAIN',
        message: expect.stringContaining('duel'),
      });
      expect(agent.tasks.size).toBe(1);
    });

    it('repeats a harmless one, with the same key', async () => {
      const agent = await npcDouble({ onOpen: () => undefined });
      const hello = npcMessage('hello');
      const client = npcClient({ waitMs: 1 });
      await client.sendMessage(agent.url, hello, { store: storeOf() });
      await client.sendMessage(agent.url, hello, { isRepeat: true, store: storeOf() });
      expect(agent.tasks.size).toBe(1);
      const keys = agent.calls.flatMap(({ method, headers }) =>
        method === 'task.open' ? [headers['idempotency-key']] : [],
      );
      expect(keys).toEqual([keys[0], keys[0]]);
    });

    it('looks also within one turn, after a lost connection', async () => {
      let isCut = false;
      const agent = await npcDouble({
        showsParams: true,
        onOpen: ({ taskId }, double) => double.complete(taskId, 'once'),
        misbehave: ({ rpc }, response) => {
          if (rpc?.method !== 'task.open' || isCut) return false;
          isCut = true;
          response.destroy();
          return true;
        },
      });
      const client = npcClient();
      expect(await errorOf(client.sendMessage(agent.url, duel))).toMatchObject({ mayHaveRun: true });
      expect((await client.sendMessage(agent.url, duel, { store: storeOf() })).response).toBe('once');
      expect(agent.calls.map(({ method }) => method)).toEqual(['task.list', 'task.open']);
    });

    it('opens a new one, with another key, when an operator replays a failed task', async () => {
      const agent = await npcDouble({
        onOpen: ({ taskId }, double) =>
          double.tasks.size === 1
            ? double.update(taskId, { status: 'failed' })
            : double.complete(taskId, 'second'),
      });
      const client = npcClient();
      const store = storeOf();
      await errorOf(client.sendMessage(agent.url, duel, { store }));
      const response = await client.sendMessage(agent.url, duel, { isRepeat: true, isCleared: true, store });
      expect(response.response).toBe('second');
      const keys = agent.calls.flatMap(({ method, headers }) =>
        method === 'task.open' ? [headers['idempotency-key']] : [],
      );
      expect(new Set(keys).size).toBe(2);
    });
  });

  describe('about tasks', () => {
    it('lists those of the chat only', async () => {
      const agent = await npcDouble({ onOpen: () => undefined });
      const client = npcClient({ waitMs: 1 });
      for (const id of ['A', 'B']) {
        await client.sendMessage(agent.url, { ...duel, id }, { store: storeOf() });
      }
      const store = storeOf([{ remoteId: 'task_1000002', isOpen: true }]);
      const listed = await client.sendMessage(agent.url, npcMessage('/tasks'), { store });
      expect(listed.response).toMatch(/^• duel task_1000002: pending, since \S+ \S+ UTC$/);
      expect((await client.sendMessage(agent.url, npcMessage('/tasks'))).response).toContain('task_1000001');
    });

    it('shows one, and no task of another chat', async () => {
      const agent = await npcDouble({ onOpen: ({ taskId }, double) => double.complete(taskId, 'won') });
      await npcClient().sendMessage(agent.url, duel);
      const store = storeOf([{ remoteId: 'task_1000001', isOpen: false }]);
      const show = (text: string, chat = store) =>
        npcClient().sendMessage(agent.url, npcMessage(text), { store: chat });
      expect((await show('/task task_1000001')).response).toBe('duel task_1000001: completed\nwon');
      expect((await show('/task task_1000001', storeOf())).response).toBe(
        'This chat has no task task_1000001. /tasks lists its tasks.',
      );
    });

    it('cancels where the agent can', async () => {
      const agent = await npcDouble();
      const store = storeOf([{ remoteId: 'task_1', isOpen: true }]);
      const cancel = () => npcClient().sendMessage(agent.url, npcMessage('/task task_1 cancel'), { store });
      expect((await cancel()).response).toBe('The agent does not cancel task task_1.');
      agent.options.misbehave = ({ rpc }, response) => {
        if (rpc?.method !== 'task.cancel') return false;
        response.end(
          JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: { taskId: 'task_1', status: 'canceled' } }),
        );
        return true;
      };
      expect((await cancel()).response).toBe('Task task_1 will be cancelled.');
    });
  });

  describe('followTask', () => {
    const options = () => ({ signal: AbortSignal.timeout(60_000), log: quietLog });
    const followed = { remoteId: 'task_1000001', message: duel };

    async function running(npc = {}) {
      const agent = await npcDouble();
      const client = npcClient({ waitMs: 1, ...npc });
      await client.sendMessage(agent.url, duel, { store: storeOf() });
      return { agent, client };
    }

    it('reports the result', async () => {
      const { agent, client } = await running();
      const report = client.followTask(agent.url, followed, options());
      agent.complete('task_1000001', { message: 'You won!' });
      expect(await report).toMatchObject({
        kind: 'end',
        response: { response: 'Task task_1000001: You won!' },
      });
    });

    it('asks the agent what it says now, and to cancel', async () => {
      const { agent, client } = await running();
      const { signal } = options();
      agent.update('task_1000001', { status: 'processing', progress: 40 });
      expect(await client.taskNow(agent.url, followed, signal)).toEqual({ state: 'processing', percent: 40 });
      agent.update('task_1000001', { progress: 400 });
      expect(await client.taskNow(agent.url, followed, signal)).toEqual({ state: 'processing' });
      // The specification has no such method.
      expect(await client.cancelTask(agent.url, followed, signal)).toBe(false);
      agent.options.misbehave = ({ rpc }, response) => {
        if (rpc?.method !== 'task.cancel') return false;
        response.end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: {} }));
        return true;
      };
      expect(await client.cancelTask(agent.url, followed, signal)).toBe(true);
      await agent.stop();
      expect(await errorOf(client.taskNow(agent.url, followed, signal))).toMatchObject({
        code: 'AGENT_UNAVAILABLE',
      });
    });

    it('reports each quarter once when the route wants progress', async () => {
      const { agent, client } = await running({ progress: true });
      agent.update('task_1000001', { status: 'processing', progress: 55 });
      const first = await client.followTask(agent.url, followed, options());
      expect(first).toEqual({ kind: 'progress', text: 'Task task_1000001: 50 %.', position: '50' });
      const next = client.followTask(agent.url, { ...followed, position: '50' }, options());
      agent.update('task_1000001', { progress: 60 });
      agent.complete('task_1000001', 'end');
      expect(await next).toMatchObject({ kind: 'end' });
    });

    it('throws when the task has failed', async () => {
      const { agent, client } = await running();
      agent.update('task_1000001', { status: 'failed', error: { code: -32603, message: 'boom' } });
      expect(await errorOf(client.followTask(agent.url, followed, options()))).toMatchObject({
        code: 'AGENT_TASK_FAILED',
      });
    });
  });

  it('previews the call', async () => {
    const agent = await npcDouble();
    expect(await npcClient().preview(duel, agent.url)).toEqual({
      kind: 'call',
      url: `${agent.url}/rpc`,
      method: 'task.open',
      params: { type: 'duel', params: { opponent, wager: '1' } },
    });
    expect(await npcClient().preview(npcMessage('/help'), agent.url)).toMatchObject({
      kind: 'answer',
      why: 'help',
    });
    expect(agent.tasks.size).toBe(0);
  });
});
