import { describe, expect, it } from 'vitest';
import { nextActionOf } from '../../../../router/src/core/cluster/account-state.ts';

describe('nextActionOf', () => {
  it('names a time for people, to the second and with its zone', () => {
    const retryAtMs = Date.parse('2026-01-02T03:04:05.678Z');
    expect(nextActionOf('waiting', { retryAtMs })).toContain('connects again at 2026-01-02 03:04:05 UTC.');
    expect(nextActionOf('restricted', { retryAtMs })).toContain('at 2026-01-02 03:04:05 UTC.');
  });

  it('says until when a connected account is limited, and who is answered', () => {
    const retryAtMs = Date.parse('2026-01-02T03:04:05.678Z');
    expect(nextActionOf('restricted', { isConnected: true, retryAtMs })).toBe(
      'WhatsApp limits this account until 2026-01-02 03:04:05 UTC. People who wrote before are answered; do not write to new contacts until then.',
    );
  });

  it('says soon when there is no time', () => {
    expect(nextActionOf('waiting')).toContain('connects again soon.');
  });
});
