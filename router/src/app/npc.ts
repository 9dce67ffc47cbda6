import { randomBytes } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { isLoopbackHost } from '../config/config-fields.ts';
import { defaultNpcSettings, type NpcFaceSettings, npcFaceSettings } from '../core/npc/npc-settings.ts';
import type { FaceSettings } from '../core/ports/face-settings.ts';
import type { Logger } from '../core/ports/logger.ts';
import type { NpcEmotions } from '../core/ports/npc-emotions.ts';
import type { NpcMemories } from '../core/ports/npc-memories.ts';
import type { NpcTasks } from '../core/ports/npc-tasks.ts';
import type { NpcTrades } from '../core/ports/npc-trades.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import { NpcTaskFeed } from '../infra/faces/npc/npc-task-feed.ts';
import { CachedFaceSettings } from '../infra/storage/stores/cached-face-settings.ts';
import { PostgresFaceSettings } from '../infra/storage/stores/postgres-face-settings.ts';
import { PostgresNpcEmotions } from '../infra/storage/stores/postgres-npc-emotions.ts';
import { PostgresNpcMemories } from '../infra/storage/stores/postgres-npc-memories.ts';
import { PostgresNpcTasks } from '../infra/storage/stores/postgres-npc-tasks.ts';
import { PostgresNpcTrades } from '../infra/storage/stores/postgres-npc-trades.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts } from './database.ts';

/** What the NPC face stores, and the streams of its tasks on this node. */
export interface NpcParts {
  npcTasks: NpcTasks;
  emotions: NpcEmotions;
  memories: NpcMemories;
  trades: NpcTrades;
  faceSettings: FaceSettings;
  npcSettings(): Promise<NpcFaceSettings>;
  feed: NpcTaskFeed;
  mintTaskId(): string;
}

export function createNpc(
  config: Config,
  { postgres, bus }: DatabaseParts & ClusterParts,
  log: Logger,
): NpcParts {
  const npcTasks = new PostgresNpcTasks(postgres);
  const feed = new NpcTaskFeed({ npcTasks, clock: systemClock, log: log.child({ mod: 'npc' }) });
  bus.on('npc-task', ({ taskId }) => feed.changed(taskId));
  const faceSettings = new CachedFaceSettings(new PostgresFaceSettings(postgres), bus, systemClock);
  const npcSettings = async () => {
    const stored = npcFaceSettings.safeParse(await faceSettings.get('npc'));
    return stored.success ? stored.data : defaultNpcSettings(isLoopbackHost(config.host));
  };
  return {
    npcTasks,
    emotions: new PostgresNpcEmotions(postgres),
    memories: new PostgresNpcMemories(postgres),
    trades: new PostgresNpcTrades(postgres),
    faceSettings,
    npcSettings,
    feed,
    mintTaskId: () => `task_${randomBytes(12).toString('hex')}`,
  };
}
