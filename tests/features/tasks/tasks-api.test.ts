import { beforeEach, describe, expect, it } from 'vitest';
import { AgentUnavailableError } from '../../../router/src/core/errors.ts';
import { aMessage, aPerson, NODE } from '../../contracts/adapters.ts';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { httpApi } from '../../support/http-api.ts';

const api = httpApi();
let routeId: string;
beforeEach(async () => {
  const { body } = await api.call('POST', '/api/routes', {
    channelId: '*',
    agentEndpoint: 'http://127.0.0.1:1',
    config: { npc: {} },
  });
  routeId = body.data.id;
});

/** A task that the turn of its message left running. */
async function aTask(remoteId: string, person = aPerson()): Promise<{ id: string; phone: string }> {
  const inbox = new MemoryInbox(api.state);
  const { messageId } = await inbox.add(aMessage('default', person), NODE);
  await api.remoteTasks.add({ accountId: 'default', messageId, routeId }, remoteId);
  await inbox.finishTurn(messageId, { state: 'answered', reason: 'task-started', routeId, replies: [] });
  const id = await api.remoteTasks.startedBy(messageId);
  if (id === undefined) throw new Error('the task is not followed');
  return { id, phone: person.phone ?? '' };
}

const sendMessage = async () => ({ success: true, response: '' });

describe('GET /api/tasks', () => {
  it('lists tasks in pages, newest first', async () => {
    const [first, second] = [await aTask('task_1'), await aTask('task_2')];
    const { body } = await api.call('GET', '/api/tasks?limit=1');
    expect(body.data).toMatchObject([
      { id: second.id, remoteId: 'task_2', routeId, channelId: second.phone, state: 'open' },
    ]);
    const next = await api.call('GET', `/api/tasks?limit=1&cursor=${body.next}`);
    expect(next.body).toMatchObject({ data: [{ id: first.id }] });
    expect(next.body.next).toBeUndefined();
    expect((await api.call('GET', '/api/tasks?state=ended')).body.data).toEqual([]);
  });

  it('shows a restricted key its chats and routes only', async () => {
    const [mine, other] = [await aTask('task_1'), await aTask('task_2')];
    const ofChat = { 'x-api-key': await api.addKey({ scopes: ['messages:read'], chats: [mine.phone] }) };
    expect((await api.call('GET', '/api/tasks', undefined, ofChat)).body.data).toMatchObject([
      { id: mine.id },
    ]);
    expect((await api.call('GET', `/api/tasks/${other.id}`, undefined, ofChat)).status).toBe(403);
    const ofRoute = { 'x-api-key': await api.addKey({ scopes: ['messages:read'], routes: ['another'] }) };
    expect((await api.call('GET', '/api/tasks', undefined, ofRoute)).body.data).toEqual([]);
    expect((await api.call('GET', `/api/tasks/${mine.id}`, undefined, ofRoute)).status).toBe(403);
  });
});

describe('GET /api/tasks/{id}', () => {
  it('shows what the agent says now', async () => {
    const { id } = await aTask('task_1');
    api.npc.agent.client = {
      sendMessage,
      taskNow: async (_endpoint, { remoteId }) => ({ state: `${remoteId} works`, percent: 40 }),
    };
    const { body } = await api.call('GET', `/api/tasks/${id}`);
    expect(body.data.now).toEqual({ state: 'task_1 works', percent: 40 });
  });

  it('shows the task when the agent does not answer, and when it cannot be asked', async () => {
    const { id } = await aTask('task_1');
    api.npc.agent.client = {
      sendMessage,
      taskNow: async () => {
        throw new AgentUnavailableError({ sentence: 'The agent is away.' });
      },
    };
    expect((await api.call('GET', `/api/tasks/${id}`)).body.data).toMatchObject({
      id,
      problem: 'The agent is away.',
    });
    api.npc.agent.client = { sendMessage };
    const { body } = await api.call('GET', `/api/tasks/${id}`);
    expect(body.data).not.toHaveProperty('now');
    expect(body.data).not.toHaveProperty('problem');
  });

  it('knows no other tasks', async () => {
    expect((await api.call('GET', '/api/tasks/9')).status).toBe(404);
    expect((await api.call('GET', '/api/tasks/none')).status).toBe(404);
  });
});

describe('POST /api/tasks/{id}/cancel', () => {
  it('asks the agent, and says when it does not cancel', async () => {
    const { id } = await aTask('task_1');
    const asked: string[] = [];
    api.npc.agent.client = {
      sendMessage,
      cancelTask: async (_endpoint, { remoteId }) => asked.push(remoteId) > 0,
    };
    expect((await api.call('POST', `/api/tasks/${id}/cancel`)).status).toBe(202);
    expect(asked).toEqual(['task_1']);
    for (const client of [{ sendMessage }, { sendMessage, cancelTask: async () => false }]) {
      api.npc.agent.client = client;
      const { status, body } = await api.call('POST', `/api/tasks/${id}/cancel`);
      expect([status, body.code]).toEqual([409, 'TASK_NOT_CANCELED']);
    }
  });

  it('refuses a task that has ended', async () => {
    const { id } = await aTask('task_1');
    await api.remoteTasks.report(id, { number: 1, replies: [], end: { state: 'done' } });
    const { status, body } = await api.call('POST', `/api/tasks/${id}/cancel`);
    expect([status, body.code]).toEqual([409, 'TASK_NOT_CANCELED']);
    expect(body.error).toContain('does not run any more');
  });
});
