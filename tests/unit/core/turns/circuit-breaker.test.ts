import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AgentUnavailableError } from '../../../../router/src/core/errors.ts';
import { askAgent, CircuitBreakers } from '../../../../router/src/core/turns/ask-agent.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const HOUR_MS = 3_600_000;
const settings = { failures: 3, openMs: 1_000 };
const agent = 'http://agent:8000';

/** Makes a request when allowed and records its outcome at once. */
function ask(breakers: CircuitBreakers, end: 'success' | 'failure', nowMs: number): boolean {
  if (!breakers.admit(agent, settings, nowMs)) return false;
  breakers.record(agent, settings, end, nowMs);
  return true;
}

describe('a circuit', () => {
  it('opens after so many failures in a row and lets nothing through until its time', () => {
    const opened: string[] = [];
    const breakers = new CircuitBreakers((endpoint) => opened.push(endpoint));
    for (let n = 0; n < 3; n++) expect(ask(breakers, 'failure', 0)).toBe(true);
    expect(opened).toEqual([agent]);
    expect(ask(breakers, 'success', 999)).toBe(false);
    expect(breakers.admit('http://other', settings, 999)).toBe(true);
  });

  it('stays closed while successes come between', () => {
    const breakers = new CircuitBreakers();
    for (let n = 0; n < 20; n++) expect(ask(breakers, n % 3 === 2 ? 'success' : 'failure', n)).toBe(true);
  });

  it('lets one probe through when its time is over; its success closes the circuit', () => {
    const breakers = new CircuitBreakers();
    for (let n = 0; n < 3; n++) ask(breakers, 'failure', 0);
    expect(breakers.admit(agent, settings, 1_000)).toBe(true);
    expect(breakers.admit(agent, settings, 1_001)).toBe(false);
    breakers.record(agent, settings, 'success', 1_200);
    expect(ask(breakers, 'failure', 1_201)).toBe(true);
    expect(ask(breakers, 'failure', 1_202)).toBe(true);
    expect(breakers.admit(agent, settings, 1_203)).toBe(true);
  });

  it('opens again at once when the probe fails', () => {
    const breakers = new CircuitBreakers();
    for (let n = 0; n < 3; n++) ask(breakers, 'failure', 0);
    expect(ask(breakers, 'failure', 1_500)).toBe(true);
    expect(ask(breakers, 'failure', 2_499)).toBe(false);
    expect(ask(breakers, 'failure', 2_500)).toBe(true);
  });

  it('lets another probe through when the last one never ended', () => {
    const breakers = new CircuitBreakers();
    for (let n = 0; n < 3; n++) ask(breakers, 'failure', 0);
    expect(breakers.admit(agent, settings, 1_000)).toBe(true);
    expect(breakers.admit(agent, settings, 1_999)).toBe(false);
    expect(breakers.admit(agent, settings, 2_000)).toBe(true);
  });

  it('remembers a bounded number of endpoints', () => {
    const breakers = new CircuitBreakers();
    const endpoints = Array.from({ length: 5_000 }, (_, n) => `http://agent-${n}`);
    const once = { failures: 1, openMs: 1 };
    for (const endpoint of endpoints) breakers.record(endpoint, once, 'failure', 0);
    const open = endpoints.filter((endpoint) => !breakers.admit(endpoint, once, 0));
    expect(open).toEqual(endpoints.slice(-1_000));
  });

  it('is never open for longer than openMs after the last failure, for any sequence', () => {
    const event = fc.record({
      afterMs: fc.integer({ min: 0, max: 2_000 }),
      end: fc.constantFrom('success' as const, 'failure' as const, 'lost' as const),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const breakers = new CircuitBreakers();
        let nowMs = 0;
        for (const { afterMs, end } of events) {
          nowMs += afterMs;
          const isAdmitted = breakers.admit(agent, settings, nowMs);
          if (isAdmitted && end !== 'lost') breakers.record(agent, settings, end, nowMs);
        }
        expect(breakers.admit(agent, settings, nowMs + settings.openMs)).toBe(true);
      }),
    );
  });
});

describe.each([5 * HOUR_MS, -5 * HOUR_MS])('a clock that is set by %i ms', (jumpMs) => {
  it('neither opens nor keeps open a circuit', async () => {
    const clock = new FakeClock();
    let asks = 0;
    const ask = async () => {
      const outcome = await askAgent(
        {
          clock,
          log: recordingLog(),
          policy: { tryForMs: 0, backoffMs: () => 0 },
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
            throw new AgentUnavailableError({ sentence: 'away' });
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
});
