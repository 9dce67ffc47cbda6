import { EventEmitter } from 'node:events';
import type { Request, Response } from 'express';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { A2aCaller } from '../../../router/src/features/a2a/a2a-card.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A response whose reader takes nothing. */
class StuckResponse extends EventEmitter {
  locals = { caller: { kind: 'admin-key' }, requestId: 'r1' };
  writableNeedDrain = true;
  headersSent = true;
  writableEnded = false;
  closed = false;
  written: string[] = [];

  write(text: string): void {
    this.written.push(text);
  }

  destroy(): void {
    this.closed = true;
    this.emit('close');
  }
}

function setup() {
  const response = new StuckResponse();
  const socket = { remoteAddress: '192.0.2.1' };
  const request = { socket, get: () => undefined } as unknown as Request;
  return { response, caller: new A2aCaller(request, response as unknown as Response) };
}

describe('A2aCaller', () => {
  it('disconnects a reader that takes nothing for a minute', async () => {
    const { response, caller } = setup();
    const disconnected = caller.disconnected();
    const drained = caller.drained();
    await vi.advanceTimersByTimeAsync(59_000);
    expect(disconnected.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    await drained;
    expect([response.closed, disconnected.aborted]).toEqual([true, true]);
  });

  it('goes on as soon as the reader has taken what was written', async () => {
    const { response, caller } = setup();
    const drained = caller.drained();
    response.writableNeedDrain = false;
    response.emit('drain');
    await drained;
    await vi.advanceTimersByTimeAsync(120_000);
    expect(response.closed).toBe(false);
    await caller.drained();
  });

  it('keeps a quiet stream open, and writes nothing to a reader who is behind', async () => {
    const { response, caller } = setup();
    const stop = caller.keepAlive();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(response.written).toEqual([]);
    response.writableNeedDrain = false;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(response.written).toEqual([': keep-alive\n\n', ': keep-alive\n\n']);
    stop();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(response.written).toHaveLength(2);
  });
});
