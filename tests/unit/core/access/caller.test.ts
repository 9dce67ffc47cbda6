import { describe, expect, it } from 'vitest';
import {
  allowedChats,
  allowedRoutes,
  type Caller,
  mayDo,
  mayUseChat,
} from '../../../../router/src/core/access/caller.ts';
import type { ApiKey } from '../../../../router/src/core/ports/api-key-store.ts';

function keyCaller(given: Partial<ApiKey>): Caller {
  const limits = { perMinute: 100, perSecond: 10 };
  return {
    kind: 'key',
    key: { id: '0123456789ab', name: 'k', scopes: [], limits, createdAt: new Date(0), ...given },
  };
}

const unknownAliases = () => Promise.reject(new Error('not needed'));
const chat = { accountId: 'main', channelId: '5493777239922' };

describe('mayDo', () => {
  it.each<Caller>([
    { kind: 'admin-key' },
    { kind: 'loopback' },
    { kind: 'session', session: { id: 's' } },
    { kind: 'session', session: { id: 's', user: { name: 'ana', role: 'owner' } } },
  ])('allows everything to %j', (caller) => {
    expect(mayDo(caller, 'admin')).toBe(true);
  });

  it('allows nothing to a stranger', () => {
    expect(mayDo({ kind: 'stranger' }, 'routes:read')).toBe(false);
  });

  it('allows the scopes of a key', () => {
    expect(mayDo(keyCaller({ scopes: ['routes:write'] }), 'routes:read')).toBe(true);
    expect(mayDo(keyCaller({ scopes: ['routes:read'] }), 'routes:write')).toBe(false);
  });
});

describe('restrictions', () => {
  it('are those of the key', () => {
    const caller = keyCaller({ chats: ['1'], routes: ['r'] });
    expect([allowedChats(caller), allowedRoutes(caller)]).toEqual([['1'], ['r']]);
  });

  it.each<Caller>([{ kind: 'session', session: { id: 's' } }, keyCaller({})])(
    'are absent for %j',
    (caller) => {
      expect([allowedChats(caller), allowedRoutes(caller)]).toEqual([undefined, undefined]);
    },
  );
});

describe('mayUseChat', () => {
  it('allows every chat without a restriction, and a named chat, without looking up aliases', async () => {
    expect(await mayUseChat({ kind: 'admin-key' }, chat, unknownAliases)).toBe(true);
    expect(await mayUseChat(keyCaller({}), { ...chat, channelId: '*' }, unknownAliases)).toBe(true);
    expect(await mayUseChat(keyCaller({ chats: ['5493777239922'] }), chat, unknownAliases)).toBe(true);
  });

  it("allows a chat by the person's other address on that account", async () => {
    const caller = keyCaller({ chats: ['7@lid'] });
    const aliasesOf = async (accountId: string) => (accountId === 'main' ? ['7@lid'] : []);
    expect(await mayUseChat(caller, chat, aliasesOf)).toBe(true);
    expect(await mayUseChat(caller, { ...chat, accountId: 'other' }, aliasesOf)).toBe(false);
  });

  it('refuses another chat and the wildcard', async () => {
    const caller = keyCaller({ chats: ['15550001111'] });
    const none = async () => [];
    expect(await mayUseChat(caller, chat, none)).toBe(false);
    expect(await mayUseChat(caller, { ...chat, channelId: '*' }, none)).toBe(false);
  });
});
