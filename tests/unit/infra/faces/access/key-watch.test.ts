import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../../../router/src/core/access/caller.ts';
import { NodeBus } from '../../../../../router/src/core/cluster/node-bus.ts';
import { KeyWatch } from '../../../../../router/src/infra/faces/access/key-watch.ts';
import { MemoryApiKeyStore } from '../../../../doubles/memory-api-key-store.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

async function setup() {
  const clock = new FakeClock();
  const keys = new MemoryApiKeyStore(() => clock.now());
  const bus = new NodeBus('n1', () => ({ publish: () => undefined }));
  const watch = new KeyWatch({ keys, bus, clock, log: quietLog });
  const callerOf = async (id: string, expiresAt?: Date): Promise<Caller> => {
    const limits = { perMinute: 1, perSecond: 1 };
    const given = { id, name: id, scopes: ['a2a' as const], limits, secretHash: new Uint8Array() };
    return { kind: 'key', key: await keys.create({ ...given, ...(expiresAt && { expiresAt }) }) };
  };
  return { clock, keys, bus, watch, callerOf };
}

describe('KeyWatch', () => {
  it('ends the calls of a key that is revoked, and no others', async () => {
    const { keys, bus, watch, callerOf } = await setup();
    const [first, second] = [await callerOf('a'), await callerOf('b')];
    const [one, two, other] = [watch.watch(first), watch.watch(first), watch.watch(second)];
    const admin = watch.watch({ kind: 'admin-key' });
    await keys.delete('a');
    bus.broadcast({ kind: 'keys-changed' });
    await settle();
    expect([one, two, other, admin].map(({ refused }) => refused.aborted)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('finds a key that has expired, and one whose notification was lost', async () => {
    const { clock, keys, watch, callerOf } = await setup();
    const expiring = watch.watch(await callerOf('a', new Date(clock.now() + 60_000)));
    const revoked = watch.watch(await callerOf('b'));
    await keys.delete('b');
    await clock.advanceMs(5_000);
    expect([expiring.refused.aborted, revoked.refused.aborted]).toEqual([false, true]);
    await clock.advanceMs(60_000);
    expect(expiring.refused.aborted).toBe(true);
  });

  it('checks nothing after the last call has ended', async () => {
    const { clock, watch, callerOf } = await setup();
    const caller = await callerOf('a');
    const [one, two] = [watch.watch(caller), watch.watch(caller)];
    one.close();
    expect(clock.sleeping).toBe(1);
    two.close();
    await settle();
    expect(clock.sleeping).toBe(0);
    watch.watch(caller).close();
    await settle();
    expect(clock.sleeping).toBe(0);
  });
});
