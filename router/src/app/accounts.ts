import type { Config } from '../config/config.ts';
import { AccountEvents } from '../core/cluster/account-events.ts';
import { accountsChanged, statusRequest } from '../core/cluster/cluster-view.ts';
import { type ConnectedAccount, LeaseManager } from '../core/cluster/lease-manager.ts';
import { deliverReplies, ReplyDelivery } from '../core/delivery/deliver-reply.ts';
import { ContactGovernor, NumberLookUps } from '../core/delivery/govern-contacts.ts';
import { SendRateLimiter } from '../core/delivery/limit-send-rate.ts';
import type { Logger } from '../core/logger.ts';
import { lastGovernorOf } from '../core/policies/governor.ts';
import type { AccountStatus, ChatProvider } from '../core/ports/chat-provider.ts';
import type { Fence } from '../core/ports/cluster.ts';
import { firstRouteCommand } from '../core/routing/route-message.ts';
import { PostgresChatStore } from '../features/chats/postgres-chat-store.ts';
import { PostgresDrafts } from '../features/drafts/postgres-drafts.ts';
import { TerminalPairing } from '../features/pages/qr-page.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import { PostgresAccountLeases } from '../infra/db/stores/postgres-account-lease.ts';
import { PostgresInbox } from '../infra/db/stores/postgres-inbox.ts';
import { PostgresOutbox } from '../infra/db/stores/postgres-outbox.ts';
import type { AccountProxies } from '../providers/baileys/connection/account-proxies.ts';
import type { ClientVersions } from '../providers/baileys/connection/client-versions.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts, Part } from './database.ts';
import { type FaultPoints, providerOf } from './provider.ts';
import type { TurnParts } from './turns.ts';

/** How long turns that run may take to end when the service stops; the others continue at the next start. */
const STOP_GRACE_MS = 5_000;
/** The rest of the start waits for a connection for no longer than this. */
const CONNECTING_MS = 1_000;
/** How often the outbox is read for replies of other nodes whose message to this node was lost, and for missing acks. */
const POLL_EVERY_MS = 5_000;

interface AccountsDeps extends DatabaseParts, ClusterParts, TurnParts {
  config: Config;
  faults: FaultPoints;
  versions: ClientVersions;
  proxies: AccountProxies;
  /** Address of the pages. */
  url: string;
  log: Logger;
}

interface AccountsParts {
  leases: LeaseManager;
  /**
   * Resolves when an account of this node is connected, or waits for a person or for WhatsApp; when there is none, and after a
   * second in any case.
   */
  untilSettled(): Promise<void>;
  /** The pages are served: shows on a terminal where they are. */
  showPages(): void;
}

/** The WhatsApp accounts: started, this node takes its share of them, and answers their messages. */
export function createAccounts(deps: AccountsDeps): Part<AccountsParts> {
  const { config, postgres, nodeId, bus, cluster, placement, registry, accounts, workers, log } = deps;
  const terminal = new TerminalPairing(
    (text) => process.stdout.write(text),
    () => deps.url,
  );
  const checkedForRoutes = new Set<string>();
  /**
   * Logs once per account how to add its first route, when it is connected and has none. Routes that cannot be read are
   * checked with the next status.
   */
  const checkRoutes = async ({ accountId, state, provider }: AccountStatus) => {
    if (provider || state !== 'open' || checkedForRoutes.has(accountId)) return;
    checkedForRoutes.add(accountId);
    const found = await deps.routes.list({ accountId }).catch(() => undefined);
    if (!found) checkedForRoutes.delete(accountId);
    if (found?.length !== 0) return;
    const command = firstRouteCommand(deps.url, accountId, config.environment);
    log.warn({ accountId, command }, 'no route exists, so no message is answered');
  };
  const settled = new AbortController();
  const onStatus = (status: AccountStatus) => {
    if (status.state !== 'starting' && status.state !== 'connecting') settled.abort();
    deps.liveFeed.noteStatus(status);
    void checkRoutes(status);
    if (process.stdout.isTTY) void terminal.show(status);
  };
  const leases = new LeaseManager({
    nodeId,
    leases: new PostgresAccountLeases(postgres, { owner: nodeId, ttlMs: config.leaseTtlMs }),
    cluster,
    connect: (fence) => connectAccount({ ...deps, onStatus }, fence),
    turns: () => workers.turns,
    onView: (view) => {
      accounts.onClusterView(view);
      deps.liveFeed.onClusterView();
      workers.onClusterView(view);
    },
    notifyOthers: () => bus.publish(accountsChanged()),
    connectedForMs: () => bus.transport.upForMs,
    clock: systemClock,
    monotonicMs: () => performance.now(),
    ttlMs: config.leaseTtlMs,
    log: log.child({ mod: 'nodes' }),
  });
  const pollOutbox = () => {
    for (const delivery of registry.deliveries()) {
      delivery.pollQueue();
      void delivery.resendUnacknowledged();
    }
  };
  const announce = () => {
    bus.broadcast(accountsChanged());
    bus.publish(statusRequest());
    pollOutbox();
  };
  bus.on(accountsChanged, () => leases.checkNow());
  bus.onBack(announce);
  const stopping = new AbortController();
  return {
    parts: {
      leases,
      untilSettled: async () => {
        if (leases.owned().size === 0) return;
        await systemClock.sleep(CONNECTING_MS, settled.signal).catch(() => undefined);
      },
      showPages: () => {
        if (process.stdout.isTTY) terminal.ready();
      },
    },
    start: async () => {
      cluster.join(deps.url);
      await cluster.addAccount(config.accountId);
      workers.onClusterView(await cluster.beat({ turns: 0, isDraining: false }));
      await workers.start();
      await leases.start();
      void every(POLL_EVERY_MS, stopping.signal, pollOutbox);
      announce();
    },
    stop: async () => {
      stopping.abort();
      // Alone, this node still sends the last replies; among others, accounts move first and their new nodes send them.
      if (placement.hasOthers) await Promise.all([leases.drain(), workers.stop(STOP_GRACE_MS)]);
      else await workers.stop(STOP_GRACE_MS);
      await leases.drain();
      await leases.stop();
      await workers.release();
    },
  };
}

async function every(ms: number, stopping: AbortSignal, work: () => void): Promise<void> {
  while (!stopping.aborted) {
    await systemClock.sleep(ms, stopping).catch(() => undefined);
    if (!stopping.aborted) work();
  }
}

/** Connects one account under its lease: a provider, the delivery of its replies, and what both store. */
async function connectAccount(
  deps: AccountsDeps & { onStatus(status: AccountStatus): void },
  fence: Fence,
): Promise<ConnectedAccount> {
  const { config, postgres, faults, registry } = deps;
  const { accountId } = fence;
  const log = deps.log.child({ mod: 'whatsapp', accountId });
  const outbox = new PostgresOutbox(postgres, fence);
  const inbox = faults.inbox(new PostgresInbox(postgres, fence));
  const { environment } = config;
  const conversation = () => deps.shaping.conversation();
  const chatStore = new PostgresChatStore(postgres);
  const events = new AccountEvents({
    ...deps,
    chatStore,
    drafts: new PostgresDrafts(postgres),
    deliverReplies: (replies) => deliverReplies({ accounts: registry, bus: deps.bus }, replies),
    conversation,
    fence,
    inbox,
    outbox,
    environment,
    clock: systemClock,
    log,
  });
  const view = deps.accounts.view.accounts.find((each) => each.accountId === accountId);
  const provider = providerOf(view).create({ ...deps, fence, inbox, outbox, events, log });
  const governorOf = lastGovernorOf(accountId);
  const governor = {
    settings: async () => governorOf(await deps.settingsStore.get('governor')),
    clock: systemClock,
    random: Math.random,
  };
  const deliveryLog = deps.log.child({ mod: 'delivery', accountId });
  const numbers = new NumberLookUps({ provider, outbox, clock: systemClock, log: deliveryLog });
  const delivery = new ReplyDelivery({
    outbox,
    provider: observedProvider(provider, (sender) => {
      faults.pass('after-socket-write');
      deps.metrics.observeSent(sender);
    }),
    sendRate: new SendRateLimiter({
      ...governor,
      setTyping: (to, isTyping) => provider.setTyping(to, isTyping),
    }),
    governor: new ContactGovernor({
      ...governor,
      outbox,
      numbers,
      onDelayed: (reason) => deps.metrics.observeGovernorDelay(accountId, reason),
    }),
    fence,
    current: deps.current,
    suspects: deps.workers.suspects,
    log: deliveryLog,
    ackTimeoutMs: config.ackTimeoutMs,
    clock: systemClock,
  });
  const account = { provider, delivery, numbers };
  registry.add(account);
  try {
    await provider.start();
  } catch (error) {
    registry.remove(account);
    throw error;
  }
  return {
    async stop() {
      await delivery.finish();
      await provider.stop();
      registry.remove(account);
    },
    async abandon() {
      registry.remove(account);
      await provider.abandon();
    },
  };
}

type Sender = Pick<ChatProvider, 'accountId' | 'send' | 'upload' | 'status' | 'untilLimitsKnown'>;

/** The sending side of a provider; calls `onSent` after each message that was written to the socket. */
export function observedProvider(provider: Sender, onSent: (accountId: string) => void): Sender {
  const { accountId } = provider;
  return {
    accountId,
    send: async (...message) => {
      await provider.send(...message);
      onSent(accountId);
    },
    upload: (...file) => provider.upload(...file),
    status: () => provider.status(),
    untilLimitsKnown: () => provider.untilLimitsKnown(),
  };
}
