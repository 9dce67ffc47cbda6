import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Config } from '../config/config.ts';
import { packageVersion } from '../config/package-version.ts';
import { ChatPlacement } from '../core/cluster/chat-placement.ts';
import { AccountRegistry, accountsChanged, ClusterAccounts } from '../core/cluster/cluster-view.ts';
import { NodeBus, NodeCalls } from '../core/cluster/node-bus.ts';
import { repliesQueued } from '../core/delivery/deliver-reply.ts';
import type { Logger } from '../core/logger.ts';
import { PLAYGROUND } from '../core/playground/playground-account.ts';
import { presenceWanted, typingWanted } from '../core/policies/presence.ts';
import type { SettingsStore } from '../core/ports/settings-store.ts';
import { PostgresConsoleSessions } from '../features/access/console-sessions.ts';
import { PostgresApiKeyStore } from '../features/access/key-store.ts';
import { LiveFeed } from '../features/live/live-feed.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import { NodeConnection } from '../infra/db/connections/node-connection.ts';
import { PostgresCluster } from '../infra/db/stores/postgres-cluster.ts';
import { PostgresSettings } from '../infra/db/stores/postgres-settings.ts';
import type { LogLevel } from '../infra/logging/logger.ts';
import { playgroundInput } from '../providers/playground/playground-provider.ts';
import type { DatabaseParts, Part } from './database.ts';
import { LiveSettings } from './live-settings.ts';

export interface ClusterParts {
  bus: NodeBus<NodeConnection>;
  calls: NodeCalls;
  cluster: PostgresCluster;
  placement: ChatPlacement;
  /** The accounts that this node runs. */
  registry: AccountRegistry;
  /** The accounts of all nodes. */
  accounts: ClusterAccounts;
  /** What changes on all nodes, for the streams of this one. */
  liveFeed: LiveFeed;
  /** Keys of the API; a change applies on all nodes. */
  keys: PostgresApiKeyStore;
  /** Sessions of the console; a change applies on all nodes. */
  sessions: PostgresConsoleSessions;
  /** What admins change while wa2ai runs; a change applies on all nodes. */
  settingsStore: SettingsStore;
  /** Those of them that are used where nothing can wait for the database. */
  live: Pick<LiveSettings, 'current'>;
}

/** The parts that connect this node with the others on its database. */
export function createCluster(
  config: Config,
  database: DatabaseParts,
  logLevel: Pick<LogLevel, 'set'>,
  log: Logger,
): Part<ClusterParts> {
  const { nodeId, postgres, storage, databaseUrl } = database;
  const bus = new NodeBus(
    nodeId,
    (events) => new NodeConnection({ databaseUrl, nodeId, log: log.child({ mod: 'nodes' }), ...events }),
  );
  const cluster = new PostgresCluster(
    postgres,
    {
      nodeId,
      // A connection that found another role with the lock has another key.
      get lockKey() {
        return bus.transport.lockKey;
      },
      host: hostname(),
      version: packageVersion(),
    },
    config.leaseTtlMs,
  );
  const nodes = { bus, clock: systemClock };
  const settingsStore = new PostgresSettings(postgres, nodes);
  const live = new LiveSettings({
    config,
    store: settingsStore,
    bus,
    onChange: (settings) => logLevel.set(settings.logLevel),
    clock: systemClock,
    log: log.child({ mod: 'settings' }),
  });
  const registry = new AccountRegistry();
  const calls = new NodeCalls({ bus, clock: systemClock, newId: () => randomBytes(8).toString('hex') });
  const accounts = new ClusterAccounts({
    registry,
    bus,
    cluster,
    calls,
    clock: systemClock,
    storageTrouble: () => storage.trouble,
    viewLifetimeMs: (config.leaseTtlMs * 2) / 3,
  });
  const liveFeed = new LiveFeed({
    bus,
    changes: postgres.changes,
    otherNodes: () =>
      accounts.view.nodes.flatMap((node) => (node.isAlive && node.nodeId !== nodeId ? [node.nodeId] : [])),
    newRun: () => randomBytes(6).toString('hex'),
    clock: systemClock,
  });
  bus.on(typingWanted, ({ accountId, to, isTyping }) => {
    void registry.provider(accountId)?.setTyping(to, isTyping);
  });
  bus.on(presenceWanted, ({ accountId, key, emoji }) => {
    const provider = registry.provider(accountId);
    void (emoji === undefined ? provider?.markRead(key) : provider?.react(key, emoji));
  });
  bus.on(playgroundInput, () => registry.provider(PLAYGROUND)?.readNow?.());
  bus.on(repliesQueued, ({ accountId }) => registry.delivery(accountId)?.pollQueue());
  return {
    parts: {
      bus,
      calls,
      cluster,
      placement: new ChatPlacement(nodeId, systemClock),
      registry,
      accounts,
      liveFeed,
      keys: new PostgresApiKeyStore(postgres, nodes),
      sessions: new PostgresConsoleSessions(postgres, nodes),
      settingsStore,
      live,
    },
    start: async () => {
      await bus.transport.start();
      await live.start();
    },
    stop: async () => {
      live.stop();
      await cluster
        .leave()
        .catch((error: unknown) => log.debug({ err: error }, 'node not removed from the list'));
      bus.publish(accountsChanged());
      liveFeed.flush();
      await bus.transport.close();
    },
  };
}
