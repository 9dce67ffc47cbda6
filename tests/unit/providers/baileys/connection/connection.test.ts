import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { ProxyFailedError } from '../../../../../router/src/core/errors.ts';
import {
  ConnectionManager,
  type ConnectionPhase,
  type untilSocketEnds,
} from '../../../../../router/src/providers/baileys/connection/connection.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

type ManagedSocket = Parameters<typeof untilSocketEnds>[0];

class FakeSocket implements ManagedSocket {
  readonly ev = new EventEmitter() as EventEmitter & ManagedSocket['ev'];
  readonly ws = new EventEmitter();
  isEnded = false;
  readonly #whenEnded: () => void;

  constructor(whenEnded: () => void) {
    this.#whenEnded = whenEnded;
  }

  end(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.#whenEnded();
  }

  opens(): void {
    this.ev.emit('connection.update', { connection: 'open' });
  }

  /** As in Baileys, the socket is closed when it emits the event. */
  closes(statusCode?: number): void {
    const error =
      statusCode === undefined
        ? undefined
        : Object.assign(new Error('Stream Errored'), { output: { statusCode } });
    this.end();
    this.ev.emit('connection.update', { connection: 'close', lastDisconnect: { error } });
  }

  get listeners(): number {
    const count = (emitter: EventEmitter) =>
      emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0);
    return count(this.ev) + count(this.ws);
  }
}

let clock: FakeClock;
let sockets: FakeSocket[];
let alive: number;
let mostAlive: number;
let phases: ConnectionPhase[];
let attached: number;
let keyArchivals: number;
let putAsideFailures: number;
let isLinked: boolean;
let draw: number;
let isTakeOver: boolean;
let failing: Error | undefined;
let waits: Array<{
  isByWhatsApp: boolean;
  onWait(wait: { reason: string; retryAtMs?: number }): void;
  found(): void;
}>;
let manager: ConnectionManager<FakeSocket>;

beforeEach(() => {
  clock = new FakeClock();
  sockets = [];
  phases = [];
  alive = 0;
  mostAlive = 0;
  attached = 0;
  keyArchivals = 0;
  putAsideFailures = 0;
  failing = undefined;
  isLinked = true;
  draw = 0.5;
  isTakeOver = false;
  waits = [];
  manager = new ConnectionManager({
    open: async () => {
      if (failing) throw failing;
      alive += 1;
      mostAlive = Math.max(mostAlive, alive);
      const socket = new FakeSocket(() => {
        alive -= 1;
      });
      sockets.push(socket);
      return socket;
    },
    attach: () => {
      attached += 1;
      return () => {
        attached -= 1;
      };
    },
    isLinked: () => isLinked,
    get isTakeOver() {
      return isTakeOver;
    },
    closed: async () => undefined,
    archiveKeys: async () => {
      putAsideFailures -= 1;
      if (putAsideFailures >= 0) throw new Error('no database');
      keyArchivals += 1;
    },
    untilOtherVersion: (isByWhatsApp, signal, onWait) =>
      new Promise((resolve) => {
        waits.push({ isByWhatsApp, onWait, found: resolve });
        signal.addEventListener('abort', () => resolve(), { once: true });
      }),
    onPhase: (phase) => phases.push(phase),
    clock,
    log: recordingLog(),
    random: () => draw,
  });
});

const last = () => phases.at(-1);
const socket = () => sockets.at(-1) as FakeSocket;

async function start(): Promise<void> {
  await manager.start();
  await settle();
}

describe('one connection', () => {
  it('reports connecting, then open', async () => {
    await start();
    socket().opens();
    expect(phases.map((phase) => phase.state)).toEqual(['connecting', 'open']);
  });

  it.each([408, 428, 500, 503, undefined])('waits and connects again after %s', async (code) => {
    await start();
    socket().opens();
    socket().closes(code);
    await settle();
    expect(last()).toMatchObject({ state: 'waiting', retryAtMs: clock.now() + 500 });
    await clock.advanceMs(499);
    expect(sockets).toHaveLength(1);
    await clock.advanceMs(1);
    expect(sockets).toHaveLength(2);
  });

  it('shows one state while it cannot connect, whatever its attempts, until it is connected', async () => {
    failing = Object.assign(new Error('No network.'), { output: { statusCode: 408 } });
    await start();
    for (let attempt = 0; attempt < 5; attempt += 1) await clock.advanceMs(10_000);
    const [first, ...later] = phases.map(({ state }) => state);
    expect(first).toBe('connecting');
    expect(new Set(later)).toEqual(new Set(['waiting']));
    failing = undefined;
    await clock.advanceMs(10_000);
    expect(last()).toEqual({ state: 'waiting', reason: expect.any(String) });
    socket().opens();
    expect(last()).toEqual({ state: 'open' });
  });

  it.each([
    [false, 10_000],
    [true, 60_000],
  ])(
    'shows a proxy that does not connect it and tries again (it refuses: %s)',
    async (isRefusal, longestMs) => {
      failing = new ProxyFailedError({ sentence: 'The proxy is down.' }, { isRefusal });
      draw = 1;
      await start();
      for (let attempt = 0; attempt < 12; attempt += 1) await clock.advanceMs(60_000);
      const retryAtMs = clock.now() + longestMs;
      expect(phases.filter(({ state }) => state === 'waiting')).toEqual([]);
      const shown = last();
      expect(shown).toMatchObject({ state: 'proxy-failed', reason: 'The proxy is down.' });
      expect(shown?.state === 'proxy-failed' && shown.retryAtMs).toBeLessThanOrEqual(retryAtMs);
      failing = undefined;
      await clock.advanceMs(longestMs);
      socket().opens();
      expect(last()).toEqual({ state: 'open' });
    },
  );

  it('connects again at once after 515', async () => {
    await start();
    socket().closes(515);
    await settle();
    expect(sockets).toHaveLength(2);
  });

  it('backs off when WhatsApp asks for one restart after the other', async () => {
    await start();
    for (let round = 0; round < 6; round++) {
      socket().closes(515);
      await settle();
    }
    expect(last()?.state).toBe('waiting');
  });

  it.each([
    [401, 'logged-out', 1],
    [403, 'logged-out', 1],
    [440, 'replaced', 0],
  ])('stops on %s as %s', async (code, state, archivals) => {
    await start();
    socket().closes(code);
    await settle();
    expect(last()?.state).toBe(state);
    expect(keyArchivals).toBe(archivals);
    await clock.advanceMs(24 * 60 * 60 * 1000);
    expect(sockets).toHaveLength(1);
  });

  it.each([405, 409])(
    'waits after %s until another client version is known, and connects at once',
    async (code) => {
      await start();
      socket().closes(code);
      await settle();
      waits[0]?.onWait({ reason: 'refused', retryAtMs: 7 });
      expect(last()).toEqual({ state: 'outdated', reason: 'refused', retryAtMs: 7 });
      expect(waits).toMatchObject([{ isByWhatsApp: true }]);
      await clock.advanceMs(24 * 60 * 60 * 1000);
      expect(sockets).toHaveLength(1);
      waits[0]?.found();
      await settle();
      expect(sockets).toHaveLength(2);
    },
  );

  it('backs off when WhatsApp refuses one client version after the other', async () => {
    await start();
    for (let round = 0; round < 6; round++) {
      socket().closes(405);
      await settle();
      waits.at(-1)?.found();
      await settle();
    }
    expect(last()?.state).toBe('waiting');
    expect(sockets).toHaveLength(6);
  });

  it('ends while it waits for another client version when it is stopped', async () => {
    await start();
    socket().closes(405);
    await settle();
    await manager.stop();
    expect(sockets).toHaveLength(1);
  });

  it('logs in again twice when another client took over an account that was taken from a node', async () => {
    isTakeOver = true;
    await start();
    for (const login of [1, 2]) {
      socket().opens();
      socket().closes(440);
      await settle();
      expect(last()).toMatchObject({
        state: 'waiting',
        reason: expect.stringMatching(`follows \\(${login} of 2\\)`),
      });
      await clock.advanceMs(5_000);
      expect(sockets).toHaveLength(login + 1);
    }
    socket().opens();
    await clock.advanceMs(60_000);
    socket().closes(440);
    await settle();
    expect(last()).toEqual({
      state: 'replaced',
      reason: 'Another client took over this link (440).',
      phrase: { code: 'account.replaced' },
    });
    await clock.advanceMs(24 * 60 * 60 * 1000);
    expect(sockets).toHaveLength(3);
  });

  it('reconnects when a temporary ban ends', async () => {
    await start();
    socket().closes(429);
    await settle();
    expect(last()).toMatchObject({ state: 'restricted', retryAtMs: clock.now() + 300_000 });
    await clock.advanceMs(300_000);
    expect(sockets).toHaveLength(2);
  });

  it('reconnects when the codes of a pairing are used up', async () => {
    isLinked = false;
    await start();
    socket().ev.emit('connection.update', { qr: 'code' });
    await clock.advanceMs(160_000);
    const ended = Object.assign(new Error('QR refs attempts ended'), { output: { statusCode: 408 } });
    socket().ev.emit('connection.update', { connection: 'close', lastDisconnect: { error: ended } });
    await settle();
    expect(sockets).toHaveLength(2);
  });

  it('does not reset the backoff for a connection that never opened', async () => {
    await start();
    for (let round = 0; round < 2; round++) {
      for (let frames = 0; frames < 3; frames++) {
        await clock.advanceMs(20_000);
        socket().ws.emit('frame');
      }
      socket().closes(503);
      await settle();
      expect(last()).toMatchObject({ retryAtMs: clock.now() + 500 * 2 ** round });
      await clock.advanceMs(500 * 2 ** round);
    }
  });

  it('counts a socket that could not be created as a disconnect', async () => {
    failing = new Error('no database');
    await start();
    expect(last()).toMatchObject({ state: 'waiting', reason: 'no database' });
  });
});

describe('the backoff', () => {
  /** Longest waits, in seconds, after successive connections. */
  async function waitsAfter(ends: number, end: () => Promise<void> | void): Promise<number[]> {
    draw = 0.999_999;
    await start();
    const waits: number[] = [];
    for (let round = 0; round < ends; round++) {
      await end();
      await settle();
      const phase = last();
      if (phase?.state !== 'waiting') throw new Error(`not waiting but ${phase?.state}`);
      const waitMs = (phase.retryAtMs ?? 0) - clock.now();
      waits.push(Math.round(waitMs / 1000));
      await clock.advanceMs(waitMs);
    }
    return waits;
  }

  it('doubles up to a minute and never ends', async () => {
    const waits = await waitsAfter(12, () => {
      socket().ws.emit('frame');
      socket().closes(503);
    });
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60]);
  });

  it('is at most ten seconds while WhatsApp is not reachable', async () => {
    expect(await waitsAfter(7, () => socket().closes(408))).toEqual([1, 2, 4, 8, 10, 10, 10]);
  });

  it('stays short for a network that fails often and recovers each time', async () => {
    const waits = await waitsAfter(6, async () => {
      socket().opens();
      await clock.advanceMs(10_000);
      socket().closes(408);
    });
    expect(waits).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('is reset after a stable connection', async () => {
    await start();
    for (let round = 0; round < 4; round++) {
      socket().closes(503);
      await settle();
      await clock.advanceMs(500 * 2 ** round);
    }
    socket().opens();
    await clock.advanceMs(10_000);
    socket().closes(503);
    await settle();
    expect(last()).toMatchObject({ retryAtMs: clock.now() + 500 });
  });
});

describe('a hung connection', () => {
  it('is closed when nothing arrives for 25 s, without an event of Baileys', async () => {
    await start();
    await clock.advanceMs(24_999);
    expect(socket().isEnded).toBe(false);
    await clock.advanceMs(1);
    expect(socket().isEnded).toBe(true);
    expect(last()).toMatchObject({ state: 'waiting', reason: 'WhatsApp did not answer while connecting' });
  });

  it('is closed at once when the upgrade is answered with an HTTP error', async () => {
    await start();
    socket().ws.emit('unexpected-response', {}, { statusCode: 401 });
    await settle();
    expect(last()).toMatchObject({
      state: 'waiting',
      reason: 'WhatsApp refused the connection with HTTP status 401',
    });
    expect(keyArchivals).toBe(0);
  });

  it('is kept while frames arrive', async () => {
    await start();
    for (let round = 0; round < 5; round++) {
      await clock.advanceMs(20_000);
      socket().ws.emit('frame');
    }
    expect(socket().isEnded).toBe(false);
  });

  it('is kept while it waits for a pairing', async () => {
    await start();
    socket().ev.emit('connection.update', { qr: 'code' });
    await clock.advanceMs(120_000);
    expect(socket().isEnded).toBe(false);
  });

  it('is left to Baileys after it is open and frames arrive', async () => {
    await start();
    socket().opens();
    for (let minute = 0; minute < 60; minute++) {
      await clock.advanceMs(60_000);
      socket().ws.emit('frame');
    }
    expect(socket().isEnded).toBe(false);
  });
});

describe('a clock that jumps', () => {
  const HOUR_MS = 3_600_000;

  it.each([HOUR_MS, -HOUR_MS])('by %i ms does not affect the detection of a hung connection', async (ms) => {
    await start();
    clock.jumpMs(ms);
    await clock.advanceMs(24_999);
    expect(socket().isEnded).toBe(false);
    await clock.advanceMs(1);
    expect(last()).toMatchObject({ state: 'waiting', reason: 'WhatsApp did not answer while connecting' });
  });

  it('back does not delay the close of an open connection without traffic', async () => {
    await start();
    socket().opens();
    clock.jumpMs(-HOUR_MS);
    await clock.advanceMs(89_999);
    expect(socket().isEnded).toBe(false);
    await clock.advanceMs(1);
    expect(last()).toMatchObject({ state: 'waiting', reason: 'WhatsApp sent nothing for 90 s' });
  });

  it.each([HOUR_MS, -HOUR_MS])('by %i ms does not change the wait before a reconnect', async (ms) => {
    await start();
    socket().opens();
    socket().closes(503);
    await settle();
    clock.jumpMs(ms);
    await clock.advanceMs(500);
    expect(sockets).toHaveLength(2);
  });

  it.each([HOUR_MS, -HOUR_MS])('by %i ms does not affect the reset of the backoff', async (ms) => {
    await start();
    for (let round = 0; round < 3; round++) {
      socket().closes(503);
      await settle();
      await clock.advanceMs(500 * 2 ** round);
    }
    socket().opens();
    clock.jumpMs(ms);
    await clock.advanceMs(9_999);
    socket().closes(503);
    await settle();
    expect(last()).toMatchObject({ retryAtMs: clock.now() + 4_000 });
    await clock.advanceMs(4_000);
    socket().opens();
    clock.jumpMs(ms);
    await clock.advanceMs(10_000);
    socket().closes(503);
    await settle();
    expect(last()).toMatchObject({ retryAtMs: clock.now() + 500 });
  });
});

describe('one socket at a time', () => {
  it('never has two sockets, under concurrent calls', async () => {
    await start();
    await Promise.all([
      manager.restart(),
      manager.start(),
      manager.restart(),
      manager.stop(),
      manager.restart(),
    ]);
    await settle();
    expect(mostAlive).toBe(1);
    expect(alive).toBe(1);
  });

  it('removes all listeners of a socket before the next one is created', async () => {
    await start();
    const first = socket();
    await manager.restart();
    await settle();
    expect(first.listeners).toBe(0);
    expect(attached).toBe(1);
    expect(first.isEnded).toBe(true);
  });

  it('ignores events of a closed socket', async () => {
    await start();
    const first = socket();
    await manager.restart();
    await settle();
    first.closes(401);
    await settle();
    expect(keyArchivals).toBe(0);
    expect(alive).toBe(1);
  });

  it('stops during a wait, and connects at once on request', async () => {
    await start();
    socket().closes(503);
    await settle();
    await manager.restart();
    await settle();
    expect(sockets).toHaveLength(2);
    await manager.stop();
    await clock.advanceMs(3_600_000);
    expect(sockets).toHaveLength(2);
    expect(alive).toBe(0);
  });

  it('archives the keys of an ended link as soon as the database allows, and never connects with them again', async () => {
    putAsideFailures = 2;
    await start();
    socket().closes(401);
    await settle();
    expect(last()).toMatchObject({ state: 'waiting', isStorageTrouble: true });
    await clock.advanceMs(60_000);
    expect(last()).toMatchObject({ state: 'logged-out' });
    expect([keyArchivals, sockets.length]).toEqual([1, 1]);
  });

  it('stops while it waits to archive keys', async () => {
    putAsideFailures = Number.POSITIVE_INFINITY;
    await start();
    socket().closes(401);
    await settle();
    await manager.stop();
    expect(keyArchivals).toBe(0);
  });

  it('runs work between two sockets when no socket exists', async () => {
    await start();
    let between = -1;
    await manager.restart(async () => {
      between = alive;
    });
    expect(between).toBe(0);
  });
});
