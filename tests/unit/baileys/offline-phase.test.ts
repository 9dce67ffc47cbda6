import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { OfflinePhase } from '../../../router/src/providers/baileys/offline-phase.ts';

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
  const timers = vi.spyOn(globalThis, 'setInterval');
  phase.runs();
  const look = timers.mock.calls[0]?.[0] as () => void;
  // Before the real timers are put back, which must be the last that is done to them.
  timers.mockRestore();
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
