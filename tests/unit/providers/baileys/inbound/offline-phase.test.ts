import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { OfflinePhase } from '../../../../../router/src/providers/baileys/inbound/offline-phase.ts';

let ends: number;
let phase: OfflinePhase;

beforeEach(() => {
  vi.useFakeTimers();
  ends = 0;
  phase = new OfflinePhase(() => {
    ends += 1;
  });
});
afterEach(() => {
  vi.useRealTimers();
});

it('is over when WhatsApp says so, once, whatever comes later', () => {
  phase.runs();
  phase.over();
  phase.runs();
  phase.over();
  vi.advanceTimersByTime(3_600_000);
  expect(ends).toBe(1);
});

it('is over when WhatsApp says nothing and nothing of it came for a while', () => {
  phase.runs();
  vi.advanceTimersByTime(19_000);
  phase.runs();
  vi.advanceTimersByTime(19_999);
  expect(ends).toBe(0);
  vi.advanceTimersByTime(1);
  expect(ends).toBe(1);
});

it('outlasts a process that was stopped for long: what came meanwhile is read first', () => {
  let look: () => void = () => undefined;
  // No spy: it would be taken off after the real timers are back, and leave the mocked one in their place.
  const { setInterval } = globalThis;
  Object.assign(globalThis, {
    setInterval: (work: () => void, everyMs: number) => {
      look = work;
      return setInterval(work, everyMs);
    },
  });
  phase.runs();
  Object.assign(globalThis, { setInterval });
  // After a stop an interval runs once, however many times it missed.
  look();
  phase.runs();
  vi.advanceTimersByTime(19_999);
  expect(ends).toBe(0);
});

it('lasts for as long as there is no connection', () => {
  vi.advanceTimersByTime(3_600_000);
  phase.runs();
  phase.connectionClosed();
  vi.advanceTimersByTime(3_600_000);
  expect(ends).toBe(0);
});

it('comes with each connection', () => {
  phase.over();
  phase.connectionClosed();
  phase.runs();
  phase.over();
  expect(ends).toBe(2);
});
