import { describe, expect, it } from 'vitest';
import type { AgentClient } from '../../../../router/src/core/agent-client.ts';
import type { AgentExchange, ExchangeRecorder } from '../../../../router/src/core/agent-exchange.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  MediaError,
  StorageUnavailableError,
} from '../../../../router/src/core/errors.ts';
import type { AgentResponse, IncomingMessage } from '../../../../router/src/core/models.ts';
import type { CountOptions } from '../../../../router/src/core/ports/inbox.ts';
import { askAgent, CircuitBreakers, MAX_ANSWER_CHARS } from '../../../../router/src/core/turns/ask-agent.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const message: IncomingMessage = {
  id: 'm1',
  from: '5493777239922@s.whatsapp.net',
  channelId: '5493777239922',
  text: 'hola',
  timestamp: new Date(0),
};

/** An agent with these outcomes in order, one per request. */
function agent(...ends: Array<AgentResponse | Error>): AgentClient & { asks: number } {
  return {
    asks: 0,
    async sendMessage(_endpoint, _message, options) {
      await options?.beforeRequest?.();
      const end = ends[this.asks++];
      if (!end) throw new Error('asked more often than expected');
      if (end instanceof Error) throw end;
      return end;
    },
  };
}

function deps(tryForMs = 60_000) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const waits: Array<number | undefined> = [];
  const counted: number[] = [];
  const cleared: number[] = [];
  return {
    clock,
    stop,
    waits,
    counted,
    cleared,
    attemptsBefore: 0,
    countAttempt: async (attempt: number, { didNotRun }: CountOptions = {}) => {
      if (didNotRun) cleared.push(attempt);
      else counted.push(attempt);
      return { stored: Promise.resolve() };
    },
    log: recordingLog(),
    stopping: stop.signal,
    policy: {
      tryForMs,
      backoffMs: (_attempt: number, retryAfterMs: number | undefined) => {
        waits.push(retryAfterMs);
        return retryAfterMs ?? 1_000;
      },
    },
  };
}

describe('askAgent', () => {
  it('says in the log that a file was not loaded, and not that the agent failed', async () => {
    const { log, ...rest } = deps(0);
    const failing = agent(new MediaError('MEDIA_GONE', { sentence: 'It is gone.' }));
    await askAgent({ ...rest, log }, failing, 'http://a', message);
    expect(log.lines).toMatchObject([
      { message: 'file of the message not loaded', fields: { code: 'MEDIA_GONE' } },
    ]);
  });

  it('returns the answer of the first attempt', async () => {
    const client = agent({ success: true, response: 'hello' });
    const outcome = await askAgent(deps(), client, 'http://agent', message);
    expect(outcome).toMatchObject({ kind: 'answer', attempts: 1, response: { response: 'hello' } });
  });

  it('refuses an answer that would be hundreds of messages', async () => {
    const answerOf = async (chars: number) =>
      askAgent(deps(0), agent({ success: true, response: 'x'.repeat(chars) }), 'http://agent', message);
    expect(await answerOf(MAX_ANSWER_CHARS)).toMatchObject({ kind: 'answer' });
    expect(await answerOf(MAX_ANSWER_CHARS + 1)).toMatchObject({
      kind: 'failed',
      error: { code: 'AGENT_PROTOCOL', message: expect.stringContaining('1000001 characters') },
    });
  });

  it('repeats the request after the wait that the agent named', async () => {
    const d = deps();
    const client = agent(new AgentUnavailableError({ sentence: 'busy' }, { retryAfterMs: 7_000 }), {
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

  it('gives up after three attempts with the last error', async () => {
    const d = deps();
    const client = agent(
      ...['first', 'second', 'third'].map((sentence) => new AgentUnavailableError({ sentence })),
    );
    const asked = askAgent(d, client, 'http://agent', message);
    await settle();
    await d.clock.advanceMs(1_000);
    await d.clock.advanceMs(1_000);
    expect(await asked).toMatchObject({ kind: 'failed', attempts: 3, error: { message: 'third' } });
  });

  describe('with an agent that is not available', () => {
    const away = () => new AgentUnavailableError({ sentence: 'away' }, { isAway: true });
    async function patient(...ends: Array<AgentResponse | Error>) {
      const d = deps();
      const client = agent(...ends);
      const asked = askAgent(d, client, 'http://agent', message);
      await settle();
      return { d, client, asked };
    }

    it('tries longer, and returns the answer when the agent is available', async () => {
      const { d, client, asked } = await patient(...Array.from({ length: 30 }, away), {
        success: true,
        response: 'ok',
      });
      for (let second = 0; second < 30; second++) await d.clock.advanceMs(1_000);
      expect(client.asks).toBe(31);
      expect(await asked).toMatchObject({ kind: 'answer', attempts: 31, agentMs: 30_000 });
    });

    it('gives up when the time is over, with the first and the last attempt in the trace', async () => {
      const { d, client, asked } = await patient(...Array.from({ length: 100 }, away));
      for (let second = 0; second < 70; second++) await d.clock.advanceMs(1_000);
      const { attempts, trace } = await asked;
      expect(client.asks).toBe(61);
      expect(attempts).toBe(61);
      expect(trace).toHaveLength(30);
      expect(trace.map(({ attempt }) => attempt).slice(0, 2)).toEqual([1, 33]);
      expect(trace.at(-1)).toMatchObject({ attempt: 61, code: 'AGENT_UNAVAILABLE' });
    });

    it('does not apply to an agent that failed after it received the request', async () => {
      const { d, client, asked } = await patient(
        away(),
        away(),
        new AgentUnavailableError({ sentence: 'connection reset' }),
      );
      for (let second = 0; second < 5; second++) await d.clock.advanceMs(1_000);
      expect(await asked).toMatchObject({ kind: 'failed', error: { message: 'connection reset' } });
      expect(client.asks).toBe(3);
    });
  });

  it.each([
    ['that no repeat helps', new AgentProtocolError({ sentence: 'status 400' })],
    ['that may have happened', new AgentTimeoutError({ sentence: 'timed out' })],
    ['nobody expected', new TypeError('boom')],
  ])('never repeats a request after an error %s', async (_name, error) => {
    const client = agent(error);
    const outcome = await askAgent(deps(), client, 'http://agent', message);
    expect(outcome).toMatchObject({ kind: 'failed', attempts: 1 });
    expect(client.asks).toBe(1);
  });

  describe('with an agent that repeatedly responds with Retry-After', () => {
    const busy = () =>
      new AgentUnavailableError({ sentence: 'status 503' }, { retryAfterMs: 50_000, isAway: true });

    it('waits at most tryForMs in total, and reports it', async () => {
      const d = deps(120_000);
      const client = agent(...Array.from({ length: 50 }, busy));
      const asked = askAgent(d, client, 'http://agent', message);
      await settle();
      for (let second = 0; second < 300; second++) await d.clock.advanceMs(1_000);
      const outcome = await asked;
      expect(outcome.trace.map(({ waitMs }) => waitMs)).toEqual([50_000, 50_000, 20_000, undefined]);
      expect(outcome).toMatchObject({
        kind: 'failed',
        agentMs: 120_000,
        error: {
          code: 'AGENT_UNAVAILABLE',
          message:
            'status 503 The agent asked for more time (Retry-After) after 120 s of waiting, the limit of tryForMs.',
        },
      });
    });

    it('returns the answer that comes after the last wait', async () => {
      const d = deps();
      const client = agent(busy(), busy(), { success: true, response: 'ok' });
      const asked = askAgent(d, client, 'http://agent', message);
      await settle();
      for (let second = 0; second < 60; second++) await d.clock.advanceMs(1_000);
      expect(await asked).toMatchObject({ kind: 'answer', attempts: 3 });
    });
  });

  describe('the number of attempts', () => {
    it('is stored before each request is sent, and continues from those of an earlier process', async () => {
      const d = deps();
      d.counted.push(1, 2);
      const seen: number[] = [];
      const client: AgentClient = {
        async sendMessage(_endpoint, _message, options) {
          await options?.beforeRequest?.();
          seen.push(d.counted.length);
          if (seen.length === 1) throw new AgentUnavailableError({ sentence: 'busy' });
          return { success: true, response: 'ok' };
        },
      };
      const asked = askAgent({ ...d, attemptsBefore: 2 }, client, 'http://agent', message);
      await settle();
      await d.clock.advanceMs(1_000);
      expect(await asked).toMatchObject({
        kind: 'answer',
        attempts: 4,
        trace: [{ attempt: 3 }, { attempt: 4 }],
      });
      expect(seen).toEqual([3, 4]);
    });

    it('is not exceeded by a request when it cannot be stored', async () => {
      const client = agent({ success: true, response: 'ok' });
      const countAttempt = () =>
        Promise.reject(new StorageUnavailableError({ sentence: 'The database is away.' }));
      const asked = askAgent({ ...deps(), countAttempt }, client, 'http://agent', message);
      await expect(asked).rejects.toThrow(StorageUnavailableError);
      expect(client.asks).toBe(0);
    });

    it('is stored while the agent answers, and again until it is stored when that failed', async () => {
      const d = deps();
      const counted: number[] = [];
      const failures = [
        new StorageUnavailableError({ sentence: 'closed' }),
        new StorageUnavailableError({ sentence: 'closed' }),
      ];
      const countAttempt = async (attempt: number) => {
        counted.push(attempt);
        const failure = failures.shift();
        return { stored: failure ? Promise.reject(failure) : Promise.resolve() };
      };
      const client = agent({ success: true, response: 'kept' });
      const asked = askAgent({ ...d, countAttempt }, client, 'http://agent', message);
      await settle();
      expect(client.asks).toBe(1);
      await d.clock.advanceMs(500);
      await d.clock.advanceMs(1_000);
      expect(await asked).toMatchObject({ kind: 'answer', attempts: 1, response: { response: 'kept' } });
      expect(counted).toEqual([1, 1, 1]);
      expect(client.asks).toBe(1);
    });

    it('is stored before the turn goes on', async () => {
      let store!: () => void;
      const stored = new Promise<void>((resolve) => {
        store = resolve;
      });
      let isOver = false;
      const client = agent({ success: true, response: 'ok' });
      const asked = askAgent(
        { ...deps(), countAttempt: async () => ({ stored }) },
        client,
        'http://agent',
        message,
      );
      void asked.then(() => {
        isOver = true;
      });
      await settle();
      expect([client.asks, isOver]).toEqual([1, false]);
      store();
      expect(await asked).toMatchObject({ kind: 'answer', attempts: 1 });
    });

    it('is that of earlier turns when an open circuit allows no attempt', async () => {
      const d = { ...deps(), attemptsBefore: 5 };
      const breakers = new CircuitBreakers();
      const settings = { failures: 1, openMs: 60_000 };
      breakers.record('http://agent', settings, 'failure', d.clock.monotonicMs());
      const circuit = { breakers, endpoint: 'http://agent', settings };
      expect(await askAgent({ ...d, circuit }, agent(), 'http://agent', message)).toMatchObject({
        kind: 'failed',
        attempts: 5,
        error: { code: 'AGENT_CIRCUIT_OPEN' },
      });
    });
  });

  it('makes another attempt after an uncertain error when the route says retry, and informs the client', async () => {
    const d = deps();
    const options: unknown[] = [];
    const client: AgentClient = {
      async sendMessage(_endpoint, _message, given) {
        await given?.beforeRequest?.();
        options.push(given);
        if (options.length === 1) throw new AgentTimeoutError({ sentence: 'timed out' });
        return { success: true, response: 'ok' };
      },
    };
    const policy = { ...d.policy, uncertain: 'retry' as const };
    const asked = askAgent({ ...d, policy }, client, 'http://agent', message);
    await settle();
    await d.clock.advanceMs(1_000);
    expect(await asked).toMatchObject({ kind: 'answer', attempts: 2 });
    expect(options).toMatchObject([{ uncertain: 'retry' }, { uncertain: 'retry' }]);
  });

  describe('on a route that forbids another attempt after a run that may have happened', () => {
    /** Each attempt ends with one of these errors, then with an answer; what the client was given in each. */
    async function uncertainOf(mayHaveRun: boolean, ...errors: Error[]) {
      const d = deps();
      const given: unknown[] = [];
      const client: AgentClient = {
        async sendMessage(_endpoint, _message, options) {
          given.push(options?.uncertain);
          await options?.beforeRequest?.();
          const error = errors.shift();
          if (error) throw error;
          return { success: true, response: 'ok' };
        },
      };
      const policy = { ...d.policy, uncertain: 'dead-letter' as const };
      const asked = askAgent({ ...d, policy, mayHaveRun }, client, 'http://agent', message);
      for (let second = 0; second < 3; second++) {
        await settle();
        await d.clock.advanceMs(1_000);
      }
      await asked;
      return { given, cleared: d.cleared };
    }
    const refused = () => new AgentUnavailableError({ sentence: 'status 503' }, { isAway: true });
    const lost = () => new AgentUnavailableError({ sentence: 'connection lost' }, { mayHaveRun: true });

    it('forbids the first attempt only when an earlier turn left one that may have run', async () => {
      expect((await uncertainOf(true)).given).toEqual(['dead-letter']);
      expect((await uncertainOf(false)).given).toEqual(['retry']);
    });

    it('stores that a refused attempt did not run, before it waits for the next', async () => {
      expect(await uncertainOf(false, refused(), refused())).toEqual({
        given: ['retry', 'retry', 'retry'],
        cleared: [1, 2],
      });
    });

    it('forbids the attempts after one that may have run', async () => {
      expect(await uncertainOf(false, refused(), lost())).toEqual({
        given: ['retry', 'retry', 'dead-letter'],
        cleared: [1],
      });
    });

    it('sends nothing before the attempt is stored', async () => {
      const d = deps();
      const notes: Array<CountOptions | undefined> = [];
      const countAttempt = async (_attempt: number, note?: CountOptions) => {
        notes.push(note);
        return { stored: Promise.reject(new StorageUnavailableError({ sentence: 'closed' })) };
      };
      const client = agent({ success: true, response: 'ok' });
      const policy = { ...d.policy, uncertain: 'dead-letter' as const };
      const asked = askAgent({ ...d, countAttempt, policy }, client, 'http://agent', message);
      await expect(asked).rejects.toThrow(StorageUnavailableError);
      expect(client.asks).toBe(0);
      expect(notes).toEqual([{ isDurable: true }]);
    });
  });

  it('counts no attempt and leaves the circuit alone when the client needs no request', async () => {
    const d = { ...deps(), attemptsBefore: 2 };
    const breakers = new CircuitBreakers();
    const settings = { failures: 1, openMs: 60_000 };
    const circuit = { breakers, endpoint: 'http://agent', settings };
    const client = (end: () => Promise<AgentResponse>): AgentClient => ({ sendMessage: end });
    const help = client(async () => ({ success: true, response: 'The functions are ...' }));
    expect(await askAgent({ ...d, circuit }, help, 'http://agent', message)).toMatchObject({
      kind: 'answer',
      attempts: 2,
    });
    const running = client(() =>
      Promise.reject(new AgentTimeoutError({ sentence: 'An earlier run has not ended.' })),
    );
    const failed = await askAgent({ ...d, circuit }, running, 'http://agent', message);
    expect(failed).toMatchObject({ kind: 'failed', attempts: 2, trace: [{ code: 'AGENT_TIMEOUT' }] });
    expect(failed.trace[0]).not.toHaveProperty('attempt');
    expect(d.counted).toEqual([]);
    expect(breakers.admit('http://agent', settings, 0)).toBe(true);
  });

  it('ends without an outcome when the service stops, so that the turn stays open', async () => {
    const d = deps();
    const asked = askAgent(
      d,
      agent(new AgentUnavailableError({ sentence: 'busy' })),
      'http://agent',
      message,
    );
    await d.clock.untilSleeping();
    d.stop.abort(new Error('stopping'));
    await expect(asked).rejects.toThrow('stopping');
  });
});

describe('askAgent with a recorder', () => {
  it('hands on the exchanges of each attempt with its number', async () => {
    const exchange = { at: '', request: { method: 'POST', url: 'http://agent', headers: {} } };
    const recorder: ExchangeRecorder = {
      during: async (onExchange, work) => {
        try {
          return await work();
        } finally {
          onExchange(exchange);
        }
      },
    };
    const exchanges: AgentExchange[] = [];
    const given = { ...deps(), recorder, onExchange: (each: AgentExchange) => exchanges.push(each) };
    const asked = askAgent(
      given,
      agent(new AgentUnavailableError({ sentence: 'busy' }), { success: true, response: 'hi' }),
      'http://agent',
      message,
    );
    await settle();
    await given.clock.advanceMs(1_000);
    expect((await asked).kind).toBe('answer');
    expect(exchanges).toEqual([
      { attempt: 1, ...exchange },
      { attempt: 2, ...exchange },
    ]);
  });
});
