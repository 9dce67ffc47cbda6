import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { openAuthState } from '../../../../../router/src/providers/baileys/signal/auth-state.ts';
import { MemoryKeyStore } from '../../../../doubles/memory-key-store.ts';

const open = () =>
  openAuthState({
    store: new MemoryKeyStore(),
    scope: { accountId: 'main', generation: 1 },
    clock: systemClock,
    onStorageFailed: () => undefined,
    onKeyUnreadable: () => undefined,
  });

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('SignalSteps', () => {
  it('runs one step at a time, in the order of calls', async () => {
    const { steps } = await open();
    const order: string[] = [];
    const step = (name: string) =>
      steps.step(async () => {
        order.push(`${name} begins`);
        await turn();
        order.push(`${name} ends`);
      });
    await Promise.all([step('one'), step('two')]);
    expect(order).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
  });

  it('continues after a failed step', async () => {
    const { steps } = await open();
    const failed = steps.step(async () => {
      throw new Error('no session');
    });
    const next = steps.step(async () => 'done');
    await expect(failed).rejects.toThrow('no session');
    expect(await next).toBe('done');
  });

  it('shows the writes of a step to the step itself, and to others only after it succeeded', async () => {
    const { steps, keys } = await open();
    await keys.set({ 'lid-mapping': { a: '1', b: '1' } });
    await steps.step(async () => {
      await steps.keys.set({ 'lid-mapping': { a: '2', b: null } });
      expect(await steps.keys.get('lid-mapping', ['a', 'b'])).toEqual({ a: '2' });
      expect(await keys.get('lid-mapping', ['a', 'b'])).toEqual({ a: '1', b: '1' });
    });
    expect(await keys.get('lid-mapping', ['a', 'b'])).toEqual({ a: '2' });
  });

  it('gives a number only to a step with writes', async () => {
    const { steps, commits } = await open();
    const write = () => steps.run(async (unit) => unit.set({ 'lid-mapping': { a: '1' } }));
    expect((await write()).unit).toBe(1);
    expect((await steps.run(async () => undefined)).unit).toBe(0);
    expect((await write()).unit).toBe(2);
    expect(commits.appended).toBe(2);
  });

  it('discards the writes of a failed part of a step, and keeps the others', async () => {
    const { steps, keys } = await open();
    await steps.run(async (unit) => {
      unit.set({ 'lid-mapping': { a: '1' } });
      const mark = unit.savepoint();
      unit.set({ 'lid-mapping': { a: '2', b: '2' } });
      unit.rollbackTo(mark);
    });
    expect(await keys.get('lid-mapping', ['a', 'b'])).toEqual({ a: '1' });
  });

  it('refuses writes outside a step', async () => {
    const { steps } = await open();
    await expect(steps.keys.set({ 'lid-mapping': { a: '1' } })).rejects.toThrow(/outside a step/);
  });

  it('reports when all earlier steps have ended', async () => {
    const { steps } = await open();
    let isDone = false;
    void steps.step(async () => {
      await turn();
      isDone = true;
    });
    await steps.settled();
    expect(isDone).toBe(true);
  });
});
