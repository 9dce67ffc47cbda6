import type { Config } from '../config/config.ts';
import type { FaultPlan, FaultPoint } from '../config/config-fields.ts';
import type { AgentClient, AgentClients } from '../core/agent-client.ts';
import { MediaError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { say } from '../core/phrases.ts';
import { playgroundFileId } from '../core/playground/playground-account.ts';
import type { ChatProvider, ProviderEvents } from '../core/ports/chat-provider.ts';
import type { Fence } from '../core/ports/cluster.ts';
import type { Inbox } from '../core/ports/inbox.ts';
import type { KeyStore, MessageIntake } from '../core/ports/key-store.ts';
import type { Outbox } from '../core/ports/outbox.ts';
import type { Playground } from '../core/ports/playground.ts';
import type { StorageHealth } from '../core/ports/storage-health.ts';
import type { CurrentWork } from '../core/suspects.ts';
import { PostgresAccountStore } from '../features/accounts/postgres-account-store.ts';
import { PostgresPlayground } from '../features/playground/postgres-playground.ts';
import type { Metrics } from '../features/stats/metrics.ts';
import { systemClock as clock } from '../infra/clock/system-clock.ts';
import type { Postgres } from '../infra/db/postgres.ts';
import { PostgresJournal } from '../infra/db/stores/postgres-journal.ts';
import { PostgresKeyStore } from '../infra/db/stores/postgres-key-store.ts';
import { createBaileysProvider } from '../providers/baileys/baileys-provider.ts';
import type { AccountProxies } from '../providers/baileys/connection/account-proxies.ts';
import type { ClientVersions } from '../providers/baileys/connection/client-versions.ts';
import { downloadMedia } from '../providers/baileys/media/media.ts';
import { PlaygroundProvider } from '../providers/playground/playground-provider.ts';
import type { ClusterParts } from './cluster.ts';

/** What an account is connected with. */
interface ProviderDeps {
  config: Config;
  postgres: Postgres;
  storage: StorageHealth;
  faults: FaultPoints;
  fence: Fence;
  inbox: Pick<Inbox, 'original'>;
  outbox: Pick<Outbox, 'findByWaId'>;
  events: ProviderEvents & MessageIntake;
  metrics: Pick<Metrics, 'observeResendRefused'>;
  versions: ClientVersions;
  proxies: AccountProxies;
  bus: ClusterParts['bus'];
  live: ClusterParts['live'];
  current: CurrentWork;
  log: Logger;
}

/** How a file is downloaded; `proxy`: of the account, absent: directly. */
type DownloadBy = Pick<Parameters<typeof downloadMedia>[1], 'proxy' | 'signal'>;

/** A way to people. */
interface ProviderKind {
  /** An account on this node, not connected yet. */
  create(deps: ProviderDeps): ChatProvider;
  /** The bytes of a file that a message refers to. @throws {MediaError} */
  downloadMedia(config: Config, reference: string, options?: DownloadBy): Promise<Uint8Array>;
}

/** The way into WhatsApp. */
export const whatsApp: ProviderKind = {
  create: ({
    config,
    postgres,
    storage,
    faults,
    fence,
    inbox,
    outbox,
    events,
    metrics,
    versions,
    proxies,
    current,
    live,
    log,
  }) => {
    const { accountId } = fence;
    return createBaileysProvider({
      accountId,
      events: faults.events(events),
      keyStore: faults.keyStore(new PostgresKeyStore(postgres, fence)),
      accountStore: new PostgresAccountStore(postgres, fence),
      journal: new PostgresJournal(postgres, fence),
      findSentMessage: (waMessageId) => outbox.findByWaId(accountId, waMessageId),
      findOriginal: (edit, waMessageId) => inbox.original(edit, waMessageId),
      current,
      clock,
      log,
      whatsappWsUrl: config.whatsappWsUrl,
      versions,
      proxy: () => proxies.of(accountId),
      maxMessageAgeMs: () => live.current.maxMessageAgeMs,
      pairingPhone: accountId === config.accountId ? config.pairingPhone : undefined,
      storage,
      fence,
      onReceiptSent: () => faults.pass('after-receipt'),
      onResendRefused: () => metrics.observeResendRefused(accountId),
    });
  },
  downloadMedia: (config, reference, options) =>
    downloadMedia(reference, {
      ...options,
      clock,
      host: config.whatsappMediaHost,
      timeoutMs: config.mediaTimeoutMs,
    }),
};

/** Invented people instead of WhatsApp. */
const playground: Pick<ProviderKind, 'create'> = {
  create: ({ postgres, faults, fence, events, bus, log }) =>
    new PlaygroundProvider({
      accountId: fence.accountId,
      playground: new PostgresPlayground(postgres),
      accountStore: new PostgresAccountStore(postgres, fence),
      events: faults.events(events),
      bus,
      clock,
      log,
    }),
};

/** The way to the people of an account. */
export function providerOf(account: { provider?: 'playground' } | undefined): Pick<ProviderKind, 'create'> {
  return account?.provider === 'playground' ? playground : whatsApp;
}

/**
 * The bytes of a file that a message of WhatsApp or of the playground refers to.
 * @throws {MediaError} {StorageUnavailableError}
 */
export async function loadFile(
  {
    config,
    playground,
    proxies,
  }: { config: Config; playground: Pick<Playground, 'file'>; proxies: Pick<AccountProxies, 'of'> },
  { accountId, reference }: { accountId: string; reference: string },
  signal: AbortSignal,
): Promise<Uint8Array> {
  const id = playgroundFileId(reference);
  if (id === undefined) {
    const proxy = await proxies.of(accountId);
    return whatsApp.downloadMedia(config, reference, { signal, ...(proxy && { proxy }) });
  }
  const file = await playground.file(id);
  if (!file) throw new MediaError('MEDIA_GONE', say('media.playground-gone'));
  return file.bytes;
}

/** How long after the request `in-agent-call` ends the process, in milliseconds. */
const ASKED_FOR_MS = 5;

/**
 * Ends the process with SIGKILL at one fault point, for crash tests. The adapters that it wraps work as before; without a
 * plan nothing is wrapped.
 */
export class FaultPoints {
  readonly #plan: FaultPlan | undefined;
  readonly #kill: () => void;
  #passes = 0;

  /** @param kill ends the process; another one in tests of this class */
  constructor(plan: FaultPlan | undefined, kill: () => void = killThisProcess) {
    this.#plan = plan;
    this.#kill = kill;
  }

  /** The process is at this point; it does not return from the planned pass of the planned one. */
  pass(point: FaultPoint): void {
    if (this.#plan?.point !== point) return;
    this.#passes += 1;
    if (this.#passes === this.#plan.pass) this.#kill();
  }

  keyStore(inner: KeyStore): KeyStore {
    return this.#wrapped(inner, {
      commit: async (scope, change) => {
        const { journal, messages = [] } = change;
        const hasPlaintext = journal.length + messages.length > 0;
        if (hasPlaintext) this.pass('after-decrypt');
        const stored = await inner.commit(scope, change);
        if (hasPlaintext) this.pass('after-journal');
        for (const _ of stored) this.pass('after-inbox-commit');
        return stored;
      },
    });
  }

  inbox(inner: Inbox): Inbox {
    return this.#wrapped(inner, {
      add: async (...message) => {
        const stored = await inner.add(...message);
        this.pass('after-inbox-commit');
        return stored;
      },
      finishTurn: async (...turn) => {
        const finished = await inner.finishTurn(...turn);
        if (finished.replies.length > 0) this.pass('after-outbox-write');
        return finished;
      },
    });
  }

  agents(inner: AgentClients): AgentClients {
    return this.#wrapped(inner, {
      clientFor: (route) => {
        const client = inner.clientFor(route);
        const sendMessage: AgentClient['sendMessage'] = (...ask) => {
          setTimeout(() => this.pass('in-agent-call'), ASKED_FOR_MS);
          return client.sendMessage(...ask);
        };
        return this.#wrapped(client, { sendMessage });
      },
    });
  }

  events(inner: ProviderEvents & MessageIntake): ProviderEvents & MessageIntake {
    return this.#wrapped(inner, {
      receipts: async (receipts) => {
        if (receipts.some((receipt) => receipt.state === 'acked')) this.pass('before-ack-recorded');
        await inner.receipts(receipts);
      },
    });
  }

  #wrapped<T extends object>(inner: T, changed: Partial<T>): T {
    if (!this.#plan) return inner;
    return new Proxy(inner, {
      get: (target, name) => {
        if (name in changed) return changed[name as keyof T];
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}

/** No handler runs and nothing is flushed, as when the machine loses power. */
function killThisProcess(): void {
  process.kill(process.pid, 'SIGKILL');
}
