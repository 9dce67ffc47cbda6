import { EventEmitter } from 'node:events';
import type { WASocket } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { listenTo } from '../../../../../router/src/providers/baileys/connection/socket-listeners.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

type SocketHandlers = Parameters<typeof listenTo>[2];

function setup(handlers: Partial<SocketHandlers> = {}) {
  const ev = new EventEmitter();
  const ws = new EventEmitter();
  const log = recordingLog();
  const calls: unknown[][] = [];
  const record =
    (name: string) =>
    (...args: unknown[]) =>
      void calls.push([name, ...args]);
  const all: SocketHandlers = {
    loggedIn: record('loggedIn'),
    creds: record('creds'),
    pairDevice: record('pairDevice'),
    pairingRefreshed: record('pairingRefreshed'),
    passkeyRequested: record('passkeyRequested'),
    passkeyContinued: record('passkeyContinued'),
    paired: record('paired'),
    reachOutLocked: record('reachOutLocked'),
    newChatsCounted: record('newChatsCounted'),
    receipt: record('receipt'),
    ack: record('ack'),
    upsert: record('upsert'),
    groupChanged: record('groupChanged'),
    chatLocked: async (...args) => record('chatLocked')(...args),
    ...handlers,
  };
  const remove = listenTo({ ev, ws } as unknown as WASocket, log, all);
  return { ev, ws, log, calls, remove };
}

describe('listenTo', () => {
  it('passes each event to its handler', () => {
    const { ev, ws, calls } = setup();
    const node = { tag: 'x', attrs: {} };
    ev.emit('creds.update', { me: { id: 'a' } });
    ev.emit('creds.update', { myAppStateKeyId: 'AAAA' });
    ev.emit('connection.update', { isNewLogin: true });
    ev.emit('group-participants.update', { id: 'b@g.us', participants: [], action: 'add' });
    ev.emit('chats.lock', { id: 'a@lid', locked: true });
    ws.emit('CB:success', node);
    ws.emit('CB:iq,type:set,pair-device', node);
    ws.emit('CB:notification,type:companion_reg_refresh', node);
    ws.emit('CB:notification,type:passkey_prologue_request', node);
    ws.emit('CB:notification,type:crsc_continuation', node);
    ws.emit('CB:receipt', node);
    ws.emit('CB:ack,class:message', node);
    expect(calls).toEqual([
      ['creds', false],
      ['creds', true],
      ['paired'],
      ['groupChanged', 'b@g.us'],
      ['chatLocked', 'a@lid', true],
      ['loggedIn', node],
      ['pairDevice', node],
      ['pairingRefreshed', node],
      ['passkeyRequested', node],
      ['passkeyContinued', node],
      ['receipt', node],
      ['ack', node],
    ]);
  });

  it('passes every message of an upsert in order, with its type', () => {
    const { ev, calls } = setup();
    ev.emit('messages.upsert', { messages: ['first', 'second'], type: 'append' });
    expect(calls).toEqual([
      ['upsert', 'first', 'append'],
      ['upsert', 'second', 'append'],
    ]);
  });

  it('passes changed groups, and no change without an id', () => {
    const { ev, calls } = setup();
    ev.emit('groups.update', [{ id: 'a@g.us' }, { subject: 'x' }, { id: 'b@g.us', subject: 'B' }]);
    expect(calls).toEqual([
      ['groupChanged', 'a@g.us'],
      ['groupChanged', 'b@g.us', 'B'],
    ]);
  });

  it.each<[unknown, unknown]>([
    [
      { isActive: true, timeEnforcementEnds: new Date(5_000) },
      { isActive: true, untilMs: 5_000 },
    ],
    [
      { isActive: true, enforcementType: 'RESTRICT_ALL_COMPANIONS' },
      { isActive: true, type: 'RESTRICT_ALL_COMPANIONS' },
    ],
    [
      { isActive: true, enforcementType: 'DEFAULT', timeEnforcementEnds: new Date(Number.NaN) },
      { isActive: true },
    ],
    [{ isActive: true, enforcementType: 'a sentence. <b>' }, { isActive: true }],
    [{}, { isActive: false }],
  ])('passes the lock of new contacts %j', (reachoutTimeLock, expected) => {
    const { ev, calls } = setup();
    ev.emit('connection.update', { reachoutTimeLock });
    expect(calls).toEqual([['reachOutLocked', expected]]);
  });

  it.each<[unknown, unknown]>([
    [
      { capping_status: 'CAPPED', used_quota: 30, total_quota: '30', cycle_end_timestamp: '1790000000' },
      { isCapped: true, used: 30, quota: 30, untilMs: 1_790_000_000_000 },
    ],
    [
      { capping_status: 'FIRST_WARNING', used_quota: 24, total_quota: -1 },
      { isCapped: false, used: 24 },
    ],
    [{ capping_status: 'CAPPED', used_quota: {}, cycle_end_timestamp: '0' }, { isCapped: true }],
    [null, { isCapped: false }],
    ['CAPPED', { isCapped: false }],
  ])('reads the number of new chats %j', (found, expected) => {
    const { ev, calls } = setup();
    ev.emit('message-capping.update', found);
    expect(calls).toEqual([['newChatsCounted', expected]]);
  });

  it('calls nothing for a connection update of another kind', () => {
    const { ev, calls } = setup();
    ev.emit('connection.update', { connection: 'open', isNewLogin: false });
    expect(calls).toEqual([]);
  });

  it('sees a login before the listeners of Baileys', () => {
    const order: string[] = [];
    const ws = new EventEmitter();
    ws.on('CB:success', () => order.push('Baileys'));
    const socket = { ev: new EventEmitter(), ws } as unknown as WASocket;
    listenTo(socket, recordingLog(), {
      loggedIn: () => void order.push('wa2ai'),
    } as unknown as SocketHandlers);
    ws.emit('CB:success', { tag: 'success', attrs: {} });
    expect(order).toEqual(['wa2ai', 'Baileys']);
  });

  it.each<[string, () => void | Promise<void>]>([
    [
      'throws',
      () => {
        throw new Error('broken handler');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken handler'))],
  ])('logs a handler that %s, and the next event arrives', async (_, broken) => {
    let events = 0;
    const { ws, log } = setup({
      ack: () => {
        events += 1;
        return broken();
      },
    });
    ws.emit('CB:ack,class:message', { tag: 'ack', attrs: {} });
    ws.emit('CB:ack,class:message', { tag: 'ack', attrs: {} });
    await settle();
    expect(events).toBe(2);
    const line = {
      level: 'error',
      message: 'socket event not handled',
      fields: { event: 'ack stanza', err: expect.objectContaining({ message: 'broken handler' }) },
    };
    expect(log.lines).toEqual([line, line]);
  });

  it('removes every listener', () => {
    const { ev, ws, remove } = setup();
    const count = () =>
      [ev, ws].flatMap((emitter) => emitter.eventNames().map((name) => emitter.listenerCount(name)));
    expect(count()).toHaveLength(14);
    remove();
    expect(count()).toEqual([]);
  });
});
