import { expect, it } from 'vitest';
import { NodeBus } from '../../../../router/src/core/cluster/node-bus.ts';
import {
  PlaygroundChanges,
  playgroundChanged,
} from '../../../../router/src/providers/playground/playground-provider.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

function setup() {
  const clock = new FakeClock();
  const bus = new NodeBus('n1', () => ({ publish: () => undefined }));
  let value: string | undefined;
  let reads = 0;
  const read = async () => {
    reads += 1;
    return value;
  };
  return {
    ...{ clock, bus, read, changes: new PlaygroundChanges(bus, clock), reads: () => reads },
    become: (text: string) => {
      value = text;
    },
  };
}

it('reads again after a change of the chat, and not of another one', async () => {
  const { clock, bus, changes, read, reads, become } = setup();
  const found = changes.until('1', 60_000, read);
  await clock.untilSleeping();
  bus.broadcast(playgroundChanged({ chatId: '2' }));
  expect(reads()).toBe(1);
  become('new');
  bus.broadcast(playgroundChanged({ chatId: '1' }));
  expect(await found).toBe('new');
});

it('finds a change whose report was lost within a second', async () => {
  const { clock, changes, read, become } = setup();
  const found = changes.until('1', 60_000, read);
  await clock.untilSleeping();
  become('new');
  await clock.advanceMs(1_000);
  expect(await found).toBe('new');
});

it('ends after its time, and reads at least once', async () => {
  const { clock, changes, read, reads } = setup();
  expect(await changes.until('1', 0, read)).toBeUndefined();
  expect(reads()).toBe(1);
  const found = changes.until('1', 1_500, read);
  await clock.untilSleeping();
  await clock.advanceMs(3_000);
  expect(await found).toBeUndefined();
});
