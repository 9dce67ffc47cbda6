import { describe, expect, it } from 'vitest';
import type { AgentClient } from '../../../router/src/core/agent-client.ts';
import type { Route } from '../../../router/src/core/models.ts';
import { askAboutTask, cancelTask } from '../../../router/src/features/tasks/follow-task.ts';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { MemoryRemoteTasks } from '../../doubles/memory-remote-tasks.ts';
import { MemoryState } from '../../doubles/memory-state.ts';
import { serviceWith } from '../../support/app-with.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { inbound } from '../../support/router.ts';
import { aRoute } from '../../support/routes.ts';

/** A task that its turn left running at this agent. */
async function setup(agent: Partial<AgentClient>, change: Partial<Route> = {}) {
  const clock = new FakeClock();
  const state = new MemoryState(() => clock.now());
  const inbox = new MemoryInbox(state);
  const remoteTasks = new MemoryRemoteTasks(state);
  const route = { ...aRoute({ accountId: 'default', channelId: '*' }), ...change };
  const { messageId } = await inbox.add(inbound({ person: '5493777239922', text: '/duel' }), 'n1');
  await remoteTasks.add({ accountId: 'default', messageId, routeId: route.id }, 'remote-1');
  await inbox.finishTurn(messageId, {
    state: 'answered',
    reason: 'task-started',
    routeId: route.id,
    replies: [],
  });
  const taskId = (await remoteTasks.startedBy(messageId)) ?? '';
  const client = { sendMessage: () => Promise.reject(new Error('nothing is sent')), ...agent };
  const routes = { get: async (id: string) => (id === route.id ? route : undefined) };
  const agents = { clientFor: () => client, endpointOf: () => '' };
  return { kernel: serviceWith({ remoteTasks, routes, agents, clock }), taskId, remoteTasks, clock };
}

describe('a running task', () => {
  it('is asked about at the agent of its route, by the id of the agent', async () => {
    const { kernel, taskId } = await setup({
      taskNow: async (endpoint, { remoteId, message }) => ({
        state: `${remoteId} ${message.text}`,
        text: endpoint,
      }),
    });
    const { text, state } = (await askAboutTask(kernel, taskId)) ?? {};
    expect(state).toBe('remote-1 /duel');
    expect(text).toMatch(/^http/);
  });

  it('is canceled, or not when its agent cannot', async () => {
    const asked = await setup({ cancelTask: async () => true });
    expect(await cancelTask(asked.kernel, asked.taskId)).toBe('asked');
    for (const agent of [{}, { cancelTask: async () => false }]) {
      const { kernel, taskId } = await setup(agent);
      expect(await cancelTask(kernel, taskId)).toBe('refused');
    }
  });

  it('whose agent does not answer ends the wait after ten seconds', async () => {
    const { kernel, taskId, clock } = await setup({
      taskNow: (_endpoint, _task, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    const answer = askAboutTask(kernel, taskId);
    const refused = expect(answer).rejects.toMatchObject({ code: 'AGENT_UNAVAILABLE' });
    await clock.untilSleeping();
    await clock.advanceMs(10_000);
    await refused;
  });
});

it('a task that has ended, or whose route cannot be used, is not asked about', async () => {
  const agent: Partial<AgentClient> = { taskNow: async () => ({ state: 'x' }), cancelTask: async () => true };
  const { kernel, taskId, remoteTasks } = await setup(agent);
  await remoteTasks.report(taskId, { number: 1, replies: [], end: { state: 'done' } });
  expect(await askAboutTask(kernel, taskId)).toBeUndefined();
  expect(await cancelTask(kernel, taskId)).toBe('ended');
  const damaged = await setup(agent, { damage: 'secrets cannot be read' } as Partial<Route>);
  expect(await askAboutTask(damaged.kernel, damaged.taskId)).toBeUndefined();
});
