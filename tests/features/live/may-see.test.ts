import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../router/src/core/access/caller.ts';
import type { Scope } from '../../../router/src/core/access/scopes.ts';
import * as live from '../../../router/src/features/live/feature.ts';
import { liveEventTypes } from '../../../router/src/features.ts';

const TYPES = Object.keys(liveEventTypes()).sort();
const maySee = (...given: Tail<Parameters<typeof live.maySee>>) => live.maySee(liveEventTypes(), ...given);
type Tail<All extends unknown[]> = All extends [unknown, ...infer Rest] ? Rest : never;

function key(scopes: Scope[], chats?: string[]): Caller {
  const limits = { perMinute: 1, perSecond: 1 };
  return {
    kind: 'key',
    key: { id: 'k', name: 'k', scopes, limits, ...(chats && { chats }), createdAt: new Date(0) },
  };
}

const seen = (caller: Caller, chatId?: string) =>
  TYPES.filter((type) => maySee(caller, { type, chatId }) === true);

describe('maySee', () => {
  it('shows everything to the admin key, to a browser and to this machine', () => {
    for (const kind of ['admin-key', 'loopback', 'local-socket'] as const) {
      expect(seen({ kind })).toEqual(TYPES);
    }
    expect(seen({ kind: 'session', session: { id: 's' } })).toEqual(TYPES);
  });

  it('shows a user what the role reads', () => {
    const types = seen({ kind: 'session', session: { id: 's', user: { name: 'eva', role: 'viewer' } } });
    expect(types).toContain('message');
    for (const type of ['key', 'setting', 'webhook', 'agent'] as const) expect(types).not.toContain(type);
  });

  it('shows a key what its scopes read', () => {
    const always = ['ready', 'reset'];
    const ofMessages = ['message', 'turn', 'reply', 'delivery', 'chat', 'dead-letter', 'draft'];
    expect(seen(key(['messages:read']))).toEqual([...always, ...ofMessages].sort());
    expect(seen(key(['messages:read']), '7')).toEqual([...always, ...ofMessages, 'task'].sort());
    expect(seen(key(['messages:send']))).toEqual(always);
    expect(seen(key(['accounts:manage']))).toEqual([...always, 'account'].sort());
    expect(seen(key(['routes:read', 'agents:manage']))).toEqual([...always, 'route', 'agent'].sort());
    expect(seen(key(['admin']))).toEqual(TYPES);
    expect(seen({ kind: 'stranger' })).toEqual(always);
  });

  it('shows a key that is restricted to chats no event of another chat, and none that names no chat', () => {
    const caller = key(['messages:read', 'accounts:read'], ['5491100000001']);
    expect(maySee(caller, { type: 'message', chatId: '7' })).toBe('if-its-chat');
    expect(maySee(caller, { type: 'draft' })).toBe(false);
    expect(maySee(caller, { type: 'account' })).toBe(true);
    expect(maySee(key(['accounts:read'], ['1']), { type: 'message', chatId: '7' })).toBe(false);
  });

  it('shows a restricted key what it may read of routes, accounts and agents, and nothing else of them', () => {
    const scopes: Scope[] = [
      'messages:read',
      'accounts:read',
      'routes:read',
      'agents:manage',
      'webhooks:manage',
    ];
    const { key: plain } = key(scopes) as Extract<Caller, { kind: 'key' }>;
    for (const restriction of [{ chats: ['1'] }, { routes: ['r'] }, { accounts: ['a'] }]) {
      const caller: Caller = { kind: 'key', key: { ...plain, ...restriction } };
      expect(maySee(caller, { type: 'route' })).toBe(false);
      expect(maySee(caller, { type: 'agent' })).toBe(false);
      expect(maySee(caller, { type: 'webhook' })).toBe(false);
    }
    const ofAccount: Caller = { kind: 'key', key: { ...plain, accounts: ['a'] } };
    expect(maySee(ofAccount, { type: 'account', accountId: 'a' })).toBe(true);
    expect(maySee(ofAccount, { type: 'account', accountId: 'b' })).toBe(false);
    expect(maySee(ofAccount, { type: 'message', accountId: 'b', chatId: '7' })).toBe(false);
    expect(maySee(ofAccount, { type: 'message', chatId: '7' })).toBe('if-its-chat');
    expect(maySee(ofAccount, { type: 'message', accountId: 'a', chatId: '7' })).toBe(true);
  });
});
