import { expect, it } from 'vitest';
import { MessageWatch } from '../../../../router/src/core/messages/message-watch.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { quietLog } from '../../../support/quiet-log.ts';

function setup() {
  const clock = new FakeClock();
  const log = { newest: '1' as string | undefined, reads: 0, failure: undefined as Error | undefined };
  const messageLog = {
    newestId: async () => {
      log.reads += 1;
      if (log.failure) throw log.failure;
      return log.newest;
    },
  };
  return { clock, log, watch: new MessageWatch({ messageLog, clock, log: quietLog }) };
}

it('wakes everybody who waits with one read a second, and reads nothing when nobody does', async () => {
  const { clock, log, watch } = setup();
  const { signal } = new AbortController();
  let woken = 0;
  const waits = ['1', '1', '0'].map((since) => watch.changed(since, signal).then(() => (woken += 1)));
  await clock.advanceMs(1_000);
  expect({ woken, reads: log.reads }).toEqual({ woken: 1, reads: 1 });
  log.newest = '2';
  await clock.advanceMs(1_000);
  await Promise.all(waits);
  expect(log.reads).toBe(2);
  await clock.advanceMs(60_000);
  expect(log.reads).toBe(2);
  expect(clock.sleeping).toBe(0);
});

it('starts again for the next one who waits', async () => {
  const { clock, log, watch } = setup();
  const aborted = new AbortController();
  const first = watch.changed('1', aborted.signal);
  aborted.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  await expect(watch.changed('1', aborted.signal)).rejects.toThrow('gone');
  const second = watch.changed('1', new AbortController().signal);
  log.newest = '2';
  await clock.advanceMs(1_000);
  await second;
});

it('continues when the database does not answer', async () => {
  const { clock, log, watch } = setup();
  const waiting = watch.changed('1', new AbortController().signal);
  log.failure = new Error('away');
  await clock.advanceMs(3_000);
  log.failure = undefined;
  log.newest = undefined;
  await clock.advanceMs(1_000);
  await waiting;
  expect(log.reads).toBe(4);
});
