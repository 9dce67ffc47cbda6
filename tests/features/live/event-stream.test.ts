import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { LiveEvent } from '../../../router/src/core/live/live-event.ts';
import { EventRing } from '../../../router/src/features/live/event-batches.ts';
import { EventStream, type StreamResponse } from '../../../router/src/features/live/event-stream.ts';
import type { FeedReader } from '../../../router/src/features/live/live-feed.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';

const CAPACITY = 1_000;

/** A stream over a response that the test reads. */
async function setup(lastId?: string, isFor: (event: LiveEvent) => boolean | Promise<boolean> = () => true) {
  const events = new EventEmitter();
  const client = { isSlow: false, isEnded: false, isDestroyed: false, text: '' };
  const response = {
    writeHead: () => response,
    write: (text: string) => {
      client.text += text;
      return !client.isSlow;
    },
    end: () => {
      client.isEnded = true;
      events.emit('close');
      return response;
    },
    destroy: () => {
      client.isDestroyed = true;
      events.emit('close');
      return response;
    },
    on: (name: string, listener: () => void) => {
      events.on(name, listener);
      return response;
    },
    destroyed: false,
    get writableNeedDrain() {
      return client.isSlow;
    },
  } as unknown as StreamResponse;
  const clock = new FakeClock();
  const ring = new EventRing('r', CAPACITY);
  const readers = new Set<FeedReader>();
  const liveFeed = {
    ring,
    open: async (reader: FeedReader) => {
      readers.add(reader);
      return () => void readers.delete(reader);
    },
  };
  const add = (id: number) => ring.add({ type: 'message', at: '2026-01-01T00:00:00.000Z', id: String(id) });
  const addAndWake = (id: number) => {
    add(id);
    for (const reader of readers) reader.onEvents();
  };
  for (let id = 1; id <= 3; id++) add(id);
  const stream = new EventStream({ liveFeed, clock }, response, isFor);
  const running = stream.run(lastId);
  await settle();
  /** What came since the last call, as `type id`. */
  const taken = () => {
    const text = client.text;
    client.text = '';
    return [...text.matchAll(/^id: (\S+)\nevent: (\S+)$/gm)].map(([, id, type]) => `${type} ${id}`);
  };
  const drain = () => {
    client.isSlow = false;
    events.emit('drain');
  };
  return { stream, running, client, clock, ring, readers, add, addAndWake, taken, drain };
}

describe('EventStream', () => {
  it('begins with what changes from now on', async () => {
    const { addAndWake, taken, client } = await setup();
    expect(client.text).toMatch(/^retry: \d+\n\n/);
    addAndWake(4);
    expect(taken()).toEqual(['ready r-3', 'message r-4']);
  });

  it('continues after the last event of a client that connects again', async () => {
    expect((await setup('r-1')).taken()).toEqual(['ready r-1', 'message r-2', 'message r-3']);
  });

  it('tells a client with an unknown id to load everything again', async () => {
    expect((await setup('another-1')).taken()).toEqual(['reset r-3']);
  });

  it('writes nothing to a client that reads nothing, and continues when it reads again', async () => {
    const { client, addAndWake, taken, drain } = await setup();
    taken();
    client.isSlow = true;
    for (let id = 4; id <= 10; id++) addAndWake(id);
    expect(client.text).toBe('');
    drain();
    expect(taken()).toEqual([4, 5, 6, 7, 8, 9, 10].map((id) => `message r-${id}`));
  });

  it('writes at most 64 kB and one event at once', async () => {
    const { client, add, addAndWake } = await setup();
    client.isSlow = true;
    for (let id = 4; id < 900; id++) add(id);
    client.text = '';
    const { isSlow } = client;
    Object.defineProperty(client, 'isSlow', { get: () => isSlow && client.text !== '' });
    addAndWake(900);
    expect(client.text.length).toBeGreaterThan(60_000);
    expect(client.text.length).toBeLessThan(66_000);
  });

  it('tells a client that was slow for too long to load everything again', async () => {
    const { client, add, addAndWake, taken, drain } = await setup();
    taken();
    client.isSlow = true;
    for (let id = 4; id <= CAPACITY + 4; id++) add(id);
    drain();
    expect(taken()).toEqual([`reset r-${CAPACITY + 4}`]);
    addAndWake(5_000);
    expect(taken()).toEqual([`message r-${CAPACITY + 5}`]);
  });

  it('disconnects a client that takes nothing for two heartbeats', async () => {
    const { client, clock, running } = await setup();
    client.isSlow = true;
    await clock.advanceMs(15_000);
    expect(client.isDestroyed).toBe(false);
    await clock.advanceMs(15_000);
    expect(client.isDestroyed).toBe(true);
    await running;
    expect(clock.sleeping).toBe(0);
  });

  it('sends heartbeats, with the id of the last event that was not for the client', async () => {
    const { client, clock, addAndWake } = await setup(undefined, () => false);
    client.text = '';
    await clock.advanceMs(15_000);
    expect(client.text).toBe(': heartbeat\n\n');
    addAndWake(4);
    client.text = '';
    await clock.advanceMs(30_000);
    expect(client.text).toBe('id: r-4\n: heartbeat\n\n: heartbeat\n\n');
  });

  it('keeps the order when a decision about an event takes time', async () => {
    const decisions: Array<(isFor: boolean) => void> = [];
    const isFor = ({ id }: LiveEvent) =>
      Number(id) % 2 === 1 || new Promise<boolean>((resolve) => decisions.push(resolve));
    const { addAndWake, taken } = await setup(undefined, isFor);
    for (let id = 4; id <= 7; id++) addAndWake(id);
    await settle();
    expect(taken()).toEqual(['ready r-3']);
    decisions[0]?.(true);
    await settle();
    expect(taken()).toEqual(['message r-4', 'message r-5']);
    decisions[1]?.(false);
    await settle();
    expect(taken()).toEqual(['message r-7']);
  });

  it('ends when the client leaves, when its right ends, and when the process stops', async () => {
    for (const end of ['close', 'right', 'stop'] as const) {
      const { stream, client, running, readers, clock } = await setup();
      if (end === 'right') stream.end();
      else if (end === 'stop') for (const reader of readers) reader.onStop();
      else client.isEnded = true;
      if (end === 'close') stream.end();
      await running;
      expect([client.isEnded, readers.size, clock.sleeping]).toEqual([true, 0, 0]);
    }
  });
});
