import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EventBufferWatchdog } from '../../../../../router/src/providers/baileys/connection/event-buffer-watchdog.ts';
import {
  type Undecryptable,
  UndecryptableWatch,
} from '../../../../../router/src/providers/baileys/inbound/undecryptable.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a message that cannot be decrypted', () => {
  let givenUp: string[];
  let watch: UndecryptableWatch;
  const message = (key: string): Undecryptable => ({ key, attrs: { id: key, from: 'x' }, order: 1n });

  beforeEach(() => {
    givenUp = [];
    watch = new UndecryptableWatch(({ key }) => givenUp.push(key), recordingLog());
  });

  it('is given up after a minute, once', async () => {
    watch.failed(message('A'));
    await vi.advanceTimersByTimeAsync(59_999);
    expect(givenUp).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(givenUp).toEqual(['A']);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(givenUp).toEqual(['A']);
  });

  it('is given up when its last retry failed', () => {
    for (let attempt = 0; attempt < 4; attempt++) watch.failed(message('A'));
    expect(givenUp).toEqual([]);
    watch.failed(message('A'));
    expect(givenUp).toEqual(['A']);
  });

  it('is not given up when it was read after all', async () => {
    watch.failed(message('A'));
    watch.resolved('A');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(givenUp).toEqual([]);
  });

  it('among very many is given up sooner, so that memory stays bounded', () => {
    for (let number = 0; number < 1_005; number++) watch.failed(message(`M${number}`));
    expect(givenUp).toEqual(['M0', 'M1', 'M2', 'M3', 'M4']);
  });

  it('is given up at the end', () => {
    watch.failed(message('A'));
    watch.finish();
    expect(givenUp).toEqual(['A']);
  });
});

describe('events that Baileys holds back', () => {
  let nowMs: number;
  let flushes: number;
  let broken: string[];
  let oldestOpenMs: number;
  let watch: EventBufferWatchdog;

  beforeEach(() => {
    nowMs = 1_000_000;
    flushes = 0;
    broken = [];
    oldestOpenMs = 0;
    watch = new EventBufferWatchdog({
      flush: () => {
        flushes += 1;
      },
      breakOff: (reason) => broken.push(reason),
      oldestOpenMs: () => oldestOpenMs,
      clock: { now: () => nowMs, monotonicMs: () => nowMs, sleep: () => Promise.resolve() },
      log: recordingLog(),
    });
    watch.start();
  });
  afterEach(() => watch.stop());

  const pass = async (ms: number) => {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(2_000);
  };

  it('are let go when a message stays untold', async () => {
    watch.expect('A');
    await pass(7_000);
    expect(flushes).toBe(0);
    await pass(2_000);
    expect(flushes).toBe(1);
  });

  it('are let go once, though the message is never told', async () => {
    watch.expect('A');
    await pass(10_000);
    await pass(60_000);
    expect(flushes).toBe(1);
  });

  it('are no concern while messages are told', async () => {
    watch.expect('A');
    watch.told('A');
    await pass(60_000);
    expect(flushes).toBe(0);
  });

  it('are not waited for when nothing is decrypted any more: the connection is broken off', async () => {
    oldestOpenMs = 60_001;
    await pass(0);
    expect(broken).toHaveLength(1);
  });
});
