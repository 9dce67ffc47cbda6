import { describe, expect, it } from 'vitest';
import { AgentUnavailableError } from '../../../../router/src/core/errors.ts';
import { HostedAgents } from '../../../../router/src/core/hosting/hosted-agents.ts';
import { systemClock } from '../../../../router/src/infra/clock/system-clock.ts';
import { MemoryAgentRegistry } from '../../../doubles/memory-agent-registry.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

type HostedAgentsDeps = ConstructorParameters<typeof HostedAgents>[0];

const MESSAGE = { messageId: 'm1', text: 'hello' };

/** Hosted agents of which one exists; `ask` is what the agent does. */
async function anAgentThat(ask: (signal?: AbortSignal) => Promise<never>) {
  const log = recordingLog();
  const registry = new MemoryAgentRegistry();
  const agent = { agentId: 'helper', spec: { runtime: 'process' as const, command: ['run'] }, idleMs: 1_000 };
  await registry.claim(agent as never, 'n1', 'folder-1');
  const host = { use: async (_: unknown, work: (running: never) => unknown) => work({} as never) };
  const talk = {
    ask: async (_a: unknown, _r: unknown, _m: unknown, options?: { signal?: AbortSignal }) =>
      ask(options?.signal),
  };
  const deps = {
    nodeId: 'n1',
    host,
    registry,
    files: {},
    talk,
    clock: systemClock,
    log,
    liveNodes: () => ['n1'],
  };
  return { agents: new HostedAgents(deps as unknown as HostedAgentsDeps), log };
}

describe('a message of a program that fails', () => {
  it('says what the agent reported, and a repeat sends it again', async () => {
    let calls = 0;
    const { agents, log } = await anAgentThat(async () => {
      calls += 1;
      throw new AgentUnavailableError({ sentence: 'The agent is away.' });
    });
    for (const call of [1, 2]) {
      const failed = await agents.send('helper', MESSAGE, 5_000);
      expect(failed).toMatchObject({ state: 'failed', error: { message: 'The agent is away.' } });
      expect(calls).toBe(call);
    }
    expect(log.lines).toEqual([]);
  });

  it('shows nothing of an unknown error to the program, and logs it', async () => {
    const { agents, log } = await anAgentThat(async () => {
      throw new TypeError('secret=abc');
    });
    const failed = await agents.send('helper', MESSAGE, 5_000);
    expect(failed).toMatchObject({ state: 'failed', error: { code: 'AGENT_PROTOCOL' } });
    expect(JSON.stringify(failed)).not.toContain('abc');
    expect(log.lines).toMatchObject([{ level: 'error', fields: { agentId: 'helper' } }]);
  });

  it('may be sent again when wa2ai stopped meanwhile', async () => {
    const { agents, log } = await anAgentThat(
      (signal) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    );
    await agents.send('helper', MESSAGE, 0);
    await agents.close();
    const error = { code: 'AGENT_UNAVAILABLE', message: expect.stringContaining('Send the message again') };
    expect(await agents.openExchanges('helper')).toMatchObject([{ messageId: 'm1', state: 'failed', error }]);
    expect(log.lines).toEqual([]);
  });
});
