import { expect, it } from 'vitest';
import type { ChainEvent } from '../../../router/src/features/npc/npc-chain.ts';
import { listChainEvents } from '../../../router/src/features/npc/short-tasks.ts';
import { MemoryNpcChainEvents } from '../../doubles/memory-npc-chain-events.ts';
import { ScriptedNpcChain } from '../../doubles/scripted-npc-chain.ts';

it('lists duels, or completed quests, of the chain in use', async () => {
  const chain = new ScriptedNpcChain();
  const chainEvents = new MemoryNpcChainEvents();
  const place = { blockNumber: 3n, transactionHash: '0xh' };
  const events: ChainEvent[] = [
    { kind: 'duel-created', ...place, logIndex: 0, values: { duelId: '1' } },
    { kind: 'quest-completed', ...place, logIndex: 1, values: { questId: '2' } },
  ];
  await chainEvents.store('test', events, { from: undefined, to: 3n });
  await chainEvents.store('other', events, { from: undefined, to: 3n });
  const deps = { chain: async () => chain, chainEvents };
  const shown = { transactionHash: '0xh', blockNumber: 3 };
  expect(await listChainEvents(deps, { type: 'duel' })).toEqual({
    success: true,
    duels: [{ duelId: '1', ...shown }],
  });
  expect(await listChainEvents(deps, { type: 'quest' })).toEqual({
    success: true,
    quests: [{ questId: '2', ...shown }],
  });
  await expect(listChainEvents({ ...deps, chain: async () => undefined }, { type: 'duel' })).rejects.toThrow(
    'no chain settings',
  );
});
