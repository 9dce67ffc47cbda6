import { describe, expect, it } from 'vitest';
import type { AgentClient } from '../../router/src/core/agent-client.ts';
import { askAgent } from '../../router/src/core/ask-agent.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
} from '../../router/src/core/errors.ts';
import type { AgentResponse, IncomingMessage } from '../../router/src/core/models.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { recordingLog } from '../support/quiet-log.ts';

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
