import { describe, expect, it } from 'vitest';
import type { AgentClient } from '../../../router/src/core/agent-client.ts';
import { AgentProtocolError, AgentUnavailableError } from '../../../router/src/core/errors.ts';
import type { IncomingMessage } from '../../../router/src/core/models.ts';
import { invalidParam } from '../../../router/src/features/npc/json-rpc.ts';
import { memoryText } from '../../../router/src/features/npc/memories.ts';
import { runNpcTask } from '../../../router/src/features/npc/run-npc-task.ts';
import { DirectSteps } from '../../doubles/direct-steps.ts';
import { MemoryNpcEmotions } from '../../doubles/memory-npc-emotions.ts';
import { MemoryNpcMemories } from '../../doubles/memory-npc-memories.ts';
import { MemoryNpcTasks } from '../../doubles/memory-npc-tasks.ts';
import { MemoryNpcTransactions } from '../../doubles/memory-npc-transactions.ts';
import { MemoryRouteStore } from '../../doubles/memory-route-store.ts';
import { ScriptedNpcChain } from '../../doubles/scripted-npc-chain.ts';
import { recordingLog } from '../../support/quiet-log.ts';
import { aNewRoute } from '../../support/routes.ts';

type RunNpcTaskDeps = Parameters<typeof runNpcTask>[0];

type Send = AgentClient['sendMessage'];

async function setup(send: Send = async () => ({ success: true, response: 'hello' })) {
  const routes = new MemoryRouteStore();
  // It answers no chats, and the NPC all the same.
  const route = await routes.create(aNewRoute({ enabled: false }));
  const asked: IncomingMessage[] = [];
  const repeats: Array<boolean | undefined> = [];
  const sent: unknown[] = [];
  const npcTasks = new MemoryNpcTasks(() => 0);
  const client: AgentClient = {
    sendMessage: async (endpoint, message, options) => {
      repeats.push(options?.isRepeat);
      await options?.beforeRequest?.();
      asked.push(message);
      return await send(endpoint, message, options);
    },
  };
  const deps: RunNpcTaskDeps & { emotions: MemoryNpcEmotions; memories: MemoryNpcMemories } = {
    npcTasks,
    emotions: new MemoryNpcEmotions(() => 0),
    memories: new MemoryNpcMemories(() => 0),
    chain: async () => undefined,
    transactions: new MemoryNpcTransactions(() => 0),
    settings: async () => ({ enabled: true, name: 'Guard', routeId: route.id }),
    routes,
    agents: { clientFor: () => client, endpointOf: () => 'http://agent.test' },
    sendMessage: async (input) => {
      sent.push(input);
      return { row: { id: '7' } };
    },
    clock: { now: () => 0, monotonicMs: () => 0, sleep: async () => undefined },
    random: () => 0,
    log: recordingLog(),
  };
  const open = async (type: string, params: Record<string, unknown>, taskId = 'task_1') => {
    await npcTasks.open({ taskId, owner: 'key:1', type, params });
    return taskId;
  };
  const run = async (taskId: string, steps = new DirectSteps()) => {
    await runNpcTask(deps, steps, { taskId });
    return await npcTasks.find(taskId);
  };
  return { deps, open, run, asked, sent, repeats };
}

describe('runNpcTask', () => {
  it('asks the agent with what the NPC feels and remembers, and returns its answer', async () => {
    const { deps, open, run, asked, sent } = await setup();
    const scope = { npc: 'Guard', peer: 'key:1' };
    await deps.emotions.add(scope, { taskId: 'task_e', trigger: 'gift', intensity: 80 });
    const content = { text: 'we met at the gate' };
    await deps.memories.add(scope, {
      taskId: 'task_m',
      memoryType: 'event',
      content,
      importance: 50,
      text: memoryText(content),
    });
    const task = await run(await open('social', { action: 'greet', message: 'The gate?', emotion: 'happy' }));
    expect(task).toMatchObject({ status: 'completed', result: { success: true, message: 'hello' } });
    expect(asked[0]?.text).toBe(
      '[You are Guard. You talk to the agent key:1.\nIt asks for: greet.\nIt feels: happy.\nYou feel: gift 80 of 100.\nYou remember (event): we met at the gate]\n\nThe gate?',
    );
    expect(asked[0]).toMatchObject({ id: 'task_1', accountId: 'default', from: 'npc-key-3a-1' });
    expect(sent).toEqual([]);
  });

  it('says the answer in the chat of `to`, under a key of the task', async () => {
    const { open, run, sent } = await setup();
    const task = await run(await open('social', { action: 'greet', to: '5493777239922' }));
    expect(task?.result).toEqual({ success: true, message: 'hello', to: '5493777239922', messageId: '7' });
    expect(sent).toEqual([
      { accountId: 'default', to: '5493777239922', text: 'hello', idempotencyKey: 'npc:task_1' },
    ]);
  });

  it('has a step that says the answer only when a chat gets it', async () => {
    const { open, run } = await setup();
    const steps = new DirectSteps();
    await run(await open('social', { action: 'greet' }), steps);
    expect([...steps.results.keys()]).toEqual(['begin', 'type', 'ask', 'finish']);
  });

  it('continues a task of an earlier version, whose first steps did not store the chat', async () => {
    const { open, run, sent } = await setup();
    const steps = new DirectSteps();
    const asked = { result: { success: true, message: 'hello', accountId: 'default' } };
    steps.results.set('ask', JSON.stringify(asked));
    const task = await run(await open('social', { action: 'greet', to: '5493777239922' }), steps);
    expect(task?.result).toMatchObject({ to: '5493777239922', messageId: '7' });
    expect(sent).toHaveLength(1);
    expect([...steps.results.keys()]).toContain('say');
  });

  it('continues after a crash with the steps that had ended, and says nothing twice', async () => {
    const { deps, open, run, asked, sent } = await setup();
    const taskId = await open('social', { action: 'greet', to: '5493777239922' });
    const steps = new DirectSteps();
    await new Promise<void>((crash) => {
      const crashing = () => {
        crash();
        return new Promise<never>(() => undefined);
      };
      void runNpcTask({ ...deps, sendMessage: crashing }, steps, { taskId });
    });
    expect((await run(taskId, steps))?.status).toBe('completed');
    expect(asked).toHaveLength(1);
    expect(sent).toHaveLength(1);
    expect(await runNpcTask(deps, new DirectSteps(), { taskId })).toEqual({ outcome: 'ended before' });
  });

  it('signs and sends the transaction of a duel once, also when it continues after a crash', async () => {
    const { deps, open, run } = await setup();
    const chain = new ScriptedNpcChain();
    const token = `0x${'1'.repeat(40)}`;
    deps.chain = async () => chain;
    deps.settings = async () => ({
      enabled: true,
      name: 'Guard',
      chain: { rpcUrl: '', chainId: 1, contracts: {}, tokens: [token], limits: { wager: '5' } },
    });
    const steps = new DirectSteps();
    const taskId = await open('duel', { opponent: `0x${'2'.repeat(40)}`, wager: '5' });
    await new Promise<void>((crash) => {
      chain.broadcast = () => {
        crash();
        return new Promise<never>(() => undefined);
      };
      void runNpcTask(deps, steps, { taskId });
    });
    const executed = { hash: '0xh', isSuccess: true, gasUsed: 1n, blockNumber: 1n, createdId: '3' };
    chain.states = [{ state: 'executed', ...executed }];
    expect(await run(taskId, steps)).toMatchObject({ status: 'completed', result: { duelId: '3' } });
    expect(chain.prepared).toHaveLength(1);
    chain.refusal = invalidParam('wager', 'No.');
    const refused = await run(await open('duel', { opponent: token, wager: '1' }, 'task_r'));
    expect(refused).toMatchObject({ status: 'failed', error: { code: -32602 } });
  });

  it('marks a request after an interrupted one as a repeat', async () => {
    const { deps, open, run, repeats } = await setup();
    const taskId = await open('social', { action: 'greet' });
    await deps.npcTasks.countAttempt(taskId);
    await run(taskId);
    expect(repeats).toEqual([true]);
  });

  it('asks an agent again that is not available, three times at most', async () => {
    const { open, run, asked } = await setup(async () => {
      throw new AgentUnavailableError({ sentence: 'away at http://10.0.0.1' });
    });
    const task = await run(await open('social', { action: 'greet' }));
    expect(asked).toHaveLength(3);
    expect(task).toMatchObject({
      status: 'failed',
      error: { code: -32603, data: { reason: 'The agent of this NPC did not answer.' } },
    });
  });

  it('never shows the caller what the agent or the code said', async () => {
    const failing = await setup(async () => {
      throw new AgentProtocolError({ sentence: 'stack trace of http://10.0.0.1' });
    });
    const failed = await failing.run(await failing.open('custom:crafting', { item: 'sword' }));
    expect(JSON.stringify(failed?.error)).not.toContain('10.0.0.1');
    const broken = await setup();
    broken.deps.memories.recall = async () => {
      throw new TypeError('secret');
    };
    const task = await broken.run(await broken.open('social', { action: 'greet' }));
    expect(task?.error).toMatchObject({ code: -32603, data: { reason: 'The task could not be performed.' } });
  });

  it('passes custom parameters on as JSON', async () => {
    const { open, run, asked } = await setup();
    await run(await open('custom:crafting', { item: 'sword', peer: 'ana' }));
    expect(asked[0]?.text).toContain('\n\n{"item":"sword"}');
    expect(asked[0]?.from).toBe('npc-key-3a-1-2f-ana');
  });
});
