import { expect, it } from 'vitest';
import { KeyedLock } from '../../../../../router/src/providers/baileys/signal/keyed-lock.ts';
import { settle } from '../../../../support/fake-clock.ts';

function held(log: string[], name: string) {
  let letGo = () => {};
  const gone = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const work = async () => {
    log.push(`${name} starts`);
    await gone;
    log.push(`${name} ends`);
  };
  return { work, letGo: () => letGo() };
}

it('runs work that shares a name one after the other, and other work side by side', async () => {
  const lock = new KeyedLock();
  const log: string[] = [];
  const one = held(log, 'one');
  const two = held(log, 'two');
  const other = held(log, 'other');
  const all = [lock.run(['a', 'b'], one.work), lock.run(['b', 'c'], two.work), lock.run(['d'], other.work)];
  await settle();
  expect(log.toSorted()).toEqual(['one starts', 'other starts']);
  one.letGo();
  two.letGo();
  other.letGo();
  await Promise.all(all);
  expect(log.indexOf('two starts')).toBeGreaterThan(log.indexOf('one ends'));
});

it('never locks two calls out of each other, in whatever order they name things', async () => {
  const lock = new KeyedLock();
  let runs = 0;
  const work = async () => {
    runs += 1;
  };
  await Promise.all([lock.run(['a', 'b'], work), lock.run(['b', 'a'], work), lock.run(['a', 'a'], work)]);
  expect(runs).toBe(3);
});

it('goes on after work that failed, and tells its caller', async () => {
  const lock = new KeyedLock();
  const failed = lock.run(['a'], async () => {
    throw new Error('no');
  });
  const next = lock.run(['a'], async () => 'next');
  await expect(failed).rejects.toThrow('no');
  await expect(next).resolves.toBe('next');
});
