import { beforeEach, describe, expect, it } from 'vitest';
import type { AccountStatus } from '../../../../../router/src/core/ports/chat-provider.ts';
import { AccountStatusTracker } from '../../../../../router/src/providers/baileys/account/account-status.ts';
import { Pairing } from '../../../../../router/src/providers/baileys/account/pairing.ts';
import { MemoryAccountStore } from '../../../../doubles/memory-account-store.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

let clock: FakeClock;
let tracker: AccountStatusTracker;
let asked: string[];
let status: () => AccountStatus;

beforeEach(() => {
  clock = new FakeClock();
  asked = [];
  tracker = new AccountStatusTracker({
    accountId: 'main',
    store: new MemoryAccountStore(),
    onChange: () => undefined,
    problems: () => [],
    clock,
    log: recordingLog(),
  });
  status = () => tracker.status();
});

const socket = {
  requestPairingCode: async (phone: string) => {
    asked.push(phone);
    return `CODE${asked.length}`;
  },
};

describe('pairing by QR', () => {
  it('shows each code with its expiry: the first after a minute, later ones after 20 s', async () => {
    const offer = new Pairing(tracker, clock, { method: 'qr' }).offersOf(socket);
    await offer('first');
    expect(status()).toMatchObject({ state: 'pairing', qr: 'first', expiresAtMs: clock.now() + 60_000 });
    await offer('second');
    expect(status()).toMatchObject({ state: 'pairing', qr: 'second', expiresAtMs: clock.now() + 20_000 });
  });

  it('counts the codes of each socket separately', async () => {
    const pairing = new Pairing(tracker, clock, { method: 'qr' });
    await pairing.offersOf(socket)('first');
    await pairing.offersOf(socket)('first of the next');
    expect(status().expiresAtMs).toBe(clock.now() + 60_000);
  });
});

describe('pairing by code', () => {
  it('requests one code per connection, and shows no QR', async () => {
    const offer = new Pairing(tracker, clock, { method: 'code', phone: '34600000001' }).offersOf(socket);
    await offer('first');
    await offer('second');
    expect(asked).toEqual(['34600000001']);
    expect(status()).toMatchObject({ state: 'pairing', pairingCode: 'CODE1' });
    expect(status().qr).toBeUndefined();
  });
});

describe('waiting for a code', () => {
  it('ends when a code is shown', async () => {
    const pairing = new Pairing(tracker, clock, { method: 'qr' });
    pairing.show();
    const shown = pairing.untilCode();
    await pairing.offersOf(socket)('the code');
    expect(await shown).toMatchObject({ qr: 'the code' });
  });

  it('ends when no code will come, and after 20 s', async () => {
    const pairing = new Pairing(tracker, clock, { method: 'qr' });
    tracker.set({ state: 'waiting', reason: 'no network', retryAtMs: 1 });
    expect(await pairing.untilCode()).toMatchObject({ state: 'waiting' });
    pairing.show();
    const late = pairing.untilCode();
    await clock.untilSleeping();
    await clock.advanceMs(20_000);
    expect(await late).toMatchObject({ state: 'pairing' });
  });
});
