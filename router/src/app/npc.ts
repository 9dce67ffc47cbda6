import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { isLoopbackHost } from '../config/config-fields.ts';
import type { TaskFunctions } from '../core/ports/durable-tasks.ts';
import type { Logger } from '../core/ports/logger.ts';
import { chainAccess } from '../features/npc/chain-access.ts';
import type { NpcEmotions, NpcMemories } from '../features/npc/memories.ts';
import type { NpcChain, NpcChainEvents, NpcTransactions } from '../features/npc/npc-chain.ts';
import { defaultNpcSettings, type NpcFaceSettings, NpcSettingsStore } from '../features/npc/npc-settings.ts';
import { NpcTaskFeed } from '../features/npc/npc-task-feed.ts';
import type { NpcTasks } from '../features/npc/npc-tasks.ts';
import { PostgresNpcChainEvents, PostgresNpcTransactions } from '../features/npc/postgres-npc-chain.ts';
import {
  PostgresNpcEmotions,
  PostgresNpcMemories,
  PostgresNpcTrades,
} from '../features/npc/postgres-npc-memories.ts';
import { PostgresNpcTasks } from '../features/npc/postgres-npc-tasks.ts';
import { type RunNpcTaskDeps, runNpcTask } from '../features/npc/run-npc-task.ts';
import { type ShortTaskDeps, ShortTasks } from '../features/npc/short-tasks.ts';
import type { NpcTrades } from '../features/npc/trades.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts } from './database.ts';
import type { DeliveryParts } from './delivery.ts';
import type { TurnParts } from './turns.ts';

/** What the NPC face stores, and the streams of its tasks on this node. */
export interface NpcParts {
  npcTasks: NpcTasks;
  emotions: NpcEmotions;
  memories: NpcMemories;
  trades: NpcTrades;
  /** Those in use: without the chain on a node that has no key of the wallet. */
  npcSettings(): Promise<NpcFaceSettings>;
  putNpcSettings(settings: NpcFaceSettings, check?: (inUse: NpcFaceSettings) => void): Promise<void>;
  /** The wallet and the contracts; undefined: there are no chain settings, or no key. */
  chain(): Promise<NpcChain | undefined>;
  transactions: NpcTransactions;
  chainEvents: NpcChainEvents;
  feed: NpcTaskFeed;
  mintTaskId(): string;
  runNpcTask: TaskFunctions['npc-task'];
  shortTasks: ShortTasks;
}

export function createNpc(
  config: Config,
  parts: DatabaseParts & ClusterParts & TurnParts & DeliveryParts,
  log: Logger,
): NpcParts {
  const { postgres, bus, faceSettings, transport, routes, agents, sendMessage } = parts;
  const npcLog = log.child({ mod: 'npc' });
  const npcTasks = new PostgresNpcTasks(postgres);
  const emotions = new PostgresNpcEmotions(postgres);
  const memories = new PostgresNpcMemories(postgres);
  const trades = new PostgresNpcTrades(postgres);
  const feed = new NpcTaskFeed({ npcTasks, clock: systemClock, log: npcLog });
  npcTasks.onEnd((task) => feed.show(task));
  bus.on('npc-task', ({ taskId }) => feed.changed(taskId));
  const settings = new NpcSettingsStore(faceSettings, postgres.secrets);
  const key = config.npcWalletKey;
  const inUse = (stored: NpcFaceSettings | undefined): NpcFaceSettings => {
    const { chain, ...others } = stored ?? defaultNpcSettings(isLoopbackHost(config.host));
    return { ...others, ...(chain && key !== undefined && { chain }) };
  };
  const npcSettings = async () => inUse(await settings.get());
  const chain = chainAccess({ key, settings: npcSettings, transport });
  const transactions = new PostgresNpcTransactions(postgres);
  const chainEvents = new PostgresNpcChainEvents(postgres);
  const performed: RunNpcTaskDeps & ShortTaskDeps = {
    npcTasks,
    emotions,
    memories,
    trades,
    settings: npcSettings,
    chain,
    transactions,
    chainEvents,
    routes,
    agents,
    sendMessage,
    clock: systemClock,
    random: Math.random,
    log: npcLog,
  };
  return {
    npcTasks,
    emotions,
    memories,
    trades,
    npcSettings,
    putNpcSettings: (changed, check) => settings.put(changed, check && ((stored) => check(inUse(stored)))),
    chain,
    transactions,
    chainEvents,
    feed,
    mintTaskId: () => `task_${randomUUID().replaceAll('-', '')}`,
    runNpcTask: (steps, input) => runNpcTask(performed, steps, input),
    shortTasks: new ShortTasks(performed),
  };
}
