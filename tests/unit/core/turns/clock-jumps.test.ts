import { describe, expect, it } from 'vitest';
import { AccountRegistry } from '../../../../router/src/core/cluster/account-registry.ts';
import { ClusterAccounts } from '../../../../router/src/core/cluster/cluster-view.ts';
import { AgentUnavailableError } from '../../../../router/src/core/errors.ts';
import { askAgent } from '../../../../router/src/core/turns/ask-agent.ts';
import { CircuitBreakers } from '../../../../router/src/core/turns/circuit-breaker.ts';
import { MemoryNodeHub } from '../../../doubles/memory-node-hub.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const HOUR_MS = 3_600_000;

describe.each([5 * HOUR_MS, -5 * HOUR_MS])('a clock that is set by %i ms', (jumpMs) => {
  it('neither opens nor keeps open a circuit', async () => {
    const clock = new FakeClock();
    let asks = 0;
    const ask = async () => {
      const outcome = await askAgent(
        {
          clock,
          log: recordingLog(),
          policy: { attempts: 1, maxWaitMs: 0, backoffMs: () => 0 },
          circuit: {
            breakers,
            endpoint: 'http://agent',
            settings: { failures: 1, openMs: 60_000 },
          },
          attemptsBefore: 0,
          countAttempt: async () => ({ stored: Promise.resolve() }),
          stopping: new AbortController().signal,
        },
        {
          sendMessage: async (_endpoint, _message, options) => {
            await options?.beforeRequest?.();
            asks += 1;
            clock.jumpMs(jumpMs);
            throw new AgentUnavailableError('away');
          },
        },
        'http://agent',
        { id: 'm', from: 'f', channelId: 'c', text: 't', timestamp: new Date(0) },
      );
      return outcome.agentMs;
    };
    const breakers = new CircuitBreakers();
    expect(await ask()).toBe(0);
    clock.jumpMs(jumpMs);
    await ask();
    await clock.advanceMs(59_999);
    await ask();
    expect(asks).toBe(1);
    await clock.advanceMs(1);
    await ask();
    expect(asks).toBe(2);
  });

  it('neither hides nor invents an unavailable database', async () => {
    const clock = new FakeClock();
    const accounts = new ClusterAccounts({
      registry: new AccountRegistry(),
      bus: new MemoryNodeHub().connect('n1'),
      cluster: { addAccount: async () => 'known' },
      newId: () => 'id',
      clock,
      storageTrouble: () => undefined,
      viewLifetimeMs: 10_000,
    });
    accounts.seen({
      nodes: [],
      accounts: [{ accountId: 'a', record: { state: 'open' }, changedAtMs: 0, availability: 'free' }],
    });
    clock.jumpMs(jumpMs);
    expect(accounts.get('a')?.state).toBe('starting');
    await clock.advanceMs(10_001);
    expect(accounts.get('a')).toMatchObject({ state: 'stopped', reason: expect.stringMatching(/database/) });
  });
});
