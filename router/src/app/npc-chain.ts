import type { Logger } from '../core/ports/logger.ts';
import { ChainFollower } from '../features/npc/chain-follower.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import type { ClusterParts } from './cluster.ts';
import type { NpcParts } from './npc.ts';
import type { Part } from './part.ts';

/** How often one node reads new blocks. */
const FOLLOW_EVERY_MS = 5_000;

/** Follows events of the contracts, and transactions that no task follows, on the coordinator. */
export function followChain(
  { chain, chainEvents, transactions, placement }: NpcParts & ClusterParts,
  log: Logger,
): Part<undefined> {
  const stopping = new AbortController();
  const npcLog = log.child({ mod: 'npc' });
  const follower = new ChainFollower({ chain, chainEvents, transactions, clock: systemClock, log: npcLog });
  const keepFollowing = async () => {
    while (!stopping.signal.aborted) {
      if (placement.isCoordinator) await follower.sweep();
      await systemClock.sleep(FOLLOW_EVERY_MS, stopping.signal).catch(() => undefined);
    }
  };
  let following: Promise<void> | undefined;
  return {
    parts: undefined,
    start: async () => {
      following = keepFollowing();
    },
    stop: async () => {
      stopping.abort();
      await following;
    },
  };
}
