import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { isLoopbackHost } from '../../config/config-fields.ts';
import type { Feature, Kernel, Service } from '../../feature.ts';
import type { AgentTransport } from '../../infra/agents/transport/agent-transport.ts';
import { secretText } from '../../infra/db/encryption/secret-cipher.ts';
import { npcApi } from './npc-api.ts';
import {
  defaultNpcSettings,
  type NpcChain,
  type NpcServerSettings,
  NpcSettingsStore,
  RPC_URL_CONTEXT,
} from './npc-chain.ts';
import { npcServer } from './npc-server.ts';
import { NpcTaskFeed, npcTaskChanged } from './npc-task-feed.ts';
import { openNpcTasks } from './open-npc-task.ts';
import { PostgresNpcChainEvents, PostgresNpcTransactions } from './postgres-npc-chain.ts';
import { PostgresNpcEmotions, PostgresNpcMemories, PostgresNpcTrades } from './postgres-npc-memories.ts';
import { PostgresNpcTasks } from './postgres-npc-tasks.ts';
import { runNpcTask } from './run-npc-task.ts';
import { ChainFollower, ShortTasks } from './short-tasks.ts';

/** How often one node reads new blocks. */
const FOLLOW_EVERY_MS = 5_000;

/** wa2ai as an agent of the NPC Engine. */
export const npc: Feature = {
  name: 'npc',
  tags: { Agents: 'wa2ai as an agent of other agents: the NPC server.' },
  secrets: [
    secretText({
      table: 'face_setting',
      column: 'settings',
      text: `(settings #>> '{chain,rpcUrl}')`,
      typed: (text) => `jsonb_set(settings, '{chain,rpcUrl}', to_jsonb(${text}))`,
      context: RPC_URL_CONTEXT,
    }),
  ],
  noteChanges: (bus, note) => {
    bus.on(npcTaskChanged, ({ taskId }) => note({ type: 'task', id: taskId, face: 'npc' }));
  },
  operations: npcApi,
  pages: (app) => npcServer({ ...app, log: app.logOf('npc') }),
  durable: {
    'npc-task': (service, steps, input) =>
      runNpcTask({ ...service, settings: service.npcSettings, log: service.logOf('npc') }, steps, input),
  },
  openTasks: openNpcTasks,
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

/** What the NPC server stores, and the streams of its tasks on this node. */
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
  const { config, postgres, bus, settingsStore, transport, clock } = kernel;
  const log = kernel.logOf('npc');
  const npcTasks = new PostgresNpcTasks(postgres);
  const npcFeed = new NpcTaskFeed({ npcTasks, clock, log });
  npcTasks.onEnd((task) => npcFeed.show(task));
  bus.on(npcTaskChanged, ({ taskId }) => npcFeed.changed(taskId));
  const settings = new NpcSettingsStore(settingsStore, postgres.secrets);
  const key = config.npcWalletKey;
  const inUse = (stored: NpcServerSettings | undefined): NpcServerSettings => {
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

/** The chain of the settings of the moment. viem is loaded when there are some. */
export function chainAccess({
  key,
  settings,
  transport,
}: {
  key: string | undefined;
  settings(): Promise<NpcServerSettings>;
  transport: Pick<AgentTransport, 'fetch'>;
}): () => Promise<NpcChain | undefined> {
  let current: { of: string; chain: NpcChain } | undefined;
  return async () => {
    // First: a node without the key reads no settings for it.
    if (key === undefined) return undefined;
    const { chain } = await settings();
    if (!chain) return undefined;
    const of = JSON.stringify(chain);
    if (current?.of !== of) {
      const { ViemNpcChain } = await import('./viem-npc-chain.ts');
      current = { of, chain: new ViemNpcChain({ settings: chain, key, transport }) };
    }
    return current.chain;
  };
}
