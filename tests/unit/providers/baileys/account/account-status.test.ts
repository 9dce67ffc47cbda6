import { describe, expect, it } from 'vitest';
import { type Said, say } from '../../../../../router/src/core/phrases.ts';
import type { AccountRecord } from '../../../../../router/src/core/ports/account-store.ts';
import type { AccountStatus } from '../../../../../router/src/core/ports/chat-provider.ts';
import { AccountStatusTracker } from '../../../../../router/src/providers/baileys/account/account-status.ts';
import { MemoryAccountStore } from '../../../../doubles/memory-account-store.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

/** Records what is saved; `fails` makes the database unavailable. */
class RecordingStore extends MemoryAccountStore {
  readonly saved: Array<Omit<AccountRecord, 'generation'>> = [];
  fails = false;

  override async save(accountId: string, record: Omit<AccountRecord, 'generation'>): Promise<void> {
    if (this.fails) throw new Error('no database');
    this.saved.push(record);
    await super.save(accountId, record);
  }
}

function setup(onChange?: (status: AccountStatus) => void) {
  const clock = new FakeClock();
  const store = new RecordingStore();
  const log = recordingLog();
  const problems: Said[] = [];
  const reported: AccountStatus[] = [];
  const tracker = new AccountStatusTracker({
    accountId: 'main',
    store,
    onChange: onChange ?? ((status) => void reported.push(status)),
    version: () => undefined,
    problems: () => problems,
    clock,
    log,
  });
  return { clock, store, log, problems, reported, tracker };
}

describe('the status', () => {
  it('has no field that is not known', () => {
    const { tracker, clock } = setup();
    expect(tracker.status()).toEqual({
      accountId: 'main',
      state: 'starting',
      nextAction: 'Nothing to do: wa2ai is starting.',
      sinceMs: clock.now(),
      isConnected: false,
    });
  });

  it('keeps the time of the last change of state', async () => {
    const { tracker, clock } = setup();
    await clock.advanceMs(1_000);
    tracker.set({ state: 'pairing', pairingBy: 'qr' });
    const sinceMs = clock.now();
    await clock.advanceMs(1_000);
    tracker.set({ state: 'pairing', pairingBy: 'qr', qr: 'code' });
    expect(tracker.status()).toMatchObject({ sinceMs, qr: 'code' });
    tracker.set({ state: 'connecting' });
    expect(tracker.status().sinceMs).toBe(clock.now());
  });

  it('loses the code and the reason of an earlier state', () => {
    const { tracker } = setup();
    tracker.set({ state: 'pairing', pairingBy: 'code', pairingCode: 'ABCDEFGH', expiresAtMs: 1 });
    tracker.set({ state: 'waiting', reason: 'no network', retryAtMs: 2 });
    tracker.set({ state: 'open', isConnected: true });
    for (const field of ['pairingCode', 'expiresAtMs', 'reason', 'retryAtMs']) {
      expect(tracker.status()).not.toHaveProperty(field);
    }
  });

  it('keeps the linked account until another one is known', () => {
    const { tracker } = setup();
    tracker.remember({ state: 'open', generation: 1, phone: '34600000001', pushName: 'Shop' });
    tracker.set({ state: 'connecting' });
    expect(tracker.status()).toMatchObject({ phone: '34600000001', name: 'Shop' });
    tracker.set({ state: 'open' }, { lid: '900000000000001' });
    expect(tracker.status()).toMatchObject({ lid: '900000000000001' });
    expect(tracker.status()).not.toHaveProperty('phone');
  });

  it('contains the present problems', () => {
    const { tracker, problems, reported } = setup();
    problems.push(say('account.keys-unreadable', { keys: '1 session' }), { sentence: 'A key is lost.' });
    tracker.report();
    expect(reported).toMatchObject([
      {
        state: 'starting',
        problems: [expect.stringContaining('(1 session)'), 'A key is lost.'],
        problemPhrases: [{ code: 'account.keys-unreadable', values: { keys: '1 session' } }, null],
      },
    ]);
    problems.length = 0;
    expect(tracker.status()).not.toHaveProperty('problems');
  });

  it('changes although its listener throws', () => {
    const { tracker, log } = setup(() => {
      throw new Error('broken listener');
    });
    tracker.set({ state: 'open' });
    expect(tracker.state).toBe('open');
    expect(log.lines).toMatchObject([{ level: 'error', message: 'status change not processed' }]);
  });
});

describe('waiting for a status', () => {
  const isOpen = ({ state }: AccountStatus) => state === 'open';

  it('ends at once for the present status', async () => {
    const { tracker, clock } = setup();
    tracker.set({ state: 'open' });
    expect(await tracker.until(isOpen, 1_000)).toMatchObject({ state: 'open' });
    expect(clock.sleeping).toBe(0);
  });

  it('ends with the first status that fits, and leaves no timer', async () => {
    const { tracker, clock } = setup();
    const open = tracker.until(isOpen, 1_000);
    tracker.set({ state: 'connecting' });
    await settle();
    expect(clock.sleeping).toBe(1);
    tracker.set({ state: 'open' });
    expect(await open).toMatchObject({ state: 'open' });
    expect(clock.sleeping).toBe(0);
  });

  it('ends with the present status after the limit', async () => {
    const { tracker, clock } = setup();
    const open = tracker.until(isOpen, 1_000);
    tracker.set({ state: 'connecting' });
    await clock.advanceMs(1_000);
    expect(await open).toMatchObject({ state: 'connecting' });
  });
});

describe('the stored state', () => {
  const fresh: AccountRecord = { state: 'starting', generation: 1 };

  it('keeps the linked account while the next process starts', async () => {
    const { tracker, store } = setup();
    tracker.set({ state: 'starting' });
    await tracker.saved();
    expect(store.saved).toEqual([]);
    tracker.remember({ state: 'open', generation: 1, phone: '34600000001', lid: '900000000000001' });
    await tracker.saved();
    expect(store.saved).toEqual([{ state: 'starting', phone: '34600000001', lid: '900000000000001' }]);
  });

  it('has the identity, and neither code nor time', async () => {
    const { tracker, store } = setup();
    tracker.remember(fresh);
    tracker.set({ state: 'pairing', pairingBy: 'qr', qr: 'code', expiresAtMs: 1 });
    tracker.set({ state: 'open', isConnected: true }, { phone: '34600000001', name: 'Shop' });
    await tracker.saved();
    expect(store.saved).toEqual([
      { state: 'starting' },
      { state: 'pairing' },
      { state: 'open', phone: '34600000001', pushName: 'Shop' },
    ]);
  });

  it('is written once for equal states, and never for connecting', async () => {
    const { tracker, store } = setup();
    tracker.set({ state: 'pairing' });
    tracker.remember(fresh);
    for (const qr of ['first', 'second', 'third']) tracker.set({ state: 'pairing', qr });
    tracker.set({ state: 'connecting' });
    tracker.set({ state: 'pairing' });
    await tracker.saved();
    expect(store.saved).toHaveLength(1);
  });

  it('is written again after a failure', async () => {
    const { tracker, store, log } = setup();
    tracker.set({ state: 'pairing' });
    tracker.remember(fresh);
    await tracker.saved();
    store.saved.length = 0;
    store.fails = true;
    tracker.set({ state: 'open' });
    await tracker.saved();
    expect(log.lines).toMatchObject([{ level: 'warn', message: 'account state not stored' }]);
    store.fails = false;
    tracker.set({ state: 'open' });
    await tracker.saved();
    expect(store.saved).toMatchObject([{ state: 'open' }]);
  });
});
