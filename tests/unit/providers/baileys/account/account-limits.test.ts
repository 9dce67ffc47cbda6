import { describe, expect, it } from 'vitest';
import { AccountLimits } from '../../../../../router/src/providers/baileys/account/account-limits.ts';
import { MemoryAccountStore } from '../../../../doubles/memory-account-store.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

function setup(store?: MemoryAccountStore, clock = new FakeClock()) {
  const accounts = store ?? new MemoryAccountStore(() => clock.monotonicMs());
  let changes = 0;
  const limits = new AccountLimits({
    accountId: 'main',
    store: accounts,
    clock,
    log: recordingLog(),
    onChange: () => {
      changes += 1;
    },
  });
  return { limits, accounts, clock, changes: () => changes };
}

const contacts = { reason: 'too many strangers', forMs: 10_000 };
const ban = { reason: 'banned for a time', forMs: 20_000 };

describe('the limits of an account', () => {
  it('are applied separately, and stored for the next process', async () => {
    const { limits, accounts, changes } = setup();
    await limits.newContacts.begin(contacts);
    await limits.connection.begin(ban);
    expect(limits.newContacts.current()).toMatchObject({ reason: contacts.reason });
    expect(limits.connection.current()).toMatchObject({ reason: ban.reason });
    expect(await accounts.limits('main')).toEqual([
      { kind: 'connection', ...ban },
      { kind: 'new-contacts', ...contacts },
    ]);
    expect(changes()).toBe(2);
  });

  it('are restored with the time that is left', async () => {
    const first = setup();
    await first.limits.newContacts.begin(contacts);
    await first.limits.connection.begin(ban);
    await first.clock.advanceMs(4_000);
    const { limits } = setup(first.accounts, first.clock);
    limits.restore(await first.accounts.limits('main'));
    expect(limits.newContacts.current()).toEqual({ reason: contacts.reason, leftMs: 6_000 });
    expect(limits.connection.current()).toEqual({ reason: ban.reason, leftMs: 16_000 });
  });

  it('are forgotten together, also in the store', async () => {
    const { limits, accounts } = setup();
    await limits.newContacts.begin(contacts);
    await limits.connection.begin(ban);
    limits.forget();
    await limits.saved();
    expect([limits.newContacts.current(), limits.connection.current()]).toEqual([undefined, undefined]);
    expect(await accounts.limits('main')).toEqual([]);
  });

  it('report no end after they are stopped', async () => {
    const { limits, clock, changes } = setup();
    await limits.newContacts.begin(contacts);
    limits.stop();
    await clock.advanceMs(60_000);
    expect(changes()).toBe(1);
  });
});
