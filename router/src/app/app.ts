import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger as PinoLogger } from 'pino';
import type { Config } from '../config/config.ts';
import { packageVersion } from '../config/package-version.ts';
import { unknownVariables } from '../config/unknown-variables.ts';
import { AccountRegistry } from '../core/cluster/account-registry.ts';
import { ClusterAccounts } from '../core/cluster/cluster-view.ts';
import { deleteAccount } from '../core/cluster/delete-account.ts';
import { LeaseManager } from '../core/cluster/lease-manager.ts';
import { type NodeMessage, nodeMessageFrom } from '../core/cluster/node-messages.ts';
import type { ReplyDelivery } from '../core/delivery/deliver-reply.ts';
import { mintWaMessageId } from '../core/delivery/message-id.ts';
import { replayDeadLetter, replayDeadLetters } from '../core/delivery/replay-dead-letters.ts';
import { sendMessage } from '../core/delivery/send-message.ts';
import { StorageTroubleError, Wa2aiError } from '../core/errors.ts';
import { receiveMessage } from '../core/messages/receive-message.ts';
import type { AccountDeletion } from '../core/ports/account-deletion.ts';
import type { QueuedReply } from '../core/ports/inbox.ts';
import { explainRoute } from '../core/routing/explain-route.ts';
import { answerNext } from '../core/turns/answer-message.ts';
import { agentKinds } from '../infra/agents/agent-kinds.ts';
import { previewCall } from '../infra/agents/preview-call.ts';
import { allowManyWaits, systemClock } from '../infra/clock/system-clock.ts';
import { DbosTakeover } from '../infra/engine/dbos-takeover.ts';
import { TurnEngine } from '../infra/engine/turn-engine.ts';
import { type Loop, TurnSharing } from '../infra/engine/turn-sharing.ts';
import { docsPages } from '../infra/faces/pages/docs-pages.ts';
import { type PagesDeps, pages } from '../infra/faces/pages/pages.ts';
import { TerminalPairing } from '../infra/faces/pages/terminal-pairing.ts';
import { createMetrics } from '../infra/faces/rest/metrics/metrics.ts';
import { type RestApiDeps, restApi } from '../infra/faces/rest/rest-api.ts';
import { createHttpServer } from '../infra/faces/rest/server.ts';
import { createLogger } from '../infra/logging/logger.ts';
import { RegexMatcher } from '../infra/matching/regex-matcher.ts';
import { NodeConnection } from '../infra/storage/connections/node-connection.ts';
import { type Database, openDatabase } from '../infra/storage/database.ts';
import { DatabaseError, errorMessage } from '../infra/storage/database-errors.ts';
import { nodeIdOf } from '../infra/storage/embedded/node-id.ts';
import { Postgres } from '../infra/storage/postgres.ts';
import { aliasesOf } from '../infra/storage/stores/chat-aliases.ts';
import { PostgresAccountDeletion } from '../infra/storage/stores/postgres-account-deletion.ts';
import { PostgresAccountLeases } from '../infra/storage/stores/postgres-account-lease.ts';
import { PostgresCluster } from '../infra/storage/stores/postgres-cluster.ts';
import { PostgresDeadLetters } from '../infra/storage/stores/postgres-dead-letters.ts';
import { PostgresInbox } from '../infra/storage/stores/postgres-inbox.ts';
import { PostgresMessageLog } from '../infra/storage/stores/postgres-message-log.ts';
import { PostgresOutbox } from '../infra/storage/stores/postgres-outbox.ts';
import { PrismaRouteStore } from '../infra/storage/stores/prisma-route-store.ts';
import { tellsOfFullDisk } from '../infra/storage/upkeep/full-disk.ts';
import { Retention } from '../infra/storage/upkeep/retention.ts';
import { StorageCheck } from '../infra/storage/upkeep/storage-check.ts';
import { TROUBLE_SENTENCES } from '../infra/storage/upkeep/storage-faults.ts';
import { accountHolder } from './accounts.ts';
import { FaultPoints } from './fault-points.ts';
import { handleNodeMessage } from './handle-node-message.ts';
import { answeringDeps } from './turns.ts';

/** How long turns under way may take to end when the service stops; what is left resumes at the next start. */
const STOP_GRACE_MS = 5_000;
/** Replies that another node wrote and whose note was lost, and what is wrong with the database, are found after this long. */
const LOOK_EVERY_MS = 5_000;

/** The running service. */
export interface App {
  /** Where the REST API and the pages are: `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly log: PinoLogger;
  /** Stops intake, lets turns end, closes sockets, server and database, in this order. */
  stop(): Promise<void>;
  /** Resolves when a newer version has migrated the database: this one must stop. The sentence is the operator's. */
  readonly untilOutdated: Promise<string>;
  /** For a process that ends at once, with work under way: the next start takes it up. */
  abandon(): void;
}

/**
 * Puts the service together and starts it: the one place where core, infra and providers meet.
 * @throws {Wa2aiError} with an operator's sentence when it cannot start; what was opened before is closed again
 */
export async function createApp(config: Config): Promise<App> {
  const log = createLogger({ level: config.logLevel, format: config.logFormat });
  for (const { name, guess } of unknownVariables(process.env))
    log.warn({ variable: name, didYouMean: guess }, 'unknown variable ignored');
  const closers: Array<() => Promise<void>> = [];
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const database = await openDatabase(config, log);
    closers.push(() => database.stop());
    let outdated: (sentence: string) => void = () => undefined;
    const untilOutdated = new Promise<string>((resolve) => {
      outdated = resolve;
    });
    const url = await start(config, log, database, closers, outdated);
    return { url, log, stop, untilOutdated, abandon: () => database.abandon() };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(
  config: Config,
  log: PinoLogger,
  database: Database,
  closers: Array<() => Promise<void>>,
  onOutdated: (sentence: string) => void,
): Promise<string> {
  const clock = systemClock;
  const { url: databaseUrl } = database;
  const postgres = new Postgres(databaseUrl, { onError: (error) => storage.note(error) });
  closers.push(() => postgres.close());

  const faults = new FaultPoints(config.faultPoint);
  const inbox = faults.inbox(new PostgresInbox(postgres));
  const outbox = new PostgresOutbox(postgres);
  const routes = new PrismaRouteStore(postgres);
  const messageLog = new PostgresMessageLog(postgres, { ackTimeoutMs: config.ackTimeoutMs });
  const matcher = new RegexMatcher();
  closers.push(() => matcher.close());
  const metrics = createMetrics({ messageLog });
  const nodeId = config.nodeId ?? (await nodeIdOf(config.dataDir));
  const storage = new StorageCheck({
    postgres,
    nodeId,
    migrations: database.migrations,
    serverTrouble: () => database.trouble(),
    log: log.child({ mod: 'database' }),
  });
  const registry = new AccountRegistry();
  const deliveries = new Map<string, ReplyDelivery>();
  const mintId = () => mintWaMessageId(randomBytes(9));
  const stopping = new AbortController();
  allowManyWaits(stopping.signal);

  let nudgeOwner: () => void = () => undefined;
  let hear: (note: NodeMessage, from: string) => void = () => undefined;
  const connection = new NodeConnection({
    databaseUrl,
    nodeId,
    log: log.child({ mod: 'nodes' }),
    onMessage: (message) => {
      const told = nodeMessageFrom(message, nodeId);
      if (told) hear(told.note, told.from);
    },
    onBack: () => greet(),
  });
  const notes = { publish: (note: NodeMessage) => connection.publish({ from: nodeId, note }) };
  const cluster = new PostgresCluster(
    postgres,
    {
      nodeId,
      lockKey: connection.lockKey,
      host: hostname(),
      version: packageVersion(),
      url: () => server?.url ?? '',
    },
    config.leaseTtlMs,
  );
  const accounts = new ClusterAccounts({
    nodeId,
    registry,
    notes,
    cluster,
    nudge: () => {
      notes.publish({ kind: 'look' });
      nudgeOwner();
    },
    newId: () => randomBytes(8).toString('hex'),
    clock,
    storageTrouble: () => storage.trouble,
    viewLifetimeMs: (config.leaseTtlMs * 2) / 3,
  });
  const sharing = new TurnSharing(nodeId, (node, loop) => notes.publish({ kind: 'loop', node, ...loop }));

  const engine = new TurnEngine({
    databaseUrl,
    nodeId,
    inbox,
    answerNext: (loop) => answerNext(answerDeps, loop),
    log: log.child({ mod: 'turns' }),
    stopping: stopping.signal,
    shared: { sharing, takeover: new DbosTakeover(postgres) },
  });
  const answerDeps = answeringDeps({
    config,
    postgres,
    faults,
    inbox,
    routes,
    matcher,
    metrics,
    registry,
    deliveries,
    notes,
    mintId,
    stopping: stopping.signal,
    clock,
    log,
  });

  /** The loop of a chat may wait for its next message on another node. */
  const wakeLoop = (chatId: string) => {
    if (!engine.wakeLoop(chatId) && sharing.hasOthers) notes.publish({ kind: 'wake', chatId });
  };
  const replayDeps = {
    deadLetters: new PostgresDeadLetters(postgres),
    startLoop: (loop: Loop) => engine.startLoop(loop),
    wakeLoop,
    deliver: (reply: QueuedReply) => answerDeps.deliver([reply]),
  };
  const accountRows = new PostgresAccountDeletion(postgres);
  const deletion: AccountDeletion = {
    close: async (accountId) => {
      await accountRows.close(accountId);
      accounts.forget(accountId);
    },
    deleteRows: (accountId, limit) => accountRows.deleteRows(accountId, limit),
  };
  let server: Awaited<ReturnType<typeof createHttpServer>> | undefined;
  const faces: RestApiDeps & PagesDeps = {
    config,
    log: log.child({ mod: 'http' }),
    now: () => clock.now(),
    routes,
    agentKinds,
    messageLog,
    accounts,
    nodes: { nodeId, view: () => accounts.view },
    metrics,
    explain: (input) =>
      explainRoute(
        {
          routes,
          matcher,
          environment: config.environment,
          aliasesOf: (accountId, channelId) => aliasesOf(postgres, accountId, channelId),
          previewCall: (route, message) => previewCall(answerDeps.agents, clock, route, message),
        },
        input,
      ),
    sendMessage: (input) =>
      sendMessage({ outbox, mintId, deliver: (reply) => answerDeps.deliver([reply]) }, input),
    replayDeadLetter: (id) => replayDeadLetter(replayDeps, id),
    replayDeadLetters: (filter, limit) => replayDeadLetters(replayDeps, filter, limit),
    storage,
    deadLetters: replayDeps.deadLetters,
    deleteAccount: async (accountId) => {
      await deleteAccount({ accounts, deletion }, { run: (_name, work) => work() }, { accountId });
    },
  };
  server = await createHttpServer({
    config,
    log: faces.log,
    // One line per face.
    endpoints: [...pages(faces), ...restApi(faces), ...docsPages()],
  });
  const { url, close } = server;
  closers.push(close);

  const terminal = new TerminalPairing(
    (text) => process.stdout.write(text),
    () => url,
  );
  const owner = new LeaseManager({
    nodeId,
    leases: new PostgresAccountLeases(postgres, { owner: nodeId, ttlMs: config.leaseTtlMs }),
    cluster,
    hold: accountHolder({
      config,
      postgres,
      storage,
      faults,
      registry,
      deliveries,
      metrics,
      receiver: (fence) => {
        const intake = faults.inbox(new PostgresInbox(postgres, fence));
        const startLoop = (loop: Loop) => engine.startLoop(loop);
        return (message, messageLog) =>
          receiveMessage({ inbox: intake, startLoop, wakeLoop, log: messageLog }, message);
      },
      onStatus: (status) => {
        accounts.changed(status);
        if (process.stdout.isTTY) void terminal.show(status);
      },
      clock,
      log,
    }),
    turns: () => engine.turns,
    onView: (view) => {
      accounts.seen(view);
      sharing.seen(view);
    },
    nudgeOthers: () => notes.publish({ kind: 'look' }),
    connectedForMs: () => connection.upForMs,
    clock,
    monotonicMs: () => performance.now(),
    ttlMs: config.leaseTtlMs,
    log: log.child({ mod: 'nodes' }),
  });
  nudgeOwner = () => owner.nudge();
  const lookForReplies = () => {
    for (const delivery of deliveries.values()) {
      delivery.look();
      void delivery.chase();
    }
  };
  const hearing = { nodeId, owner, registry, deliveries, engine, accounts };
  hear = (note, from) => handleNodeMessage(hearing, note, from);
  function greet(): void {
    notes.publish({ kind: 'look' });
    notes.publish({ kind: 'who' });
    owner.nudge();
    lookForReplies();
  }

  await connection.start();
  closers.push(() => connection.close());
  await cluster.addAccount(config.accountId);
  sharing.seen(await cluster.beat({ turns: 0, isDraining: false }));
  // DBOS makes its tables at the first start, without a thought for another node that does the same.
  await connection.exclusively(() => startEngine(engine));
  closers.push(async () => {
    await engine.close();
    await cluster
      .leave()
      .catch((error: unknown) => log.debug({ err: error }, 'node was not taken off the list'));
    notes.publish({ kind: 'look' });
  });
  await owner.start();
  const lookAfterStorage = () => {
    storage.check().catch((error: unknown) => {
      if (error instanceof StorageTroubleError && error.trouble === 'newer') onOutdated(error.message);
    });
  };
  const timer = setInterval(() => {
    lookForReplies();
    lookAfterStorage();
  }, LOOK_EVERY_MS).unref();
  closers.push(async () => {
    clearInterval(timer);
    // Alone, the last answers still go out; among others, accounts change hands first and those send them.
    if (sharing.hasOthers) await Promise.all([owner.drain(), engine.stop(STOP_GRACE_MS)]);
    else await engine.stop(STOP_GRACE_MS);
    stopping.abort(new Error('wa2ai is stopping'));
    await owner.drain();
    await owner.stop();
  });
  const retention = new Retention({
    postgres,
    limits: config.retention,
    clock,
    log: log.child({ mod: 'retention' }),
  });
  retention.start();
  closers.push(() => retention.stop());
  greet();
  log.info({ url, nodeId }, 'wa2ai is ready');
  return url;
}

/** @throws {DatabaseError} the database does not let DBOS work */
async function startEngine(engine: TurnEngine): Promise<void> {
  try {
    await engine.start();
  } catch (error) {
    if (error instanceof Wa2aiError) throw error;
    if (tellsOfFullDisk(error)) {
      throw new DatabaseError('DATABASE_FULL', `${TROUBLE_SENTENCES.full} Then start wa2ai again.`, {
        cause: error,
      });
    }
    throw new DatabaseError(
      'DATABASE_RIGHTS',
      `The tables of the turns (schema "dbos") cannot be used: ${errorMessage(error)}. Grant the database user CREATE on the database, or all rights on that schema and its tables.`,
      { cause: error },
    );
  }
}
