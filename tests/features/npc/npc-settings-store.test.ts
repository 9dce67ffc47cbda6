import { expect, it } from 'vitest';
import { NpcSettingsStore } from '../../../router/src/features/npc/npc-chain.ts';
import { MemorySettings } from '../../doubles/memory-settings.ts';

const cipher = {
  sealText: (text: string, context: string) => `sealed ${context} ${[...text].reverse().join('')}`,
  openText: (text: string, context: string) =>
    [...text.slice(`sealed ${context} `.length)].reverse().join(''),
};

it('encrypts the RPC URL, and nothing else of the settings', async () => {
  const table = new MemorySettings();
  const store = new NpcSettingsStore(table, cipher);
  expect(await store.get()).toBeUndefined();
  await store.put({ enabled: true, name: 'Guard' });
  expect(await store.get()).toEqual({ enabled: true, name: 'Guard' });
  const chain = {
    rpcUrl: 'https://rpc.test/secret',
    chainId: 1,
    contracts: { arena: '0x1' },
    tokens: ['0x2'],
    limits: { wager: '5' },
  };
  const settings = { enabled: true, name: 'Guard', chain };
  await store.put(settings);
  expect(JSON.stringify(await table.get('npc'))).not.toContain('secret');
  expect(await store.get()).toEqual(settings);
  await table.put('npc', { enabled: 'yes' });
  expect(await store.get()).toBeUndefined();
});
