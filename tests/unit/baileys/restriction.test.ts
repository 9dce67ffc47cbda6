import { beforeEach, expect, it } from 'vitest';
import { Restriction } from '../../../router/src/providers/baileys/restriction.ts';
import { FakeClock } from '../../support/fake-clock.ts';

let clock: FakeClock;
let stopping: AbortController;
let seen: Array<string | undefined>;
let restriction: Restriction;

beforeEach(() => {
  clock = new FakeClock();
  stopping = new AbortController();
  seen = [];
  restriction = new Restriction(clock, stopping.signal, () => seen.push(restriction.current()?.reason));
});

const limit = (reason: string, forMs: number) => ({ reason, untilMs: clock.now() + forMs });

it('is told at its beginning and at its end, which comes by itself', async () => {
  restriction.begin(limit('too many strangers', 10_000));
  await clock.advanceMs(9_999);
  expect(restriction.current()).toMatchObject({ reason: 'too many strangers' });
  await clock.advanceMs(1);
  expect(seen).toEqual(['too many strangers', undefined]);
});

it('lasts as long as the latest word says, not the one before', async () => {
  restriction.begin(limit('short', 1_000));
  restriction.begin(limit('long', 60_000));
  await clock.advanceMs(30_000);
  expect(restriction.current()?.reason).toBe('long');
  await clock.advanceMs(30_000);
  expect(seen).toEqual(['short', 'long', undefined]);
});

it('ends when WhatsApp says so, and then not once more', async () => {
  restriction.begin(limit('lifted', 10_000));
  restriction.end();
  restriction.end();
  await clock.advanceMs(60_000);
  expect(seen).toEqual(['lifted', undefined]);
});

it('is forgotten without a word', async () => {
  restriction.begin(limit('forgotten', 10_000));
  restriction.forget();
  await clock.advanceMs(60_000);
  expect([restriction.current(), seen]).toEqual([undefined, ['forgotten']]);
});

it('keeps no service from stopping', async () => {
  restriction.begin(limit('long', 3_600_000));
  stopping.abort();
  await clock.advanceMs(0);
  expect(clock.sleeping).toBe(0);
});
