import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import {
  type actionFor,
  untilSocketEnds,
} from '../../../../../router/src/providers/baileys/connection/connection.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

type Disconnect = Parameters<typeof actionFor>[0];

type ManagedSocket = Parameters<typeof untilSocketEnds>[0];

function setup({ isAborted = false } = {}) {
  const clock = new FakeClock();
  const abort = new AbortController();
  if (isAborted) abort.abort();
  const ev = new EventEmitter();
  const ws = new EventEmitter();
  let opens = 0;
  let breakOff: (disconnect: Disconnect) => void = () => undefined;
  const ended = untilSocketEnds({ ev, ws, end: () => undefined } as ManagedSocket, {
    signal: abort.signal,
    clock,
    isLinked: () => true,
    onOpen: () => {
      opens += 1;
    },
    onBreakable: (end) => {
      breakOff = end;
    },
  });
  const update = (fields: object) => ev.emit('connection.update', fields);
  const listeners = () =>
    [ev, ws].flatMap((emitter) => emitter.eventNames().map((name) => emitter.listenerCount(name)));
  return { clock, abort, ws, ended, update, listeners, opens: () => opens, break: () => breakOff };
}

const closedBy = (statusCode: number) => ({
  connection: 'close',
  lastDisconnect: { error: Object.assign(new Error('Stream Errored'), { output: { statusCode } }) },
});

describe('untilSocketEnds', () => {
  it('measures from the open connection, and leaves neither listener nor timer', async () => {
    const { clock, update, ended, listeners, opens } = setup();
    await clock.advanceMs(3_000);
    update({ connection: 'open' });
    await clock.advanceMs(7_000);
    update(closedBy(503));
    expect(await ended).toMatchObject({ disconnect: { code: 503 }, goodForMs: 7_000, isReached: true });
    await settle();
    expect([listeners(), clock.sleeping, opens()]).toEqual([[], 0, 1]);
  });

  it('measures from the first code of a pairing', async () => {
    const { clock, update, ended, opens } = setup();
    update({ qr: 'first' });
    await clock.advanceMs(60_000);
    update({ qr: 'second' });
    await clock.advanceMs(20_000);
    update(closedBy(408));
    expect(await ended).toMatchObject({ goodForMs: 80_000, isReached: true });
    expect(opens()).toBe(0);
  });

  it('ends with the status of a refused upgrade, and any other response', async () => {
    for (const [response, status] of [
      [{ statusCode: 503 }, '503'],
      [undefined, 'undefined'],
    ] as const) {
      const { ws, ended } = setup();
      ws.emit('unexpected-response', {}, response);
      const { disconnect, isReached } = await ended;
      expect(disconnect).toEqual({ code: undefined, reason: expect.any(String), isLinked: true });
      expect(disconnect.reason).toMatch(new RegExp(`HTTP status ${status}$`));
      expect(isReached).toBe(true);
    }
  });

  it('counts the opened WebSocket as a sign, and ends 25 s after the last sign', async () => {
    const { clock, ws, ended, listeners } = setup();
    await clock.advanceMs(20_000);
    ws.emit('open');
    await clock.advanceMs(24_999);
    expect(listeners()).not.toEqual([]);
    await clock.advanceMs(1);
    expect(await ended).toMatchObject({
      disconnect: { reason: 'WhatsApp did not answer while connecting' },
      isReached: false,
    });
  });

  it('ends at once when its signal is aborted, now or before', async () => {
    const later = setup();
    later.abort.abort();
    expect(await later.ended).toMatchObject({ disconnect: { reason: 'stopped' } });
    const { ended, listeners, clock } = setup({ isAborted: true });
    expect(await ended).toMatchObject({ disconnect: { reason: 'stopped' }, isReached: false });
    expect([listeners(), clock.sleeping]).toEqual([[], 0]);
  });

  it('can be ended from outside, and the first end counts', async () => {
    const socket = setup();
    socket.break()({ code: undefined, reason: 'no database', isLinked: true, isStorageTrouble: true });
    socket.break()({ code: 401, reason: 'late', isLinked: true });
    socket.update(closedBy(401));
    socket.abort.abort();
    expect((await socket.ended).disconnect).toMatchObject({ reason: 'no database', isStorageTrouble: true });
  });
});
