import { describe, expect, it } from 'vitest';
import type { AccountToCheck } from '../../../router/src/features/doctor/check-network.ts';
import { examineLive } from '../../../router/src/features/doctor/examine-live.ts';

const NOW_MS = Date.UTC(2026, 10, 26, 12);
const minutes = (count: number) => new Date(NOW_MS + count * 60_000).toISOString();
/** So that nothing is asked of WhatsApp. Nobody listens there. */
const proxy = { url: 'http://***@127.0.0.1:1' };

async function accountFindings(
  account: Partial<AccountToCheck>,
  limits: Array<{ kind: string; until: string }> = [],
) {
  const { findings } = await examineLive({
    env: {},
    nowMs: () => NOW_MS,
    readRevision: () => Promise.reject(new Error('nothing is asked')),
    service: {
      accounts: async () => [{ accountId: 'shop', state: 'open', since: minutes(-90), proxy, ...account }],
      limits: async () => limits,
    },
  });
  return findings;
}

describe('the live report', () => {
  it('shows the step of a passkey, limits of WhatsApp, and how old a version is', async () => {
    const clientVersion = {
      version: '2.3000.5',
      source: 'look-up' as const,
      sinceMs: NOW_MS - 100 * 86_400_000,
      refusedSinceMs: NOW_MS,
    };
    const findings = await accountFindings(
      { state: 'passkey-required', passkey: { step: 'compare' }, clientVersion },
      [{ kind: 'new-contacts', until: minutes(25) }],
    );
    expect(findings[0]).toMatchObject({
      check: 'account',
      level: 'warning',
      message:
        'Account 1: State passkey-required for 90 min. Step of the passkey: compare. WhatsApp limits new-contacts for 25 more min. Version 2.3000.5 (look-up), 100 days old.',
    });
    expect(findings.filter(({ check }) => check === 'version')).toMatchObject([{ level: 'error' }]);
  });

  it.each<[string, string, string]>([
    ['waiting', 'WebSocket Error (getaddrinfo ENOTFOUND db.internal.example) (408)', ' Code ENOTFOUND.'],
    ['waiting', 'The database of Ana at 10.1.2.3 did not answer', ''],
    ['outdated', 'No newer version was found at mirror.example.', ''],
    ['restricted', 'WhatsApp limits this account (463).', ' WhatsApp limits this account (463).'],
  ])('shows of the reason of %s only what cannot name anybody', async (state, reason, shown) => {
    const [finding] = await accountFindings({ state, reason });
    expect(finding?.message).toBe(`Account 1: State ${state} for 90 min.${shown} No login yet.`);
  });

  it('says which proxy accepts no connection, without its address', async () => {
    const findings = await accountFindings({});
    expect(findings.find(({ check }) => check === 'proxy')).toMatchObject({
      level: 'error',
      message:
        'Account 1: its proxy (http, with a login) accepts no connection from this machine (ECONNREFUSED).',
    });
    expect(JSON.stringify(findings)).not.toMatch(/127\.0\.0\.1|shop/);
  });
});
