import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { AgentTimeoutError, AgentUnavailableError } from '../../../../../router/src/core/errors.ts';
import {
  aClient,
  aMessage,
  anEvent,
  aSession,
  aToolCall,
  camelBody,
  errorOf,
  JumpingClock,
  mockAgentServer,
  never,
  sessionPath,
  untilNoMocks,
  url,
  watchSessions,
} from '../../../../support/adk-requests.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

/** HttpAgentClient when an answer is late, or the caller has stopped waiting. */

mockAgentServer();

describe('time limit', () => {
  it('throws the exact sentence and logs timeout: true', async () => {
    const clock = new FakeClock();
    const log = recordingLog();
    nock(url).post('/run').reply(never);
    const asked = errorOf(aClient({ clock, log, timeout: 1_234 }).sendMessage(url, aMessage()));
    await clock.untilSleeping();
    await clock.advanceMs(1_234);
    const error = await asked;
    expect(error).toBeInstanceOf(AgentTimeoutError);
    expect(error.message).toBe('Request to agent timed out after 1234ms');
    expect(log.lines.at(-1)).toMatchObject({ level: 'error', fields: { timeout: true } });
  });

  it('is 30 seconds by default', async () => {
    const clock = new FakeClock();
    nock(url).post('/run').reply(never);
    const asked = errorOf(aClient({ clock, timeout: undefined }).sendMessage(url, aMessage()));
    await clock.untilSleeping();
    await clock.advanceMs(29_999);
    expect(clock.sleeping).toBe(1);
    await clock.advanceMs(1);
    expect((await asked).message).toBe('Request to agent timed out after 30000ms');
  });

  it('makes the error retryable when the time ran out while the session was created', async () => {
    const clock = new FakeClock();
    nock(url).post('/run').reply(404, 'Session not found').post(sessionPath).reply(never);
    const asked = errorOf(aClient({ clock }).sendMessage(url, aMessage()));
    await untilNoMocks();
    await clock.advanceMs(30_000);
    expect(await asked).toBeInstanceOf(AgentUnavailableError);
  });

  it.each([
    ['runs out', () => never()],
    ['runs out behind a gateway', () => [504, 'gateway timeout'] as [number, string]],
  ])(
    'is uncertain at once in the spelling of the contract, which marks no message: it %s',
    async (_case, reply) => {
      const sessions = watchSessions();
      nock(url).post('/run').reply(reply);
      const error = await errorOf(aClient({ timeout: 50 }).sendMessage(url, aMessage()));
      expect(error).toBeInstanceOf(AgentTimeoutError);
      expect(sessions.asked).toEqual([]);
    },
  );

  it('returns an answer that the session shows later, and never repeats the request', async () => {
    const clock = new JumpingClock();
    nock(url).post('/run', camelBody).reply(never);
    const asked = aClient({ clock }, { dialect: 'camel' }).sendMessage(url, aMessage());
    await untilNoMocks();
    const done = [aToolCall(), anEvent('late but here', { author: 'front_desk' })];
    for (const events of [[], [], [aToolCall()], [aToolCall()], done, done]) {
      nock(url).get(sessionPath).reply(200, aSession(events));
    }
    await clock.endLimit();
    expect((await asked).response).toBe('late but here');
  });

  it('stays uncertain when the session shows no answer in time', async () => {
    const clock = new JumpingClock();
    nock(url).post('/run').reply(never);
    const client = aClient({ clock, lateAnswerMs: 1_000 }, { dialect: 'camel' });
    const asked = errorOf(client.sendMessage(url, aMessage()));
    await untilNoMocks();
    nock(url).get(sessionPath).times(3).reply(200, aSession([]));
    await clock.endLimit();
    expect(await asked).toMatchObject({
      disposition: 'uncertain',
      message: 'Request to agent timed out after 30000ms',
    });
  });

  it.each([
    ['asks again when the session never saw the message', 200, { events: [] }, AgentUnavailableError],
    ['stays uncertain when the session is not there', 404, { error: 'Session not found' }, AgentTimeoutError],
    ['stays uncertain when the session cannot be read', 200, { events: 'many' }, AgentTimeoutError],
  ])('%s', async (_case, status, session, expected) => {
    const clock = new FakeClock();
    nock(url).post('/run').reply(never);
    const asked = errorOf(aClient({ clock }, { dialect: 'camel' }).sendMessage(url, aMessage()));
    await clock.untilSleeping();
    nock(url).get(sessionPath).reply(status, session);
    await clock.advanceMs(30_000);
    expect(await asked).toBeInstanceOf(expected);
  });
});

describe('stopping', () => {
  it('ends the wait for a late answer with the reason of the signal', async () => {
    const stopping = new AbortController();
    const reason = new Error('stopping');
    nock(url)
      .post('/run')
      .reply(never)
      .get(sessionPath)
      .reply(() => {
        setImmediate(() => stopping.abort(reason));
        return [200, aSession([])];
      });
    const asked = aClient({ timeout: 20 }, { dialect: 'camel' }).sendMessage(url, aMessage(), {
      signal: stopping.signal,
    });
    expect(await errorOf(asked)).toBe(reason);
  });
});
