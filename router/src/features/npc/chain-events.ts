import { ChainSettingsError, type NpcChain } from './npc-chain.ts';
import type { NpcChainEvents } from './npc-chain-events.ts';
import type { NpcTask } from './npc-task.ts';

const MAX_LISTED = 50;

/**
 * Duels of the wallet, or completed quests, as the chain has recorded them; newest first.
 * @throws {StorageUnavailableError} safe to repeat
 */
export async function listChainEvents(
  { chain, chainEvents }: { chain(): Promise<NpcChain | undefined>; chainEvents: NpcChainEvents },
  { type }: Pick<NpcTask, 'type'>,
): Promise<Record<string, unknown>> {
  const current = await chain();
  if (!current)
    throw new ChainSettingsError('There are no chain settings, or this node has no key of the wallet.');
  const kind = type === 'duel' ? 'duel-created' : 'quest-completed';
  const events = await chainEvents.list({ source: current.eventSource, kind, limit: MAX_LISTED });
  const shown = events.map(({ values, transactionHash, blockNumber }) => ({
    ...values,
    transactionHash,
    blockNumber: Number(blockNumber),
  }));
  return { success: true, [type === 'duel' ? 'duels' : 'quests']: shown };
}
