import { describe, expect, it } from 'vitest';
import type { AgentClient, TaskReport } from '../../../router/src/core/agent-client.ts';
import type { ExchangeRecorder } from '../../../router/src/core/agent-exchange.ts';
import { AgentProtocolError, AgentUnavailableError } from '../../../router/src/core/errors.ts';
import type { RouteConfig } from '../../../router/src/core/models.ts';
import type { RouteStore } from '../../../router/src/core/ports/route-store.ts';
import type { QueuedReply } from '../../../router/src/core/turns/turn.ts';
import { followTask } from '../../../router/src/features/tasks/follow-task.ts';
import { DirectSteps } from '../../doubles/direct-steps.ts';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { MemoryRemoteTasks } from '../../doubles/memory-remote-tasks.ts';
import { MemoryState } from '../../doubles/memory-state.ts';
import { serviceWith } from '../../support/app-with.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { quietLog } from '../../support/quiet-log.ts';
import { inbound } from '../../support/router.ts';
import { aRoute } from '../../support/routes.ts';
import { shaping } from '../../support/shaping.ts';

type Follow = NonNullable<AgentClient['followTask']>;

const untilAborted: Follow = (_endpoint, _task, { signal }) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

/** A task that its turn left running at an agent that answers `followTask` with these, one after the other. */
async function setup(reports: Array<TaskReport | Error | Follow>, config: RouteConfig = {}) {
  const clock = new FakeClock();
  const state = new MemoryState(() => clock.now());
  const inbox = new MemoryInbox(state);
  const remoteTasks = new MemoryRemoteTasks(state);
  const route = aRoute({ accountId: 'default', channelId: '*', config });
  const { messageId } = await inbox.add(inbound({ person: '5493777239922', text: '/duel' }), 'n1');
  await remoteTasks.add({ accountId: 'default', messageId, routeId: route.id }, 'remote-1');
  await inbox.finishTurn(messageId, {
    state: 'answered',
    reason: 'task-started',
    routeId: route.id,
    replies: [],
  });
  const taskId = (await remoteTasks.startedBy(messageId)) ?? '';
  const positions: Array<string | undefined> = [];
  const delivered: QueuedReply[] = [];
  let minted = 0;
  const client: AgentClient = {
    sendMessage: () => Promise.reject(new Error('nothing is opened again')),
    followTask: async (endpoint, task, options) => {
      positions.push(task.position);
      const next = reports.shift();
      if (typeof next === 'function') return next(endpoint, task, options);
      if (next === undefined) return untilAborted(endpoint, task, options);
      if (next instanceof Error) throw next;
      return next;
    },
  };
  const routes: Pick<RouteStore, 'get'> = { get: async (id) => (id === route.id ? route : undefined) };
  const service = serviceWith({
    shaping: shaping(),
    remoteTasks,
    routes,
    agents: { clientFor: () => client, endpointOf: () => '' },
    mintId: () => `WA${++minted}`,
    deliver: (replies: readonly QueuedReply[]) => {
      delivered.push(...replies);
    },
    clock,
    random: () => 0.5,
    logOf: () => quietLog,
    exchangeRecorder: undefined,
  });
  const texts = () => [...state.outbox.values()].map(({ text }) => text);
  const message = () => state.messages.get(Number(messageId));
  const run = (steps = new DirectSteps(), given = service) => followTask(given, steps, { taskId });
  return { clock, state, service, routes, run, texts, message, positions, delivered, messageId };
}

const end = (response: string | undefined): TaskReport => ({
  kind: 'end',
  response: { success: true, ...(response !== undefined && { response }) },
});

describe('followTask', () => {
  it('reports the result in the chat of the message', async () => {
    const { run, texts, message, delivered } = await setup([end('You won!')]);
    expect(await run()).toEqual({ outcome: 'done' });
    expect(texts()).toEqual(['You won!']);
    expect(delivered).toMatchObject([{ message: { to: '5493777239922@s.whatsapp.net', text: 'You won!' } }]);
    expect(message()).toMatchObject({ state: 'answered', reason: undefined });
  });

  it('converts Markdown of the result', async () => {
    const { run, texts } = await setup([end('**You** won!')]);
    await run();
    expect(texts()).toEqual(['*You* won!']);
  });

  it('reports progress before the end, in order', async () => {
    const progress = (position: string): TaskReport => ({
      kind: 'progress',
      text: `${position} %`,
      position,
    });
    const { run, texts, positions } = await setup([progress('25'), progress('50'), end('done')]);
    await run();
    expect(texts()).toEqual(['25 %', '50 %', 'done']);
    expect(positions).toEqual([undefined, '25', '50']);
  });

  it('stores the exchanges that brought a report, also those of attempts that failed', async () => {
    const { run, service, message, clock, texts } = await setup([
      new AgentUnavailableError({ sentence: 'away' }),
      { kind: 'progress', text: '25 %', position: '25' },
      end('done'),
    ]);
    let count = 0;
    const recorder: ExchangeRecorder = {
      during: async (onExchange, work) => {
        try {
          return await work();
        } finally {
          count += 1;
          const request = { method: 'POST', url: `http://agent/${count}`, headers: {} };
          onExchange({ at: '2026-01-31T12:00:00.000Z', request });
        }
      },
    };
    const running = run(new DirectSteps(), { ...service, exchangeRecorder: recorder });
    await expect.poll(() => clock.advanceMs(60_000).then(texts)).toEqual(['25 %', 'done']);
    await running;
    expect(message()?.exchanges?.map(({ request }) => request.url)).toEqual([
      'http://agent/1',
      'http://agent/2',
      'http://agent/3',
    ]);
  });

  it('says in the language of the person that the task ended when the agent says nothing', async () => {
    const { run, texts } = await setup([end(undefined)]);
    await run();
    expect(texts()).toEqual(['La tarea remote-1 ha terminado.']);
  });

  it('reports a failure without the text of the agent, and stores a dead letter', async () => {
    const failure = new AgentProtocolError(
      { sentence: 'The agent said: secret' },
      { code: 'AGENT_TASK_FAILED' },
    );
    const { run, texts, message, state } = await setup([failure], { notices: { failed: 'Sorry.' } });
    expect(await run()).toEqual({ outcome: 'failed' });
    expect(texts()).toEqual(['La tarea remote-1 ha fallado. Sorry.']);
    expect(message()).toMatchObject({ state: 'dead', reason: 'AGENT_TASK_FAILED' });
    expect(state.deadLetters).toMatchObject([
      { reason: 'AGENT_TASK_FAILED', error: 'The agent said: secret' },
    ]);
  });

  it('waits as long as the agent does not answer', async () => {
    const away = new AgentUnavailableError({ sentence: 'away' });
    const { clock, run, texts } = await setup([away, away, away, end('at last')]);
    const ended = run();
    await expect.poll(() => clock.advanceMs(60_000).then(texts)).toEqual(['at last']);
    expect(await ended).toEqual({ outcome: 'done' });
  });

  it('continues after a fault in its code', async () => {
    const { clock, run, texts } = await setup([new TypeError('a defect'), end('fine')]);
    const ended = run();
    await expect.poll(() => clock.advanceMs(60_000).then(texts)).toEqual(['fine']);
    await ended;
  });

  it('reports once when two nodes follow the same task', async () => {
    const { run, texts } = await setup([end('first'), end('second')]);
    const outcomes = await Promise.all([run(), run()]);
    expect(outcomes).toContainEqual({ outcome: 'done' });
    expect(texts()).toHaveLength(1);
  });

  it('changes nothing when it runs again after the end', async () => {
    const { run, texts } = await setup([end('done'), end('again')]);
    await run();
    expect(await run()).toEqual({ outcome: 'ended before' });
    expect(texts()).toEqual(['done']);
  });

  it('gives up a task that has not ended after seven days', async () => {
    const { clock, run, message } = await setup([untilAborted]);
    const ended = run();
    await clock.untilSleeping();
    await clock.advanceMs(7 * 86_400_000);
    expect(await ended).toEqual({ outcome: 'failed' });
    expect(message()).toMatchObject({ state: 'dead', reason: 'AGENT_TASK_LOST' });
  });

  it('gives up a task whose route was deleted', async () => {
    const { routes, run, message, texts } = await setup([]);
    routes.get = async () => undefined;
    await run();
    expect(message()).toMatchObject({
      reason: 'AGENT_TASK_LOST',
      error: expect.stringContaining('route was deleted'),
    });
    expect(texts()).toEqual(['La tarea remote-1 ha fallado.']);
  });

  it('stops without a report when the service stops', async () => {
    const { clock, run, texts, message } = await setup([]);
    const steps = new DirectSteps();
    const ended = run(steps);
    ended.catch(() => undefined);
    await clock.untilSleeping();
    steps.stop(new Error('stopping'));
    await expect(ended).rejects.toThrow('stopping');
    expect(texts()).toEqual([]);
    expect(message()).toMatchObject({ state: 'answered', reason: 'task-started' });
  });
});
