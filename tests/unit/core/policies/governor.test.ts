import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allowedPerDay,
  decideFirstContact,
  governorOf,
  lastGovernorOf,
} from '../../../../router/src/core/policies/governor.ts';
import { runs } from '../../../support/property-runs.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const settings = governorOf(undefined);
const NOON = Date.UTC(2026, 0, 15, 12);

describe('governorOf', () => {
  it('merges the settings of an account, those of all accounts and the built-in ones', () => {
    const quietHours = { from: '21:00', to: '08:00', timeZone: 'UTC' };
    const stored = {
      firstContacts: { perDay: 10 },
      quietHours,
      messages: { perSecond: 20 },
      typing: { maxMs: 3_000 },
      accounts: { shop: { firstContacts: { warmUpDays: 0 }, messages: { perSecond: 5 } } },
    };
    const builtIn = {
      firstContacts: { perDay: 200, warmUpDays: 14 },
      messages: { perSecond: 80, burst: 1_000 },
      typing: { charsPerSecond: 0, maxMs: 8_000 },
    };
    expect(governorOf(undefined)).toEqual(builtIn);
    const common = {
      firstContacts: { perDay: 10, warmUpDays: 14 },
      messages: { perSecond: 20, burst: 1_000 },
      typing: { charsPerSecond: 0, maxMs: 3_000 },
      quietHours,
    };
    expect(governorOf(stored)).toEqual(common);
    const shop = {
      firstContacts: { perDay: 10, warmUpDays: 0 },
      messages: { perSecond: 5, burst: 1_000 },
      typing: { charsPerSecond: 0, maxMs: 3_000 },
      quietHours,
    };
    expect(governorOf(stored, 'shop')).toEqual(shop);
    expect(governorOf({ firstContacts: 'damaged' })).toEqual(governorOf(undefined));
  });
});

describe('lastGovernorOf', () => {
  it('parses what is stored again when it changes', () => {
    const last = lastGovernorOf('shop');
    const stored = { messages: { perSecond: 5 } };
    const first = last(stored);
    expect(first).toEqual(governorOf(stored, 'shop'));
    expect(last(stored)).toBe(first);
    expect(last(undefined)).toEqual(governorOf(undefined));
    expect(last({ messages: { perSecond: 6 } }).messages.perSecond).toBe(6);
  });
});

describe('allowedPerDay', () => {
  it.each([
    [0, 100],
    [7 * DAY, 150],
    [14 * DAY, 200],
    [400 * DAY, 200],
    [-DAY, 100],
  ])('grows with the age of the account: %s ms', (ageMs, expected) => {
    expect(allowedPerDay(settings, ageMs)).toBe(expected);
  });
});

describe('decideFirstContact', () => {
  const contact = (earlierMs: number[]) => ({ accountAgeMs: 0, earlierMs });
  const times = (count: number, agoMs: number) => Array.from({ length: count }, () => agoMs);

  it.each([
    ['sends the first one', [], undefined],
    ['sends while the hour has room', times(49, 1_000), undefined],
    ['waits when the hour is full', times(50, 20 * 60_000), 40 * 60_000],
    ['waits when the day is full', times(100, 23 * HOUR), HOUR],
    ['counts a time in the future as now', times(50, -5_000), HOUR],
  ])('%s', (_, earlier, waitMs) => {
    const decision = decideFirstContact(contact(earlier), settings, NOON, 0);
    expect(decision.kind === 'wait' ? decision.forMs : undefined).toBe(waitMs);
  });

  it('has no limit with 0, and waits longer by the jitter', () => {
    const unlimited = { firstContacts: { perDay: 0, warmUpDays: 14 } };
    expect(decideFirstContact(contact(times(500, 0)), unlimited, NOON, 0)).toEqual({ kind: 'send' });
    expect(decideFirstContact(contact(times(50, 0)), settings, NOON, 1)).toMatchObject({ forMs: 1.2 * HOUR });
  });

  it.each([
    ['20:59', 0],
    ['21:00', 11],
    ['23:00', 9],
    ['07:59', 1 / 60],
    ['08:00', 0],
  ])('is quiet at %s for %s hours', (at, hours) => {
    const quiet = { ...settings, quietHours: { from: '22:00', to: '09:00', timeZone: 'Europe/Madrid' } };
    const nowMs = Date.parse(`2026-01-15T${at}:00Z`);
    const decision = decideFirstContact(contact([]), quiet, nowMs, 0);
    expect(decision).toMatchObject(
      hours === 0 ? { kind: 'send' } : { kind: 'wait', reason: 'quiet-hours', forMs: hours * HOUR },
    );
  });

  it('never sends more than the limits of any hour and of any 24 hours', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 2 * HOUR }), { maxLength: 200 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 30 }), (pauses, perDay) => {
        const limited = { firstContacts: { perDay, warmUpDays: 0 } };
        const sent: number[] = [];
        let nowMs = 0;
        for (const pause of pauses) {
          nowMs += pause;
          const earlierMs = sent.map((atMs) => nowMs - atMs).filter((ms) => ms < DAY);
          const decision = decideFirstContact({ accountAgeMs: DAY, earlierMs }, limited, NOON, 0);
          if (decision.kind === 'send') sent.push(nowMs);
          else expect(decision.forMs).toBeGreaterThan(0);
        }
        for (const atMs of sent) {
          const within = (ms: number) => sent.filter((other) => other >= atMs && other < atMs + ms).length;
          expect(within(DAY)).toBeLessThanOrEqual(perDay);
          expect(within(HOUR)).toBeLessThanOrEqual(Math.ceil(perDay / 2));
        }
      }),
      runs(200),
    );
  });
});
