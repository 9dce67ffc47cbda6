import { beforeEach, expect, it } from 'vitest';
import { Restriction } from '../../../../../router/src/providers/baileys/account/account-problems.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

let clock: FakeClock;
let stopping: AbortController;
let seen: Array<string | undefined>;
let stored: string[];
let restriction: Restriction;

beforeEach(() => {
  clock = new FakeClock();
  stopping = new AbortController();
  seen = [];
  stored = [];
  restriction = new Restriction({
    accountId: 'main',
    kind: 'new-contacts',
    store: {
      beginLimit: async (_account, { reason }) => void stored.push(`begin ${reason}`),
      endLimit: async () => void stored.push('end'),
    },
    clock,
    log: recordingLog(),
    stopping: stopping.signal,
    onChange: () => seen.push(restriction.current()?.reason),
  });
});

const limit = (reason: string, forMs: number) => ({ reason, forMs });

it('is reported when it starts and when its time ends', async () => {
  void restriction.begin(limit('too many strangers', 10_000));
  await clock.advanceMs(9_999);
  expect(restriction.current()).toMatchObject({ reason: 'too many strangers' });
  await clock.advanceMs(1);
  expect(seen).toEqual(['too many strangers', undefined]);
});

it('lasts as long as the latest report says', async () => {
  void restriction.begin(limit('short', 1_000));
  void restriction.begin(limit('long', 60_000));
  await clock.advanceMs(30_000);
  expect(restriction.current()?.reason).toBe('long');
  await clock.advanceMs(30_000);
  expect(seen).toEqual(['short', 'long', undefined]);
});

it('ends once when WhatsApp ends it', async () => {
  void restriction.begin(limit('lifted', 10_000));
  restriction.end();
  restriction.end();
  await clock.advanceMs(60_000);
  expect(seen).toEqual(['lifted', undefined]);
});

it('is removed without a report', async () => {
  void restriction.begin(limit('forgotten', 10_000));
  restriction.forget();
  await clock.advanceMs(60_000);
  expect([restriction.current(), seen]).toEqual([undefined, ['forgotten']]);
});

it('does not keep the process alive', async () => {
  void restriction.begin(limit('long', 3_600_000));
  stopping.abort();
  await clock.advanceMs(0);
  expect(clock.sleeping).toBe(0);
});

it('of an earlier process applies until a newer one replaces it', async () => {
  restriction.restore([{ kind: 'new-contacts', reason: 'earlier', forMs: 5_000 }]);
  expect(restriction.current()).toEqual({ reason: 'earlier', leftMs: 5_000 });
  void restriction.begin(limit('newer', 10_000));
  restriction.restore([{ kind: 'new-contacts', reason: 'earlier', forMs: 5_000 }]);
  expect(restriction.current()?.reason).toBe('newer');
});
