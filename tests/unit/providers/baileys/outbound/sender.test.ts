import type { WASocket } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import {
  NotConnectedError,
  SendRefusedError,
  SendUncertainError,
} from '../../../../../router/src/core/errors.ts';
import { Sender } from '../../../../../router/src/providers/baileys/outbound/sender.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const ANA = '34600000002@s.whatsapp.net';
const GROUP = '120363000000000001@g.us';

/** A socket whose sends the test completes. */
function setup() {
  const clock = new FakeClock();
  const running = new Map<string, { end(): void; fail(error: unknown): void }>();
  const keys: string[] = [];
  let timeouts = 0;
  const start = (name: string) =>
    new Promise<void>((end, fail) => {
      running.set(name, { end, fail });
    });
  const socket = {
    sendMessage: (_: string, { text, react }: { text: string; react?: { text: string } }) =>
      start(react?.text ?? text),
  } as unknown as WASocket;
  const sender = new Sender({
    clock,
    onSendTimeout: () => {
      timeouts += 1;
    },
    groupKeys: () => ({
      written: (group) => void keys.push(`written ${group}`),
      failed: (group) => void keys.push(`failed ${group}`),
    }),
  });
  const send = (text: string, to = ANA) =>
    sender.send({ accountId: 'main', to, text, waMessageId: `id of ${text}` }, undefined, socket);
  const react = (emoji: string, to = ANA) => sender.react(to, { text: emoji, key: { id: 'W1' } }, socket);
  return { clock, running, keys, sender, send, react, timeouts: () => timeouts };
}

const boom = (statusCode: number, data?: unknown) =>
  Object.assign(new Error('ended'), { output: { statusCode }, data });

describe('Sender', () => {
  it('runs sends of different chats in parallel', async () => {
    const { send, running } = setup();
    const sends = [send('one'), send('two', '34600000003@s.whatsapp.net')];
    await settle();
    expect([...running.keys()]).toEqual(['one', 'two']);
    running.get('two')?.end();
    await sends[1];
    running.get('one')?.end();
    await sends[0];
  });

  it('writes to a group one after the other, reactions too, and to people at once', async () => {
    const { send, react, running } = setup();
    const all = [react('👀', GROUP), send('answer', GROUP), react('✅', GROUP), react('👍'), send('hello')];
    await settle();
    expect([...running.keys()]).toEqual(['👍', 'hello', '👀']);
    running.get('👀')?.fail(new Error('no devices'));
    await expect(all[0]).rejects.toThrow('no devices');
    await settle();
    expect([...running.keys()].slice(3)).toEqual(['answer']);
    running.get('answer')?.end();
    await all[1];
    await settle();
    for (const { end } of running.values()) end();
    await Promise.all(all.slice(2));
  });

  it('begins no send of a group that waited when the connection closed', async () => {
    const { send, sender, running } = setup();
    const sends = [send('one', GROUP), send('two', GROUP)];
    const ended = sends.map((sent) => expect(sent).rejects.toThrow(SendUncertainError));
    await settle();
    sender.connectionClosed();
    await Promise.all(ended);
    await settle();
    expect([...running.keys()]).toEqual(['one']);
  });

  it('ends a send when the connection closes, without the minute that Baileys waits', async () => {
    const { send, sender } = setup();
    const sent = expect(send('one')).rejects.toThrow(SendUncertainError);
    await settle();
    sender.connectionClosed();
    await sent;
  });

  it('gives up a send that never ends, and closes the connection', async () => {
    const { send, clock, timeouts } = setup();
    const sent = expect(send('one')).rejects.toThrow(SendUncertainError);
    await settle();
    await clock.advanceMs(170_000);
    expect(timeouts()).toBe(0);
    await clock.advanceMs(10_000);
    await sent;
    expect(timeouts()).toBe(1);
    expect(clock.sleeping).toBe(0);
  });

  it.each([
    ['the socket was closed', boom(428), NotConnectedError],
    ['it failed after it began', new Error('write EPIPE'), SendUncertainError],
    ['WhatsApp refused it for this chat', boom(500, 403), SendRefusedError],
  ])('reports that %s', async (_, error, kind) => {
    const { send, running } = setup();
    const sent = expect(send('one')).rejects.toThrow(kind);
    await settle();
    running.get('one')?.fail(error);
    await sent;
  });

  it('reports for groups whether the message, and with it the group key, was written', async () => {
    const { send, running, keys } = setup();
    const sent = expect(send('one', GROUP)).rejects.toThrow(SendUncertainError);
    await settle();
    running.get('one')?.fail(new Error('write EPIPE'));
    await sent;
    const others = [send('two', GROUP), send('three')];
    await settle();
    for (const { end } of running.values()) end();
    await Promise.all(others);
    expect(keys).toEqual([`failed ${GROUP}`, `written ${GROUP}`]);
  });
});
