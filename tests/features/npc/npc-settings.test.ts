import { describe, expect, it } from 'vitest';
import {
  CUSTOM_CAPABILITY,
  capabilitiesOf,
  defaultNpcSettings,
} from '../../../router/src/features/npc/npc-chain.ts';

describe('the settings of the NPC server', () => {
  it('are on only where nobody else can call, until an admin stores some', () => {
    expect(defaultNpcSettings(true).enabled).toBe(true);
    expect(defaultNpcSettings(false).enabled).toBe(false);
  });

  it('offer what is configured only', () => {
    const settings = { enabled: true, name: 'Guard', custom: ['custom:crafting'] };
    expect(capabilitiesOf(settings)).toEqual(['trade', 'emotion', 'memory']);
    const routeId = '01900000-0000-7000-8000-000000000001';
    expect(capabilitiesOf({ ...settings, routeId })).toEqual([
      'social',
      'trade',
      'emotion',
      'memory',
      'custom:crafting',
    ]);
  });

  it('offer duel and quest only with their contracts', () => {
    const chain = { rpcUrl: 'http://rpc.test', chainId: 1, tokens: [], limits: {} };
    const offered = (contracts: { arena?: string; quest?: string }) =>
      capabilitiesOf({ enabled: true, name: 'Guard', chain: { ...chain, contracts } });
    expect(offered({ arena: '0x' })).toEqual(['duel', 'trade', 'emotion', 'memory']);
    expect(offered({ quest: '0x' })).toEqual(['quest', 'trade', 'emotion', 'memory']);
  });

  it('know the names of custom capabilities', () => {
    expect(
      ['custom:crafting', 'crafting', 'custom:', 'custom:a b'].map((name) => CUSTOM_CAPABILITY.test(name)),
    ).toEqual([true, false, false, false]);
  });
});
