import { describe, expect, it } from 'vitest';
import { AgentTimeoutError } from '../../../router/src/core/errors.ts';
import type { NewRoute } from '../../../router/src/core/ports/route-store.ts';
import { settle } from '../../support/fake-clock.ts';
import { aNewRoute } from '../../support/routes.ts';
import { type ServingOptions, serving } from '../../support/serving.ts';

const shared: NewRoute = aNewRoute({ agentEndpoint: 'http://127.0.0.1:9', config: { shared: true } });

async function setup(options: ServingOptions, route: Partial<NewRoute> = {}) {
  const all = serving(options);
  const { id: routeId } = await all.routes.create({ ...shared, ...route });
  const sessionId = 'a2a-1';
  const taskId = await all.open({
    skill: 'talk-to-route',
    accountId: 'default',
    routeId,
    text: 'Hi',
    sessionId,
  });
  const last = async () => (await all.servedTasks.get(taskId))?.updates.at(-1);
  return { ...all, taskId, last };
}

describe('talkToRoute', () => {
  it('completes with the answer of the agent', async () => {
    const { start, taskId, last } = await setup({
      agent: async (text) => ({ success: true, response: `you said ${text}` }),
    });
    expect(await start(taskId)).toEqual({ outcome: 'completed' });
    expect(await last()).toMatchObject({ artifact: { name: 'answer', text: 'you said Hi' } });
  });

  it('fails without the words of the agent', async () => {
    const { start, taskId, last } = await setup({
      agent: async () => {
        throw new AgentTimeoutError({ sentence: 'a secret of the agent' });
      },
    });
    expect(await start(taskId)).toEqual({ outcome: 'failed' });
    expect(await last()).toMatchObject({ text: 'The agent did not answer.' });
  });

  it('asks the fallback route once when the agent has failed', async () => {
    const asked: string[] = [];
    const { start, taskId, last, routes } = await setup({
      agent: async (text, _signal, _isRepeat, endpoint) => {
        asked.push(endpoint);
        if (endpoint !== 'http://fallback.test') throw new AgentTimeoutError({ sentence: 'slow' });
        return { success: true, response: `fallback for ${text}` };
      },
    });
    const fallback = await routes.create({ ...shared, agentEndpoint: 'http://fallback.test', config: {} });
    const [route] = (await routes.list()).filter(({ id }) => id !== fallback.id);
    const failure = { fallbackRouteId: fallback.id };
    await routes.update(route?.id ?? '', { config: { shared: true, failure } });
    expect(await start(taskId)).toEqual({ outcome: 'completed' });
    expect(await last()).toMatchObject({ artifact: { text: 'fallback for Hi' } });
    expect(asked).toEqual(['http://127.0.0.1:9', 'http://fallback.test']);
  });

  it('completes with the fallback text of the route, and says so', async () => {
    const { start, taskId, last } = await setup(
      {
        agent: async () => {
          throw new AgentTimeoutError({ sentence: 'a secret of the agent' });
        },
      },
      { config: { shared: true, failure: { fallbackText: 'We are closed.' } } },
    );
    expect(await start(taskId)).toEqual({ outcome: 'completed' });
    expect(await last()).toMatchObject({
      text: expect.stringContaining('The agent did not answer.'),
      artifact: { name: 'answer', text: 'We are closed.' },
    });
  });

  it('names the files of an answer and says that they are not transmitted', async () => {
    const file = {
      kind: 'image' as const,
      mimeType: 'image/png',
      fileName: 'dot.png',
      bytes: new Uint8Array(3),
    };
    const { start, taskId, last } = await setup({
      agent: async () => ({ success: true, response: 'Here', files: [file] }),
    });
    await start(taskId);
    expect(await last()).toMatchObject({
      text: expect.stringContaining('not transmitted'),
      artifact: {
        text: 'Here',
        data: { files: [{ fileName: 'dot.png', mimeType: 'image/png', sizeBytes: 3 }] },
      },
    });
  });

  it.each([{ enabled: false }, { config: {} }])(
    'rejects a route that is not shared any more: %o',
    async (route) => {
      const { start, taskId, last } = await setup({}, route);
      expect(await start(taskId)).toEqual({ outcome: 'rejected' });
      expect(await last()).toMatchObject({ text: 'The route is not shared any more.' });
    },
  );

  it('stops the call when the task is canceled', async () => {
    let isAborted = false;
    const { start, taskId, servedTasks } = await setup({
      agent: (_text, signal) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () => {
            isAborted = true;
            reject(signal.reason);
          });
        }),
    });
    const end = start(taskId);
    await settle();
    await servedTasks.update(taskId, { key: 'cancel', state: 'canceled' });
    expect(await end).toEqual({ outcome: 'canceled' });
    expect(isAborted).toBe(true);
  });

  it('tells the agent when an earlier process may have asked', async () => {
    const repeats: boolean[] = [];
    const { start, taskId, servedTasks } = await setup({
      agent: async (_text, _signal, isRepeat) => {
        repeats.push(isRepeat);
        return { success: true, response: 'ok' };
      },
    });
    await servedTasks.update(taskId, { key: 'ask 1', state: 'working' });
    await start(taskId);
    expect(repeats).toEqual([true]);
  });
});
