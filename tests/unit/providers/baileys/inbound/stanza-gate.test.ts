import { describe, expect, it, vi } from 'vitest';
import { StanzaGate, type Ticket } from '../../../../../router/src/providers/baileys/inbound/stanza-gate.ts';

/** A stanza's way through Baileys: arrival, a look-up that takes its time, the queue, decryption. */
function arrives(
  gate: StanzaGate,
  chat: string,
  name: string,
  options: { lookUp?: () => Promise<void>; isQueued?: boolean; reached: string[] },
): { ticket: Ticket; done: Promise<void> } {
  let ticket: Ticket | undefined;
  // A function of its own is the event in whose consequence everything happens.
  const done = new Promise<void>((resolve) => {
    setImmediate(async () => {
      ticket = gate.enter(chat, options.isQueued ?? false);
      await options.lookUp?.();
      await gate.turn();
      options.reached.push(name);
      ticket.pass();
      resolve();
    });
  });
  return { ticket: { pass: () => ticket?.pass() }, done };
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe('stanzas of one chat', () => {
  it('get to their decryption in the order of arrival, whichever has more to look up', async () => {
    const gate = new StanzaGate(10_000);
    const reached: string[] = [];
    const first = arrives(gate, 'ana', 'first', { lookUp: () => turns(5), reached });
    const second = arrives(gate, 'ana', 'second', { reached });
    const third = arrives(gate, 'ana', 'third', { lookUp: () => turns(1), reached });
    await Promise.all([first.done, second.done, third.done]);
    expect(reached).toEqual(['first', 'second', 'third']);
  });

  it('do not wait for another chat', async () => {
    const gate = new StanzaGate(10_000);
    const reached: string[] = [];
    const slow = arrives(gate, 'ana', 'ana', { lookUp: () => turns(8), reached });
    const quick = arrives(gate, 'bo', 'bo', { reached });
    await Promise.all([slow.done, quick.done]);
    expect(reached).toEqual(['bo', 'ana']);
  });

  it('go on when nothing more comes of an earlier one', async () => {
    const gate = new StanzaGate(10_000);
    const reached: string[] = [];
    arrives(gate, 'ana', 'lost', { lookUp: () => new Promise(() => undefined), reached });
    const second = arrives(gate, 'ana', 'second', { reached });
    await turns(3);
    expect(reached).toEqual([]);
    gate.passAll();
    await second.done;
    expect(reached).toEqual(['second']);
  });

  it('wait for a bounded time only', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const gate = new StanzaGate(5_000);
      const reached: string[] = [];
      arrives(gate, 'ana', 'hangs', { lookUp: () => new Promise(() => undefined), reached });
      const second = arrives(gate, 'ana', 'second', { reached });
      await turns(3);
      await vi.advanceTimersByTimeAsync(4_999);
      expect(reached).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      await second.done;
      expect(reached).toEqual(['second']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('that Baileys handles one by one never wait here, and later live ones wait for them', async () => {
    const gate = new StanzaGate(10_000);
    const reached: string[] = [];
    const offline = arrives(gate, 'ana', 'offline', { lookUp: () => turns(5), isQueued: true, reached });
    const live = arrives(gate, 'ana', 'live', { reached });
    await Promise.all([offline.done, live.done]);
    expect(reached).toEqual(['offline', 'live']);
  });
});

it('lets go on at once what comes of the same socket after a stanza was taken up', async () => {
  const gate = new StanzaGate(10_000);
  const reached: string[] = [];
  arrives(gate, 'ana', 'first', { lookUp: () => new Promise(() => undefined), reached });
  let second = 0;
  await new Promise<void>((resolve) => {
    setImmediate(() => {
      gate.enter('ana', false);
      void gate.turn().then(() => {
        second += 1;
      });
      gate.leave();
      void gate.turn().then(resolve);
    });
  });
  expect([reached, second]).toEqual([[], 0]);
});

it('lets work that belongs to no stanza go on', async () => {
  await expect(new StanzaGate(10_000).turn()).resolves.toBeUndefined();
});
