import { EventEmitter } from 'node:events';
import type { WASocket } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import {
  SOCKET_FUNCTIONS,
  takeMessageListener,
} from '../../../../../router/src/providers/baileys/connection/check-surface.ts';

/** A socket with every function, and as many listeners of message stanzas as given. */
function setup(listeners = 1) {
  const ws = new EventEmitter();
  const received: unknown[] = [];
  for (let count = 0; count < listeners; count += 1) {
    ws.on('CB:message', (node: unknown) => received.push(node));
  }
  const functions = Object.fromEntries(SOCKET_FUNCTIONS.map((name) => [name, () => undefined]));
  return { ws, received, socket: { ws, ...functions } as unknown as WASocket };
}

describe('takeMessageListener', () => {
  it("removes and returns Baileys' own listener, and no other", () => {
    const { ws, socket, received } = setup();
    ws.on('CB:receipt', () => undefined);
    const listener = takeMessageListener(socket);
    expect([ws.listenerCount('CB:message'), ws.listenerCount('CB:receipt')]).toEqual([0, 1]);
    listener({ tag: 'message', attrs: {} });
    expect(received).toEqual([{ tag: 'message', attrs: {} }]);
  });

  it.each([0, 2])('refuses a Baileys with %i listeners, and leaves them', (count) => {
    const { ws, socket } = setup(count);
    expect(() => takeMessageListener(socket)).toThrow(`${count} listeners of message stanzas instead of one`);
    expect(ws.listenerCount('CB:message')).toBe(count);
  });

  it.each(SOCKET_FUNCTIONS)('refuses a Baileys without %s, and leaves its listener', (name) => {
    const { ws, socket } = setup();
    Object.assign(socket, { [name]: undefined });
    expect(() => takeMessageListener(socket)).toThrow(
      expect.objectContaining({
        code: 'BAILEYS_UNSUPPORTED',
        disposition: 'dead',
        message: expect.stringContaining(`(the socket has no ${name})`),
      }),
    );
    expect(ws.listenerCount('CB:message')).toBe(1);
  });

  it('refuses a Baileys that cannot ask the phone for a deleted file', () => {
    const { socket } = setup();
    Object.assign(socket, { sendNode: undefined });
    expect(() => takeMessageListener(socket)).toThrow('the socket has no sendNode');
  });
});
