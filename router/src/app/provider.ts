import type { Config } from '../config/config.ts';
import type { Fence } from '../core/ports/account-lease.ts';
import type { ChatProvider, ProviderEvents } from '../core/ports/chat-provider.ts';
import type { Logger } from '../core/ports/logger.ts';
import type { Outbox } from '../core/ports/outbox.ts';
import type { StorageHealth } from '../core/ports/storage-health.ts';
import { systemClock as clock } from '../infra/clock/system-clock.ts';
import type { Metrics } from '../infra/faces/rest/metrics/metrics.ts';
import type { Postgres } from '../infra/storage/postgres.ts';
import { PostgresAccountStore } from '../infra/storage/stores/postgres-account-store.ts';
import { PostgresJournal } from '../infra/storage/stores/postgres-journal.ts';
import { PostgresKeyStore } from '../infra/storage/stores/postgres-key-store.ts';
import { createBaileysProvider } from '../providers/baileys/baileys-provider.ts';
import { downloadMedia } from '../providers/baileys/media/media-download.ts';
import type { FaultPoints } from './fault-points.ts';

/** What an account is connected with. */
interface ProviderDeps {
  config: Config;
  postgres: Postgres;
  storage: StorageHealth;
  faults: FaultPoints;
  fence: Fence;
  outbox: Pick<Outbox, 'findByWaId'>;
  events: ProviderEvents;
  metrics: Pick<Metrics, 'observeResendRefused'>;
  log: Logger;
}

/** A way into WhatsApp. */
interface ProviderKind {
  /** An account on this node, not connected yet. */
  create(deps: ProviderDeps): ChatProvider;
  /** The bytes of a file that a message refers to. @throws {MediaError} */
  downloadMedia(config: Config, reference: string, signal?: AbortSignal): Promise<Uint8Array>;
}

const baileys: ProviderKind = {
  create: ({ config, postgres, storage, faults, fence, outbox, events, metrics, log }) => {
    const { accountId } = fence;
    return createBaileysProvider({
      accountId,
      events: faults.events(events),
      keyStore: faults.keyStore(new PostgresKeyStore(postgres, fence)),
      accountStore: new PostgresAccountStore(postgres, fence),
      journal: new PostgresJournal(postgres, fence),
      findSentMessage: (waMessageId) => outbox.findByWaId(accountId, waMessageId),
      clock,
      log,
      whatsappWsUrl: config.whatsappWsUrl,
      version: config.whatsappVersion,
      maxMessageAgeMs: config.maxMessageAgeMs,
      pairingPhone: accountId === config.accountId ? config.pairingPhone : undefined,
      storage,
      fence,
      onReceiptSent: () => faults.pass('after-receipt'),
      onResendRefused: () => metrics.observeResendRefused(accountId),
    });
  },
  downloadMedia: (config, reference, signal) =>
    downloadMedia(reference, {
      clock,
      signal,
      host: config.whatsappMediaHost,
      timeoutMs: config.mediaTimeoutMs,
    }),
};

/** The way into WhatsApp of this service's accounts. */
export const whatsApp: ProviderKind = baileys;
