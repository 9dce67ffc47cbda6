import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/config.ts';
import type { AccountRegistry } from '../core/cluster/account-registry.ts';
import type { HeldAccount } from '../core/cluster/lease-manager.ts';
import { ReplyDelivery } from '../core/delivery/deliver-reply.ts';
import { LeaseLostError } from '../core/errors.ts';
import type { Fence } from '../core/ports/account-lease.ts';
import type { AccountStatus, ProviderEvents } from '../core/ports/chat-provider.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { InboundMessage } from '../core/ports/inbox.ts';
import type { Logger } from '../core/ports/logger.ts';
import type { StorageHealth } from '../core/ports/storage-health.ts';
import type { Metrics } from '../infra/faces/rest/metrics/metrics.ts';
import type { Postgres } from '../infra/storage/postgres.ts';
import { PostgresAccountStore } from '../infra/storage/stores/postgres-account-store.ts';
import { PostgresJournal } from '../infra/storage/stores/postgres-journal.ts';
import { PostgresKeyStore } from '../infra/storage/stores/postgres-key-store.ts';
import { PostgresOutbox } from '../infra/storage/stores/postgres-outbox.ts';
import { createBaileysProvider } from '../providers/baileys/baileys-provider.ts';
import { KeyedLock } from '../providers/baileys/signal/keyed-lock.ts';
import type { FaultPoints } from './fault-points.ts';
import { observedProvider } from './observed-provider.ts';

export interface AccountHoldingDeps {
  config: Config;
  postgres: Postgres;
  storage: StorageHealth;
  faults: FaultPoints;
  /** The accounts held here; what is held is added and taken off again. */
  registry: AccountRegistry;
  deliveries: Map<string, ReplyDelivery>;
  /** What takes in the messages of an account; they are stored under its lease. */
  receiver(fence: Fence): (message: InboundMessage, log: Logger) => Promise<void>;
  metrics: Pick<Metrics, 'observeReceived' | 'observeSent'>;
  onStatus(status: AccountStatus): void;
  clock: Clock;
  log: Logger;
}

/** Puts the parts of one held account together: its socket and what it writes, all under its lease. */
export function accountHolder(deps: AccountHoldingDeps): (fence: Fence) => Promise<HeldAccount> {
  const { config, postgres, faults, registry, deliveries, clock } = deps;
  const sessionLocks = new KeyedLock();

  return async (fence) => {
    const { accountId } = fence;
    const log = deps.log.child({ mod: 'whatsapp', accountId });
    const outbox = new PostgresOutbox(postgres, fence);
    const receive = deps.receiver(fence);
    const provider = createBaileysProvider({
      accountId,
      events: faults.events(events()),
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
      sessionLocks,
      storage: deps.storage,
      fence,
      onTold: () => faults.pass('after-receipt'),
    });
    const delivery = new ReplyDelivery({
      outbox,
      provider: observedProvider(faults.provider(provider), deps.metrics.observeSent),
      log: deps.log.child({ mod: 'deliver' }),
      ackTimeoutMs: config.ackTimeoutMs,
      clock,
    });
    const leave = () => {
      registry.remove(provider);
      if (deliveries.get(accountId) === delivery) deliveries.delete(accountId);
    };
    registry.add(provider);
    deliveries.set(accountId, delivery);
    try {
      await provider.start();
    } catch (error) {
      leave();
      throw error;
    }
    return {
      async stop() {
        await delivery.finish();
        await provider.stop();
        leave();
      },
      async abandon() {
        leave();
        await provider.abandon();
      },
    };

    function events(): ProviderEvents {
      let wasConnected = false;
      let wasLimited = false;
      let lastTold: object | undefined;
      return {
        receive: async (message) => {
          if (!fence.isHeld()) throw new LeaseLostError(accountId);
          await receive(message, log);
          deps.metrics.observeReceived(accountId);
        },
        receipts: (receipts) => {
          delivery.acknowledged(receipts.map((receipt) => receipt.waMessageId));
          return outbox.recordReceipts(accountId, receipts);
        },
        refused: (waMessageId, code, limitLeftMs) =>
          outbox.markRefused(accountId, waMessageId, `WhatsApp refused it with error ${code}.`, limitLeftMs),
        status: (status) => {
          const { state, reason, nextAction, retryAtMs, problems } = status;
          const told = { accountId, state, reason, nextAction, retryAtMs, problems };
          // A new QR code, every few seconds, is no news in a log.
          const level = isDeepStrictEqual(told, lastTold) ? 'debug' : 'info';
          lastTold = told;
          deps.log[level](told, 'account state');
          const isConnected = status.isConnected ?? state === 'open';
          const isLimited = status.limitLeftMs !== undefined;
          if (isConnected && wasConnected) {
            if (isLimited !== wasLimited) void delivery.limitChanged();
            else delivery.look();
          } else if (isConnected) {
            delivery.resume().catch((error: unknown) => {
              log.warn({ err: error }, 'stored replies could not be read; they go with the next opening');
            });
          }
          wasConnected = isConnected;
          wasLimited = isLimited;
          deps.onStatus(status);
        },
      };
    }
  };
}
