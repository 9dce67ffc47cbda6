import { randomBytes } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { isLoopbackHost } from '../config/config-fields.ts';
import { defaultNpcSettings, type NpcFaceSettings } from '../core/npc/npc-settings.ts';
import type { FaceSettings } from '../core/ports/face-settings.ts';
import type { Logger } from '../core/ports/logger.ts';
import type { NpcChain } from '../core/ports/npc-chain.ts';
import type { NpcChainEvents } from '../core/ports/npc-chain-events.ts';
import type { NpcEmotions } from '../core/ports/npc-emotions.ts';
import type { NpcMemories } from '../core/ports/npc-memories.ts';
import type { NpcTasks } from '../core/ports/npc-tasks.ts';
import type { NpcTrades } from '../core/ports/npc-trades.ts';
import type { NpcTransactions } from '../core/ports/npc-transactions.ts';
import { chainAccess } from '../infra/chain/chain-access.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import { NpcTaskFeed } from '../infra/faces/npc/npc-task-feed.ts';
import { CachedFaceSettings } from '../infra/storage/stores/cached-face-settings.ts';
import { NpcSettingsStore } from '../infra/storage/stores/npc-settings-store.ts';
import { PostgresFaceSettings } from '../infra/storage/stores/postgres-face-settings.ts';
import { PostgresNpcChainEvents } from '../infra/storage/stores/postgres-npc-chain-events.ts';
import { PostgresNpcEmotions } from '../infra/storage/stores/postgres-npc-emotions.ts';
import { PostgresNpcMemories } from '../infra/storage/stores/postgres-npc-memories.ts';
import { PostgresNpcTasks } from '../infra/storage/stores/postgres-npc-tasks.ts';
import { PostgresNpcTrades } from '../infra/storage/stores/postgres-npc-trades.ts';
import { PostgresNpcTransactions } from '../infra/storage/stores/postgres-npc-transactions.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts } from './database.ts';
import type { TurnParts } from './turns.ts';

/** What the NPC face stores, and the streams of its tasks on this node. */
export interface NpcParts {
  npcTasks: NpcTasks;
  emotions: NpcEmotions;
  memories: NpcMemories;
  trades: NpcTrades;
  faceSettings: FaceSettings;
  /** Those in use: without the chain on a node that has no key of the wallet. */
  npcSettings(): Promise<NpcFaceSettings>;
  putNpcSettings(settings: NpcFaceSettings): Promise<void>;
  /** The wallet and the contracts; undefined: there are no chain settings, or no key. */
  chain(): Promise<NpcChain | undefined>;
  transactions: NpcTransactions;
  chainEvents: NpcChainEvents;
  feed: NpcTaskFeed;
  mintTaskId(): string;
}

export function createNpc(
  config: Config,
  { postgres, bus, transport }: DatabaseParts & ClusterParts & Pick<TurnParts, 'transport'>,
  log: Logger,
): NpcParts {
  const npcTasks = new PostgresNpcTasks(postgres);
  const feed = new NpcTaskFeed({ npcTasks, clock: systemClock, log: log.child({ mod: 'npc' }) });
  bus.on('npc-task', ({ taskId }) => feed.changed(taskId));
  const faceSettings = new CachedFaceSettings(new PostgresFaceSettings(postgres), bus, systemClock);
  const settings = new NpcSettingsStore(faceSettings, postgres.secrets);
  const key = config.npcWalletKey;
  const npcSettings = async () => {
    const { chain, ...others } = (await settings.get()) ?? defaultNpcSettings(isLoopbackHost(config.host));
    return { ...others, ...(chain && key !== undefined && { chain }) };
  };
  return {
    npcTasks,
    emotions: new PostgresNpcEmotions(postgres),
    memories: new PostgresNpcMemories(postgres),
    trades: new PostgresNpcTrades(postgres),
    faceSettings,
    npcSettings,
    putNpcSettings: (changed) => settings.put(changed),
    chain: chainAccess({ key, settings: npcSettings, transport }),
    transactions: new PostgresNpcTransactions(postgres),
    chainEvents: new PostgresNpcChainEvents(postgres),
    feed,
    mintTaskId: () => `task_${randomBytes(12).toString('hex')}`,
  };
}
