import { describe, expect, it } from 'vitest';
import { npcServer } from '../../../../../../router/src/infra/agents/npc/card/npc-card.ts';
import { taskUpdates } from '../../../../../../router/src/infra/agents/npc/npc-agent-client.ts';
import type { RpcPeer } from '../../../../../../router/src/infra/agents/npc/rpc/json-rpc.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import type { NpcDouble, NpcDoubleOptions } from '../../../../../doubles/npc-agent.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';
import { npcDouble } from '../../../../../support/npc.ts';

const taskId = 'task_1';

async function setup(options: NpcDoubleOptions = {}) {
  const agent = await npcDouble(options);
  agent.tasks.set(taskId, { taskId, type: 'duel', params: {}, status: 'pending', createdAt: 0 });
  const clock = new FakeClock();
  const peer: RpcPeer = {
    server: npcServer(agent.url, {}, undefined),
    transport: new AgentTransport(),
    clock,
    timeoutMs: 5_000,
    redact: (text) => text,
  };
  const stopping = new AbortController();
  const states: string[] = [];
  const ended = (async () => {
    for await (const { status, progress } of taskUpdates(peer, taskId, { signal: stopping.signal })) {
      states.push(progress === undefined ? status : `${status} ${progress}`);
    }
  })();
  ended.catch(() => undefined);
  return { agent, clock, states, ended, stopping };
}

const looks = (agent: NpcDouble) => agent.calls.filter(({ method }) => method === 'task.status').length;

/** Lets the wait before the next connection pass. */
async function reconnect({ agent, clock }: { agent: NpcDouble; clock: FakeClock }, streams = 1) {
  await expect
    .poll(async () => {
      await clock.advanceMs(15_000);
      return agent.openStreams;
    })
    .toBe(streams);
}

describe('taskUpdates', () => {
  it('begins with the status, then follows the events to the end', async () => {
    const { agent, states, ended } = await setup();
    await expect.poll(() => states.length).toBe(1);
    agent.update(taskId, { status: 'processing', progress: 50 });
    agent.complete(taskId, 'x');
    await ended;
    expect(states).toEqual(['pending', 'processing 50', 'completed 50']);
  });

  it('continues after the last event when the stream breaks', async () => {
    const test = await setup();
    await expect.poll(() => test.states.length).toBe(1);
    test.agent.update(taskId, { status: 'processing', progress: 10 });
    await expect.poll(() => test.states.at(-1)).toBe('processing 10');
    test.agent.cutStreams();
    await expect.poll(() => test.agent.openStreams).toBe(0);
    await reconnect(test);
    test.agent.complete(taskId, 'x');
    await test.ended;
    expect(test.states.filter((state) => state === 'processing 10').length).toBe(2);
    expect(looks(test.agent)).toBe(2);
  });

  it('opens a silent stream again after a minute', async () => {
    const test = await setup();
    await expect.poll(() => test.states.length).toBe(1);
    await test.clock.advanceMs(60_001);
    await expect.poll(() => test.agent.openStreams).toBe(0);
    await reconnect(test);
    expect(looks(test.agent)).toBeGreaterThan(1);
    test.agent.complete(taskId, 'x');
    await test.ended;
  });

  it('looks at the status with growing waits when there are no events', async () => {
    const { agent, clock, states, ended } = await setup({ hasEvents: false });
    for (const waitMs of [500, 1_000, 2_000]) {
      const before = states.length;
      await expect.poll(() => states.length).toBeGreaterThan(before - 1);
      await clock.untilSleeping();
      await clock.advanceMs(waitMs);
    }
    agent.complete(taskId, 'x');
    await expect
      .poll(async () => {
        await clock.advanceMs(15_000);
        return states.at(-1);
      })
      .toBe('completed');
    await ended;
  });

  it('retries while the agent is away', async () => {
    let isAway = true;
    const test = await setup({
      misbehave: (_request, response) => {
        if (isAway) response.writeHead(503).end();
        return isAway;
      },
    });
    await test.clock.untilSleeping();
    isAway = false;
    await reconnect(test);
    test.agent.complete(taskId, 'x');
    await test.ended;
    expect(test.states.at(-1)).toBe('completed');
  });

  it('throws when the agent does not know the task', async () => {
    const { agent, ended } = await setup({ hasEvents: false });
    agent.tasks.clear();
    await expect(ended).rejects.toMatchObject({ code: 'AGENT_REPORTED_ERROR' });
  });

  it('ignores events that are no tasks, and those of another task', async () => {
    const { states, ended } = await setup({
      misbehave: ({ url }, response) => {
        if (!url?.startsWith('/stream/')) return false;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(
          'data: {"taskId":"other","status":"completed"}\n\ndata: nonsense\n\ndata: {"status":7}\n\n',
        );
        response.end('data: {"status":"completed"}\n\n');
        return true;
      },
    });
    await ended;
    expect(states).toEqual(['pending', 'completed']);
  });

  it('stops when its signal aborts', async () => {
    const { agent, states, ended, stopping } = await setup();
    await expect.poll(() => states.length).toBe(1);
    stopping.abort(new Error('stopping'));
    await expect(ended).rejects.toThrow('stopping');
    await expect.poll(() => agent.openStreams).toBe(0);
  });
});
