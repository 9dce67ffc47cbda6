import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EventBufferWatchdog } from '../../../../../router/src/providers/baileys/connection/event-buffer-watchdog.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

let flushes: number;
let broken: string[];
let oldestOpenMs: number;
let watch: EventBufferWatchdog;

beforeEach(() => {
  vi.useFakeTimers();
  flushes = 0;
  broken = [];
  oldestOpenMs = 0;
  watch = new EventBufferWatchdog({
    flush: () => {
      flushes += 1;
    },
    breakOff: (reason) => broken.push(reason),
    oldestOpenMs: () => oldestOpenMs,
    clock: { now: () => 0, monotonicMs: () => Date.now(), sleep: () => Promise.resolve() },
    log: recordingLog(),
  });
  watch.start();
});

afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

describe('a watched connection', () => {
  it('is left alone while Baileys tells what was decrypted', () => {
    watch.expect('a');
    vi.advanceTimersByTime(6_000);
    watch.told('a');
    vi.advanceTimersByTime(60_000);
    expect([flushes, broken]).toEqual([0, []]);
  });

  it('is made to let go of what Baileys holds back, once', () => {
    watch.expect('a');
    vi.advanceTimersByTime(12_000);
    expect(flushes).toBe(1);
    vi.advanceTimersByTime(60_000);
    expect(flushes).toBe(1);
  });

  it('is broken off when stanzas come in and none is decrypted', () => {
    oldestOpenMs = 61_000;
    vi.advanceTimersByTime(2_000);
    expect(broken).toHaveLength(1);
  });

  it('is not looked at any more once it is over', () => {
    watch.expect('a');
    watch.stop();
    vi.advanceTimersByTime(60_000);
    expect([flushes, broken]).toEqual([0, []]);
  });
});
