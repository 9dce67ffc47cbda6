import { describe, expect, it } from 'vitest';
import { findA2aCard } from '../../../../../../router/src/infra/agents/a2a/card/a2a-cards.ts';
import { a2aServer } from '../../../../../../router/src/infra/agents/a2a/card/a2a-server.ts';
import { A2aConnection } from '../../../../../../router/src/infra/agents/a2a/wire/a2a-connection.ts';
import { stateOf } from '../../../../../../router/src/infra/agents/a2a/wire/a2a-task.ts';
import { a2aUpdates } from '../../../../../../router/src/infra/agents/a2a/wire/task-updates.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../../router/src/infra/clock/system-clock.ts';
import { type A2aDoubleOptions, textPart } from '../../../../../doubles/a2a-agent.ts';
import { a2aDouble } from '../../../../../support/a2a.ts';

/** A task that runs at the double, and the states that `a2aUpdates` shows of it. */
async function setup(options: A2aDoubleOptions = {}) {
  const agent = await a2aDouble(options);
  const transport = new AgentTransport();
  const deps = { transport, signal: AbortSignal.timeout(30_000) };
  const server = a2aServer(agent.url, {}, await findA2aCard(agent.url, {}, deps));
  const connection = new A2aConnection({
    server,
    transport,
    clock: holdingClock,
    timeoutMs: 20_000,
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
  const stopping = new AbortController();
  const states: string[] = [];
  const ended = (async () => {
    for await (const update of a2aUpdates(connection, task.id, { signal: stopping.signal }))
      states.push(stateOf(update));
  })();
  ended.catch(() => undefined);
  await expect.poll(() => states.at(-1)).toBe('working');
  await expect.poll(() => agent.running).toEqual([task.id]);
  return { agent, connection, taskId: task.id, states, ended, stopping };
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
