import type { Logger as PinoLogger } from 'pino';
import type { Config } from '../config/config.ts';
import { Wa2aiError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { PostgresAccountProxies } from '../features/accounts/postgres-account-store.ts';
import { boundedFetch } from '../infra/agents/transport/bounded-fetch.ts';
import { Egress } from '../infra/agents/transport/egress.ts';
import { systemClock as clock } from '../infra/clock/system-clock.ts';
import type { Postgres } from '../infra/db/postgres.ts';
import { PostgresClientVersions } from '../infra/db/stores/postgres-client-versions.ts';
import { listenHttp } from '../infra/operations/http-listener.ts';
import { AccountProxies } from '../providers/baileys/connection/account-proxies.ts';
import { ClientVersions, type FetchPage } from '../providers/baileys/connection/client-versions.ts';
import { createAccounts } from './accounts.ts';
import type { Bootstrap } from './bootstrap.ts';
import { createCluster } from './cluster.ts';
import { openStorage, type Part } from './database.ts';
import { createHostedAgents, createHosting } from './hosting.ts';
import { FaultPoints } from './provider.ts';
import { createDelivery, createTurns } from './turns.ts';

/** The running service. */
export interface App {
  /** Address of the REST API and the pages: `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly log: PinoLogger;
  /** Stops intake, lets turns end, closes connections, server and database, in this order. Idempotent. */
  stop(): Promise<void>;
  /** Resolves with the operator's sentence when a newer version has migrated the database: this one must stop. */
  readonly untilOutdated: Promise<string>;
  /** For a process that ends immediately; what runs continues at the next start. */
  abandon(): void;
}

/**
 * Starts the service part by part, each with the parts before it; they stop in reverse order.
 * @throws {Wa2aiError} with an operator's sentence when it cannot start; what was opened before is closed again
 */
export async function createApp(
  config: Config,
  { log, logRing, logLevel, watchdog, ...bootstrapped }: Bootstrap,
): Promise<App> {
  const faults = new FaultPoints(config.faultPoint);
  const stops: Array<() => Promise<void>> = [() => watchdog.stop()];
  const stop = async () => {
    for (const stopPart of stops.splice(0).reverse()) await stopPart();
  };
  const started = async <Parts>(part: Part<Parts>): Promise<Parts> => {
    stops.push(() => part.stop());
    await part.start();
    return part.parts;
  };

  try {
    const database = await started(openStorage(config, log, await bootstrapped.database));
    const proxyUrls = new PostgresAccountProxies(database.postgres);
    const proxies = new AccountProxies((accountId) => proxyUrls.urlOf(accountId));
    const clusterPart = createCluster(config, database, logLevel, log);
    const hostingPart = createHosting(config, { ...database, ...clusterPart.parts }, log);
    // Both wait for the database only. A failure waits for the other one: it is stopped after its start.
    const [clusterStart, hostingStart] = await Promise.allSettled([
      started(clusterPart),
      started(hostingPart),
    ]);
    const [cluster, hosting] = [resultOf(clusterStart), resultOf(hostingStart)];
    const turns = await started(
      createTurns(config, { ...database, ...cluster, ...hosting, proxies, current: watchdog }, faults, log),
    );
    const answering = { ...database, ...cluster, ...hosting, ...turns };
    const common = { ...answering, ...createHostedAgents(answering, log) };
    const parts = { ...common, ...createDelivery(common) };
    const clientVersions = createClientVersions(config, { ...database, proxies }, log);
    const listener = await listenHttp({ config, log: log.child({ mod: 'http' }) });
    stops.push(() => listener.close());
    parts.refuseOwnAddress(listener.address);
    const { url } = listener;
    let api: Awaited<ReturnType<typeof import('./api.ts').openApi>> | undefined;
    stops.push(async () => api?.stop());
    const { untilSettled, showPages } = await started(
      createAccounts({ ...parts, ...clientVersions.parts, proxies, config, faults, url, log }),
    );
    // Loading and building the API takes as long as connecting: people wait for their answers, requests wait until it is there.
    await untilSettled();
    const { openApi } = await import('./api.ts');
    api = await openApi(config, { ...parts, logRing, listener }, log);
    await started(clientVersions);
    await started(api.work);
    log.info({ url, console: `${url}/console/`, nodeId: database.nodeId }, 'wa2ai is ready');
    // Below the line, which waits for others.
    log.flush();
    showPages();
    return { url, log, stop, untilOutdated: database.untilOutdated, abandon: database.abandon };
  } catch (error) {
    await stop();
    throw error;
  }
}

function resultOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}

/** The versions of WhatsApp Web that accounts announce; look-ups begin with its start. */
function createClientVersions(
  config: Config,
  { postgres, proxies }: { postgres: Postgres; proxies: AccountProxies },
  log: Logger,
): Part<{ versions: ClientVersions }> {
  // The address is the operator's; the policy is for those of agents.
  const egress = new Egress('any');
  const direct: FetchPage = (url, options) => boundedFetch(url, { method: 'GET', ...options }, egress);
  const wayOf =
    (accountId: string): FetchPage =>
    async (url, options) => {
      try {
        const proxy = await proxies.of(accountId);
        if (!proxy) return await direct(url, options);
        const { dispatcher } = proxy;
        return await boundedFetch(
          url,
          { method: 'GET', ...options },
          { dispatcher, refusalOfUrl: () => undefined },
        );
      } catch (error) {
        if (!(error instanceof Wa2aiError)) throw error;
        return { kind: 'fault', detail: error.said };
      }
    };
  const ways = async (accountIds?: ReadonlySet<string>) => {
    const accounts = (await new PostgresAccountProxies(postgres).list()).filter(
      ({ accountId }) => accountIds?.has(accountId) ?? true,
    );
    const withProxy = accounts.filter(({ hasProxy }) => hasProxy).map(({ accountId }) => wayOf(accountId));
    // WhatsApp sees this machine anyway when an account connects directly.
    return withProxy.length < accounts.length ? [direct, ...withProxy] : withProxy;
  };
  const versions = new ClientVersions({
    setting: config.whatsappVersion,
    url: config.whatsappVersionUrl,
    ways,
    store: new PostgresClientVersions(postgres),
    clock,
    log: log.child({ mod: 'whatsapp-version' }),
    random: Math.random,
  });
  return {
    parts: { versions },
    start: async () => versions.start(),
    stop: () => versions.stop(),
  };
}
