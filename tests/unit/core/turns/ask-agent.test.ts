import { describe, expect, it } from 'vitest';
import type { AgentClient } from '../../../../router/src/core/agent-client.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
} from '../../../../router/src/core/errors.ts';
import type { AgentResponse, IncomingMessage } from '../../../../router/src/core/models.ts';
import { askAgent } from '../../../../router/src/core/turns/ask-agent.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const message: IncomingMessage = {
  id: 'm1',
  from: '5493777239922@s.whatsapp.net',
  channelId: '5493777239922',
  text: 'hola',
  timestamp: new Date(0),
};

/** An agent that plays the given ends in order, one an ask. */
function agent(...ends: Array<AgentResponse | Error>): AgentClient & { asks: number } {
  return {
    asks: 0,
    async sendMessage() {
      const end = ends[this.asks++];
      if (!end) throw new Error('asked more often than expected');
      if (end instanceof Error) throw end;
      return end;
    },
  };
}

function deps(attempts = 3) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const waits: Array<number | undefined> = [];
  return {
    clock,
    stop,
    waits,
    log: recordingLog(),
    stopping: stop.signal,
    policy: {
      attempts,
      backoffMs: (_attempt: number, retryAfterMs: number | undefined) => {
        waits.push(retryAfterMs);
        return retryAfterMs ?? 1_000;
      },
    },
  };
}

describe('askAgent', () => {
  it('returns the answer of the first ask', async () => {
    const client = agent({ success: true, response: 'hello' });
    const outcome = await askAgent(deps(), client, 'http://agent', message);
    expect(outcome).toMatchObject({ kind: 'answer', attempts: 1, response: { response: 'hello' } });
  });

  it('asks again after the wait that the agent named', async () => {
    const d = deps();
    const client = agent(new AgentUnavailableError('busy', { retryAfterMs: 7_000 }), {
      success: true,
      response: 'ok',
    });
    const asked = askAgent(d, client, 'http://agent', message);
    await settle();
    await d.clock.advanceMs(6_999);
    expect(client.asks).toBe(1);
    await d.clock.advanceMs(1);
    expect(await asked).toMatchObject({ kind: 'answer', attempts: 2, agentMs: 7_000 });
  });

  it('gives up after the allowed asks with the last error', async () => {
    const d = deps(2);
    const client = agent(new AgentUnavailableError('first'), new AgentUnavailableError('second'));
    const asked = askAgent(d, client, 'http://agent', message);
    await settle();
    await d.clock.advanceMs(1_000);
    expect(await asked).toMatchObject({ kind: 'failed', attempts: 2, error: { message: 'second' } });
  });

  describe('with patience for an agent that is away', () => {
    const away = () => new AgentUnavailableError('away', { isAway: true });
    async function patient(...ends: Array<AgentResponse | Error>) {
      const d = deps(2);
      const client = agent(...ends);
      const patience = { ...d, policy: { ...d.policy, patienceMs: 60_000 } };
      const asked = askAgent(patience, client, 'http://agent', message);
      await settle();
      return { d, client, asked };
    }

    it('asks on although the asks are used up, and has the answer when it is back', async () => {
      const { d, client, asked } = await patient(...Array.from({ length: 30 }, away), {
        success: true,
        response: 'ok',
      });
      for (let second = 0; second < 30; second++) await d.clock.advanceMs(1_000);
      expect(client.asks).toBe(31);
      expect(await asked).toMatchObject({ kind: 'answer', attempts: 31, agentMs: 30_000 });
    });

    it('gives up when the patience is over, with the first ask and the last in the trace', async () => {
      const { d, client, asked } = await patient(...Array.from({ length: 100 }, away));
      for (let second = 0; second < 70; second++) await d.clock.advanceMs(1_000);
      const { attempts, asks } = await asked;
      expect(client.asks).toBe(61);
      expect(attempts).toBe(61);
      expect(asks).toHaveLength(30);
      expect(asks.map(({ attempt }) => attempt).slice(0, 2)).toEqual([1, 33]);
      expect(asks.at(-1)).toMatchObject({ attempt: 61, code: 'AGENT_UNAVAILABLE' });
    });

    it('has none for one that took the request and broke over it', async () => {
      const { d, client, asked } = await patient(
        away(),
        away(),
        new AgentUnavailableError('connection reset'),
      );
      for (let second = 0; second < 5; second++) await d.clock.advanceMs(1_000);
      expect(await asked).toMatchObject({ kind: 'failed', error: { message: 'connection reset' } });
      expect(client.asks).toBe(3);
    });
  });

  it.each([
    ['that no repeat helps', new AgentProtocolError('status 400')],
    ['that may have happened', new AgentTimeoutError('timed out')],
    ['nobody expected', new TypeError('boom')],
  ])('never asks again after an error %s', async (_name, error) => {
    const client = agent(error);
    const outcome = await askAgent(deps(), client, 'http://agent', message);
    expect(outcome).toMatchObject({ kind: 'failed', attempts: 1 });
    expect(client.asks).toBe(1);
  });

  it('ends with the stop of the service instead of an outcome, so that the turn stays open', async () => {
    const d = deps();
    const asked = askAgent(d, agent(new AgentUnavailableError('busy')), 'http://agent', message);
    await d.clock.untilSleeping();
    d.stop.abort(new Error('stopping'));
    await expect(asked).rejects.toThrow('stopping');
  });
});
