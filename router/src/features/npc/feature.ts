import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { isLoopbackHost } from '../../config/config-fields.ts';
import type { Feature, Kernel, Service } from '../../feature.ts';
import { chainAccess } from './chain-access.ts';
import { ChainFollower } from './chain-follower.ts';
import { npcChainApi } from './npc-chain-api.ts';
import { npcFace } from './npc-face.ts';
import { defaultNpcSettings, type NpcFaceSettings, NpcSettingsStore } from './npc-settings.ts';
import { npcSettingsApi } from './npc-settings-api.ts';
import { NpcTaskFeed } from './npc-task-feed.ts';
import { npcTradesApi } from './npc-trades-api.ts';
import { startOpenTasks } from './open-npc-task.ts';
import { PostgresNpcChainEvents, PostgresNpcTransactions } from './postgres-npc-chain.ts';
import { PostgresNpcEmotions, PostgresNpcMemories, PostgresNpcTrades } from './postgres-npc-memories.ts';
import { PostgresNpcTasks } from './postgres-npc-tasks.ts';
import { runNpcTask } from './run-npc-task.ts';
import { ShortTasks } from './short-tasks.ts';

/** How often one node reads new blocks. */
const FOLLOW_EVERY_MS = 5_000;

/** wa2ai as an agent of the NPC Engine. */
export const npc: Feature = {
  name: 'npc',
  operations: (app) => [...npcSettingsApi(app), ...npcTradesApi(app), ...npcChainApi(app)],
  pages: (app) => npcFace({ ...app, log: app.logOf('npc') }),
  durable: {
    'npc-task': (service, steps, input) =>
      runNpcTask({ ...service, settings: service.npcSettings, log: service.logOf('npc') }, steps, input),
  },
  resume: (service, waitedMs) => startOpenTasks({ ...service, log: service.logOf('tasks') }, waitedMs),
  // The cursor of chain events stays: it is one row for each source.
  retention: {
    with: {
      text: [
        (before, batch) => sql`
          DELETE FROM npc_task WHERE id IN (
            SELECT id FROM npc_task WHERE status IN ('completed', 'failed') AND updated_at < ${before}::timestamptz
            ORDER BY id LIMIT ${batch})`,
        (before, batch) => sql`
          DELETE FROM npc_emotion WHERE task_id IN (
            SELECT task_id FROM npc_emotion WHERE at < ${before}::timestamptz LIMIT ${batch})`,
        (before, batch) => sql`
          DELETE FROM npc_transaction WHERE task_id IN (
            SELECT task_id FROM npc_transaction WHERE settled_at < ${before}::timestamptz LIMIT ${batch})`,
        (before, batch) => sql`
          DELETE FROM npc_chain_event WHERE id IN (
            SELECT id FROM npc_chain_event WHERE stored_at < ${before}::timestamptz ORDER BY id LIMIT ${batch})`,
      ],
    },
  },
  start: (service) => {
    const stopFollowing = followChain(service);
    return async () => {
      await stopFollowing();
      await service.shortTasks.stop();
    };
  },
};

/** What the NPC face stores, and the streams of its tasks on this node. */
export function npcServices(
  kernel: Kernel,
): Pick<
  Service,
  | 'npcTasks'
  | 'npcFeed'
  | 'emotions'
  | 'memories'
  | 'trades'
  | 'npcSettings'
  | 'putNpcSettings'
  | 'hasWalletKey'
  | 'chain'
  | 'chainEvents'
  | 'transactions'
  | 'mintTaskId'
  | 'shortTasks'
> {
  const { config, postgres, bus, faceSettings, transport, clock } = kernel;
  const log = kernel.logOf('npc');
  const npcTasks = new PostgresNpcTasks(postgres);
  const npcFeed = new NpcTaskFeed({ npcTasks, clock, log });
  npcTasks.onEnd((task) => npcFeed.show(task));
  bus.on('npc-task', ({ taskId }) => npcFeed.changed(taskId));
  const settings = new NpcSettingsStore(faceSettings, postgres.secrets);
  const key = config.npcWalletKey;
  const inUse = (stored: NpcFaceSettings | undefined): NpcFaceSettings => {
    const { chain, ...others } = stored ?? defaultNpcSettings(isLoopbackHost(config.host));
    return { ...others, ...(chain && key !== undefined && { chain }) };
  };
  const npcSettings = async () => inUse(await settings.get());
  const stored = {
    npcTasks,
    emotions: new PostgresNpcEmotions(postgres),
    memories: new PostgresNpcMemories(postgres),
    trades: new PostgresNpcTrades(postgres),
    transactions: new PostgresNpcTransactions(postgres),
    chainEvents: new PostgresNpcChainEvents(postgres),
    chain: chainAccess({ key, settings: npcSettings, transport }),
  };
  return {
    ...stored,
    npcFeed,
    npcSettings,
    putNpcSettings: (changed, check) => settings.put(changed, check && ((before) => check(inUse(before)))),
    hasWalletKey: key !== undefined,
    mintTaskId: () => `task_${randomUUID().replaceAll('-', '')}`,
    shortTasks: new ShortTasks({ ...stored, settings: npcSettings, clock, log }),
  };
}

/** Follows events of the contracts, and transactions that no task follows, on the coordinator. */
function followChain(service: Service): () => Promise<void> {
  const { clock, placement } = service;
  const follower = new ChainFollower({ ...service, log: service.logOf('npc') });
  const stopping = new AbortController();
  const keepFollowing = async () => {
    while (!stopping.signal.aborted) {
      if (placement.isCoordinator) await follower.sweep();
      await clock.sleep(FOLLOW_EVERY_MS, stopping.signal).catch(() => undefined);
    }
  };
  const following = keepFollowing();
  return async () => {
    stopping.abort();
    await following;
  };
}
