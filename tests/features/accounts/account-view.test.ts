import { describe, expect, it } from 'vitest';
import type { AccountStatus } from '../../../router/src/core/ports/chat-provider.ts';
import { accountView, accountViewOf } from '../../../router/src/features/accounts/account-view.ts';

const status: AccountStatus = { accountId: 'sales', state: 'open', nextAction: 'Nothing to do.', sinceMs: 0 };

describe('accountViewOf', () => {
  it('has times as text, the start of 1970 included, and none that are absent', () => {
    expect(accountViewOf(status)).toEqual({
      id: 'sales',
      accountId: 'sales',
      state: 'open',
      nextAction: 'Nothing to do.',
      since: '1970-01-01T00:00:00.000Z',
    });
    expect(accountViewOf({ ...status, expiresAtMs: 0, retryAtMs: 1_000 })).toMatchObject({
      expiresAt: '1970-01-01T00:00:00.000Z',
      retryAt: '1970-01-01T00:00:01.000Z',
    });
  });

  it('fits its schema and has no field beside it', () => {
    const full: Required<AccountStatus> = {
      ...status,
      provider: 'playground',
      isConnected: true,
      reason: 'r',
      phrase: { code: 'account.replaced' },
      qr: 'q',
      pairingCode: 'ABCD1234',
      passkey: { step: 'sign', options: '{"challenge":"AAAA"}' },
      expiresAtMs: 1,
      retryAtMs: 2,
      limitLeftMs: 3,
      limits: [{ kind: 'new-chats', reason: 'r', phrase: { code: 'account.new-contacts' }, untilMs: 6 }],
      problems: ['p'],
      problemPhrases: [{ code: 'account.keys-unreadable', values: { keys: '1 session' } }, null],
      clientVersion: { version: '2.3000.1', source: 'look-up', sinceMs: 4, refusedSinceMs: 5 },
      proxy: 'socks5://***@proxy.example:1080',
      phone: '5491',
      lid: '7',
      name: 'Shop',
      node: 'n1',
    };
    expect(Object.keys(accountViewOf(full)).sort()).toEqual(Object.keys(accountView.shape).sort());
    expect(accountView.parse(accountViewOf(full))).toEqual(accountViewOf(full));
  });
});
