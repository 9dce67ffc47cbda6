import { createHash } from 'node:crypto';
import { backoffMs } from '../../router/src/core/clock.ts';
import { AccountEvents } from '../../router/src/core/cluster/account-events.ts';
import { ChatPlacement } from '../../router/src/core/cluster/chat-placement.ts';
import {
  AccountRegistry,
  accountsChanged,
  ClusterAccounts,
  statusRequest,
} from '../../router/src/core/cluster/cluster-view.ts';
import { type ConnectedAccount, LeaseManager } from '../../router/src/core/cluster/lease-manager.ts';
import { NodeBus, NodeCalls } from '../../router/src/core/cluster/node-bus.ts';
import { ReplyDelivery, repliesQueued } from '../../router/src/core/delivery/deliver-reply.ts';
import { mintWaMessageId } from '../../router/src/core/delivery/send-message.ts';
import type { Fence } from '../../router/src/core/ports/cluster.ts';
import type { AnswerDeps } from '../../router/src/core/turns/answer-message.ts';
import { CircuitBreakers } from '../../router/src/core/turns/ask-agent.ts';
import { ChatWorkers } from '../../router/src/core/turns/chat-workers.ts';
import { StoredMedia } from '../../router/src/core/turns/load-media.ts';
import { createBaileysProvider } from '../../router/src/providers/baileys/baileys-provider.ts';
import type { SeededRandom } from '../crash/random.ts';
import { MemoryChatStore } from '../doubles/memory-chat-store.ts';
import { builtInVersion } from '../doubles/memory-client-versions.ts';
import { MemoryState } from '../doubles/memory-state.ts';
import { shaping } from '../support/shaping.ts';
import { type EventLog, simLogger } from './event-log.ts';
import { type SimAgent, textAnsweredBy } from './sim-agent.ts';
import type { DatabaseSession, SimDatabase } from './sim-database.ts';
import type { SimMediaServer } from './sim-media-server.ts';
import type { SimProcess } from './sim-process.ts';
import { openSimSocket } from './sim-socket.ts';
import type { SimWhatsApp } from './sim-whatsapp.ts';

/** What can be switched off, to show that the simulation finds what it prevents. */
export const SAFEGUARDS = [
  'fence',
  'message-ids',
  'journal',
  'suspicion',
  'suspicion-of-replies',
  'suspicion-of-stanzas',
] as const;

export type Safeguard = (typeof SAFEGUARDS)[number];

/** A text at whose answer, reply or arrival the process ends, every time. */
export interface Poison {
  text: string;
  at: 'answer' | 'reply' | 'stanza';
}

export interface SimNodeDeps {
  nodeId: string;
  process: SimProcess;
  database: SimDatabase;
  /** WhatsApp as the account of this id sees it. */
  whatsAppOf(accountId: string): SimWhatsApp;
  mediaServer: SimMediaServer;
  agent: SimAgent;
  /** Ends the process that stores a message of this text, or sends a reply to it. */
  poison: Poison | undefined;
  kill(process: SimProcess): void;
  random: SeededRandom;
  log: EventLog;
  without: Safeguard | undefined;
}

/** As in `app/accounts`. */
const POLL_EVERY_MS = 5_000;
const STOP_GRACE_MS = 5_000;
/** Requests of one turn to an agent that is there and fails: MAX_ATTEMPTS of ask-agent. */
export const TURN_ATTEMPTS = 3;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** One process of wa2ai: the production core and WhatsApp provider, composed as `app/` does it, over simulated adapters. */
export class SimNode {
  readonly process: SimProcess;
  readonly session: DatabaseSession;
  readonly #deps: SimNodeDeps;
  readonly #registry = new AccountRegistry();
  readonly #bus: NodeBus;
  readonly #accounts: ClusterAccounts;
  readonly #workers: ChatWorkers;
  readonly #leases: LeaseManager;
  readonly #placement: ChatPlacement;
  readonly #stopping = new AbortController();
  #hasStarted = false;
  #onBack: () => void = () => undefined;

  constructor(deps: SimNodeDeps) {
    const { nodeId, process, database } = deps;
    this.#deps = deps;
    this.process = process;
    this.session = database.open(process, nodeId);
    this.#bus = new NodeBus(nodeId, ({ onMessage, onBack }) => {
      this.session.listen(onMessage);
      this.#onBack = onBack;
      return { publish: (payload) => this.session.publish(payload) };
    });
    const { session } = this;
    const { clock } = process;
    const log = simLogger(deps.log, process.name);
    this.#accounts = new ClusterAccounts({
      registry: this.#registry,
      bus: this.#bus,
      cluster: session.cluster,
      calls: new NodeCalls({ bus: this.#bus, clock, newId: () => String(deps.random.next()) }),
      clock,
      storageTrouble: () => undefined,
      viewLifetimeMs: (database.deps.leaseTtlMs * 2) / 3,
    });
    this.#placement = new ChatPlacement(nodeId, clock);
    const stopping = new AbortController();
    this.#workers = new ChatWorkers({
      nodeId,
      placement: this.#placement,
      bus: this.#bus,
      clock,
      stopping,
      answer: this.#answerDeps(stopping.signal),
    });
    this.#leases = new LeaseManager({
      nodeId,
      leases: session.leases,
      cluster: session.cluster,
      connect: (fence) => this.#connect(fence),
      turns: () => this.#workers.turns,
      onView: (view) => {
        this.#accounts.onClusterView(view);
        this.#workers.onClusterView(view);
      },
      notifyOthers: () => this.#bus.publish(accountsChanged()),
      connectedForMs: () => session.upForMs(),
      clock,
      monotonicMs: () => clock.monotonicMs(),
      ttlMs: database.deps.leaseTtlMs,
      log,
    });
    this.#bus.on(repliesQueued, ({ accountId }) => this.#registry.delivery(accountId)?.pollQueue());
    this.#bus.on(accountsChanged, () => this.#leases.checkNow());
    this.#bus.onBack(() => this.#greet());
    process.after(0, () => void this.#start());
  }

  /** The connection to the database is there again after a break. */
  connectionBack(): void {
    this.#onBack();
  }

  async #start(): Promise<void> {
    const { cluster } = this.session;
    for (;;) {
      try {
        this.#workers.onClusterView(await cluster.beat({ turns: 0, isDraining: false }));
        break;
      } catch {
        // A process that cannot start is started again.
        await this.process.clock.sleep(1_000);
      }
    }
    await this.#workers.start();
    await this.#leases.start();
    this.#hasStarted = true;
    this.#greet();
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.process.clock.sleep(POLL_EVERY_MS, signal).catch(() => undefined);
      if (!signal.aborted) this.#pollOutbox();
    }
  }

  /** The node has started, so it can be stopped. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** SIGTERM, as `app/accounts` stops: accounts and turns move to other nodes, or end here. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#placement.hasOthers)
      await Promise.all([this.#leases.drain(), this.#workers.stop(STOP_GRACE_MS)]);
    else await this.#workers.stop(STOP_GRACE_MS);
    await this.#leases.drain();
    await this.#leases.stop();
    await this.#workers.release();
  }

  #greet(): void {
    this.#bus.broadcast(accountsChanged());
    this.#bus.publish(statusRequest());
    this.#pollOutbox();
  }

  #pollOutbox(): void {
    for (const delivery of this.#registry.deliveries()) {
      delivery.pollQueue();
      void delivery.resendUnacknowledged();
    }
  }

  #mintId(): string {
    const { random } = this.#deps;
    return mintWaMessageId(Uint8Array.from({ length: 9 }, () => random.between(0, 255)));
  }

  #answerDeps(stopping: AbortSignal): AnswerDeps {
    const { process, agent, mediaServer, random } = this.#deps;
    return {
      inbox: this.session.inbox,
      routes: this.session.routes,
      matcher: { test: async () => 'match' },
      agents: agent.clients(process),
      environment: 'lab',
      media: new StoredMedia({
        inbox: this.session.inbox,
        download: ({ reference }) => mediaServer.download(process, reference),
        reload: async () => undefined,
        links: { isOn: false, urlOf: async () => undefined, open: async () => 'unknown' },
        log: simLogger(this.#deps.log, process.name),
      }),
      replyTokens: { issue: async () => 'token' },
      history: { pastTurns: async () => [], unanswered: async () => [] },
      ...shaping(),
      policies: [],
      languages: { languageOf: async () => undefined },
      chatStore: new MemoryChatStore(new MemoryState()),
      accountStore: { load: async () => ({ state: 'open', generation: 1 }) },
      policy: {
        tryForMs: 60_000,
        backoffMs: (attempt, retryAfterMs) =>
          backoffMs({ attempt, retryAfterMs, maxMs: 10_000, random: () => random.next() }),
      },
      circuits: new CircuitBreakers(),
      accounts: this.#registry,
      bus: this.#bus,
      mintId: () => this.#mintId(),
      stopping,
      clock: process.clock,
      log: simLogger(this.#deps.log, process.name),
    };
  }

  /** As `app/accounts` connects one account under its lease. */
  async #connect(leased: Fence): Promise<ConnectedAccount> {
    const { process, whatsAppOf, mediaServer, random, without } = this.#deps;
    const fence = without === 'fence' ? neverLost(leased) : leased;
    const { accountId } = fence;
    const log = simLogger(this.#deps.log, process.name, { epoch: leased.epoch });
    const { inbox: ownInbox, outbox, keys, journal, accounts } = this.session.owned(fence);
    const isPoison = (at: Poison['at'], text: string) =>
      this.#deps.poison?.at === at && this.#deps.poison.text === text;
    const end = () => {
      this.#deps.kill(process);
      return new Promise<never>(() => undefined);
    };
    const inbox = new Proxy(ownInbox, {
      get: (target, method) =>
        method === 'add'
          ? (...args: Parameters<typeof target.add>) =>
              isPoison('stanza', args[0].text) ? end() : target.add(...args)
          : Reflect.get(target, method),
    });
    const events = new AccountEvents({
      fence,
      inbox,
      outbox,
      registry: this.#registry,
      accounts: this.#accounts,
      workers: this.#workers,
      routes: this.session.routes,
      chatStore: {
        get: async () => undefined,
        decideAccess: async () => undefined,
        routeFacts: async () => undefined,
        lock: async () => undefined,
        nameGroup: async () => undefined,
      },
      languages: { languageOf: async () => undefined },
      sendNotice: async () => undefined,
      drafts: { get: async () => undefined, approve: async () => undefined, drop: async () => false },
      deliverReplies: () => undefined,
      matcher: { test: async () => 'no-match' },
      conversation: async () => ({}),
      environment: 'lab',
      clock: process.clock,
      log,
    });
    const provider = createBaileysProvider({
      accountId,
      events,
      keyStore: keys,
      accountStore: accounts,
      journal,
      findSentMessage: (waMessageId) => outbox.findByWaId(accountId, waMessageId),
      findOriginal: (edit, waMessageId) => inbox.original(edit, waMessageId),
      clock: process.clock,
      log,
      versions: builtInVersion(process.clock),
      maxMessageAgeMs: () => DAY_MS,
      random: () => random.next(),
      storage: this.session.storage,
      fence,
      connect: (input) => openSimSocket(input, whatsAppOf(accountId).connect(process)),
    });
    const delivery = new ReplyDelivery({
      outbox,
      provider: {
        accountId,
        untilLimitsKnown: () => undefined,
        send: (message, content) =>
          isPoison('reply', textAnsweredBy(message.text))
            ? end()
            : provider.send(
                without === 'message-ids' ? { ...message, waMessageId: this.#mintId() } : message,
                content,
              ),
        // The real one encrypts the file on the disk, in real time.
        upload: (message, bytes) => mediaServer.upload(process, message, bytes),
        status: () => provider.status(),
      },
      fence,
      suspects: this.#workers.suspects,
      log,
      clock: process.clock,
    });
    const account = { provider, delivery };
    this.#registry.add(account);
    await provider.start();
    const remove = () => this.#registry.remove(account);
    return {
      async stop() {
        await delivery.finish();
        await provider.stop();
        remove();
      },
      async abandon() {
        remove();
        await provider.abandon();
      },
    };
  }
}

function neverLost({ accountId, owner, epoch }: Fence): Fence {
  const always = { isHeld: () => true, verify: async () => undefined, isTakeOver: false };
  return { accountId, owner, epoch, ...always, lose: () => undefined };
}

/** A number for a name, the same in each run. */
export function seedOf(seed: number, name: string): number {
  return createHash('sha256').update(`${seed} ${name}`).digest().readUInt32BE(0);
}
