import { describe, expect, it } from 'vitest';
import { AccountLimits } from '../../../../../router/src/providers/baileys/account/account-problems.ts';
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

  it('on strangers are one, the last to end; that of connections is apart', async () => {
    const { limits, clock } = setup();
    await limits.connection.begin(ban);
    expect(limits.current()).toBeUndefined();
    await limits.newChats.begin({ reason: 'too many chats', forMs: 5_000 });
    await limits.newContacts.begin(contacts);
    await limits.rate.begin({ reason: 'too fast', forMs: 1_000 });
    expect(limits.current()).toEqual({ reason: contacts.reason, leftMs: 10_000 });
    expect(limits.list().map(({ kind }) => kind)).toEqual([
      'new-contacts',
      'new-chats',
      'rate',
      'connection',
    ]);
    limits.newContacts.end();
    expect(limits.current()).toEqual({ reason: 'too many chats', leftMs: 5_000 });
    await clock.advanceMs(5_000);
    expect(limits.current()).toBeUndefined();
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
