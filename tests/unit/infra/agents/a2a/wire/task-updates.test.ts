import { describe, expect, it, onTestFinished } from 'vitest';
import type { Clock } from '../../../../../../router/src/core/clock.ts';
import { StorageUnavailableError } from '../../../../../../router/src/core/errors.ts';
import { a2aServer, findA2aCard } from '../../../../../../router/src/infra/agents/a2a/card/a2a-cards.ts';
import { A2aConnection } from '../../../../../../router/src/infra/agents/a2a/wire/a2a-connection.ts';
import { a2aUpdates, stateOf } from '../../../../../../router/src/infra/agents/a2a/wire/task-updates.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../../router/src/infra/clock/system-clock.ts';
import { type A2aDoubleOptions, textPart } from '../../../../../doubles/a2a-agent.ts';
import { StandInServer } from '../../../../../doubles/stand-in-server.ts';
import { a2aDouble } from '../../../../../support/a2a.ts';
import { impatientClock } from '../../../../../support/fake-clock.ts';

/** For one request. */
const TIMEOUT_MS = 20_000;

/** A task that runs at the double. */
async function runningTask(options: A2aDoubleOptions = {}, clock: Clock = impatientClock(TIMEOUT_MS)) {
  const agent = await a2aDouble(options);
  const transport = new AgentTransport();
  const deps = { transport, signal: AbortSignal.timeout(30_000) };
  const server = a2aServer(agent.url, {}, await findA2aCard(agent.url, {}, deps));
  const connection = new A2aConnection({
    server,
    transport,
    clock,
    timeoutMs: TIMEOUT_MS,
    redact: (text) => text,
  });
  const message = {
    messageId: 'm1',
    contextId: '',
    taskId: '',
    role: 1,
    parts: [textPart('run')],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
  const task = await connection.send(message, undefined);
  if (!('id' in task)) throw new Error('no task was opened');
  return { agent, connection, taskId: task.id };
}

/** A task that runs at the double, and the states that `a2aUpdates` shows of it. */
async function setup(options: A2aDoubleOptions = {}) {
  const { agent, connection, taskId } = await runningTask(options);
  const stopping = new AbortController();
  const states: string[] = [];
  const ended = (async () => {
    for await (const update of a2aUpdates(connection, taskId, { signal: stopping.signal }))
      states.push(stateOf(update));
  })();
  ended.catch(() => undefined);
  await expect.poll(() => states.at(-1)).toBe('working');
  await expect.poll(() => agent.running).toEqual([taskId]);
  return { agent, connection, taskId, states, ended, stopping };
}

describe.each([{ streaming: true }, { streaming: false }])('a2aUpdates, streaming: $streaming', (options) => {
  it('ends with the complete task', async () => {
    const { agent, taskId, states, ended, connection } = await setup(options);
    agent.end(taskId, 'done');
    await ended;
    expect(states.at(-1)).toBe('completed');
    expect((await connection.task(taskId, undefined)).artifacts).toHaveLength(1);
  });

  it('goes on when the agent was away for a while', async () => {
    const { agent, taskId, states, ended } = await setup(options);
    let refused = 0;
    agent.options.misbehave = (_request, response) => {
      refused += 1;
      if (refused > 2) return false;
      response.status(503).end();
      return true;
    };
    agent.end(taskId, 'done');
    await ended;
    expect(states.at(-1)).toBe('completed');
  });

  it('stops when its signal aborts', async () => {
    const { ended, stopping } = await setup(options);
    stopping.abort(new Error('stopping'));
    await expect(ended).rejects.toThrow(/stopping|aborted/);
  });
});

describe('a2aUpdates of an agent without streams that sends notifications', () => {
  const card = { capabilities: { streaming: false, pushNotifications: true, extensions: [] } };
  /** Nothing but a notification ends a wait. */
  const endless: Clock = {
    ...holdingClock,
    sleep: (_ms, signal) =>
      new Promise((_, reject) => {
        const onAbort = () => reject(signal?.reason);
        if (signal?.aborted) onAbort();
        signal?.addEventListener('abort', onAbort);
      }),
  };

  it('looks at the task when one arrives', async () => {
    const { agent, connection, taskId } = await runningTask({ streaming: false, card }, endless);
    const listeners = new Set<() => void>();
    const receiver = await StandInServer.start(() => {
      for (const onPush of listeners) onPush();
      return { status: 204 };
    });
    onTestFinished(() => receiver.close());
    const pushed = {
      url: async () => receiver.url,
      listen: (onPush: () => void) => {
        listeners.add(onPush);
        return () => void listeners.delete(onPush);
      },
    };
    const { signal } = new AbortController();
    const states: string[] = [];
    const ended = (async () => {
      for await (const update of a2aUpdates(connection, taskId, { signal, pushed }))
        states.push(stateOf(update));
    })();
    // Once more after the agent knows the address.
    await expect.poll(() => states).toEqual(['working', 'working']);
    agent.end(taskId, 'done');
    await ended;
    expect(states.at(-1)).toBe('completed');
    expect(listeners.size).toBe(0);
  });

  it.each([
    ['the agent refuses them', async () => 'no address'],
    ['it cannot reach wa2ai', async () => undefined],
    ['the database does not answer', () => Promise.reject(new StorageUnavailableError({ sentence: 'down' }))],
  ])('looks at the task from time to time when %s', async (_why, url) => {
    const { agent, connection, taskId } = await runningTask({
      streaming: false,
      card: { capabilities: { ...card.capabilities, pushNotifications: false } },
    });
    const { capabilities } = connection.peer.server.card;
    if (capabilities) capabilities.pushNotifications = true;
    const pushed = { url, listen: () => () => undefined };
    const states: string[] = [];
    const ended = (async () => {
      const { signal } = new AbortController();
      for await (const update of a2aUpdates(connection, taskId, { signal, pushed }))
        states.push(stateOf(update));
    })();
    await expect.poll(() => states.length).toBeGreaterThan(1);
    agent.end(taskId, 'done');
    await ended;
    expect(states.at(-1)).toBe('completed');
  });
});

describe('A2aConnection', () => {
  it('rejects with an error of wa2ai for a task that the agent does not know', async () => {
    const { connection, stopping } = await setup();
    stopping.abort();
    await expect(connection.task('nothing', undefined)).rejects.toMatchObject({
      code: 'AGENT_REPORTED_ERROR',
    });
  });

  it('lists the tasks of a conversation with their messages', async () => {
    const { connection, taskId, stopping } = await setup();
    stopping.abort();
    const { contextId } = await connection.task(taskId, undefined);
    const tasks = await connection.tasksOf(contextId, undefined);
    expect(tasks?.map(({ id, history }) => [id, history[0]?.messageId])).toEqual([[taskId, 'm1']]);
  });

  it('has no list in version 0.3', async () => {
    const { connection, stopping } = await setup({ version: '0.3' });
    stopping.abort();
    expect(await connection.tasksOf('any', undefined)).toBeUndefined();
  });
});
