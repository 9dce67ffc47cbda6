import { expect, it } from 'vitest';
import { chainAccess } from '../../../router/src/features/npc/feature.ts';
import type { NpcServerSettings } from '../../../router/src/features/npc/npc-chain.ts';

const transport = { fetch: () => Promise.reject(new Error('no request is expected')) };
const address = `0x${'1'.repeat(40)}`;

it('has the chain of the settings of the moment, and none without the key of the wallet', async () => {
  const current: NpcServerSettings = { enabled: true, name: 'Guard' };
  const settings = async () => current;
  const access = chainAccess({ key: `0x${'1'.repeat(64)}`, settings, transport });
  expect(await access()).toBeUndefined();
  const chain = {
    rpcUrl: 'http://rpc.test',
    chainId: 1,
    contracts: { arena: address },
    tokens: [address],
    limits: { wager: '1' },
  };
  current.chain = chain;
  const first = await access();
  expect(first).toMatchObject({
    chainId: 1,
    confirmations: 5,
    wallet: '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a',
  });
  expect(await access()).toBe(first);
  current.chain = { ...chain, chainId: 2, confirmations: 0 };
  expect(await access()).toMatchObject({ chainId: 2, confirmations: 0 });
  const unread = () => Promise.reject(new Error('no settings are read without the key'));
  expect(await chainAccess({ key: undefined, settings: unread, transport })()).toBeUndefined();
});
