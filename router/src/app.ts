import { randomBytes } from 'node:crypto';
import type { Logger as PinoLogger } from 'pino';
import { type Config, unknownVariables } from './config.ts';
import { AccountRegistry } from './core/account-registry.ts';
import { answerNext } from './core/answer-message.ts';
import { ReplyDelivery } from './core/deliver-reply.ts';
import { explainRoute } from './core/explain-route.ts';
import type { ProviderEvents } from './core/ports/chat-provider.ts';
import { receiveMessage } from './core/receive-message.ts';
import { backoffMs } from './core/retry.ts';
import { sendMessage } from './core/send-message.ts';
import { mintWaMessageId } from './core/wa-message-id.ts';
import { createAgentClients } from './infra/agent-clients.ts';
import { aliasesOf } from './infra/db/chat-aliases.ts';
import { openDatabase } from './infra/db/database.ts';
import { nodeIdOf } from './infra/db/node-id.ts';
import { PrismaAccountStore } from './infra/db/prisma-account-store.ts';
import { createPrismaClient } from './infra/db/prisma-client.ts';
import { PrismaInbox } from './infra/db/prisma-inbox.ts';
import { PrismaJournal } from './infra/db/prisma-journal.ts';
import { PrismaKeyStore } from './infra/db/prisma-key-store.ts';
import { PrismaMessageLog } from './infra/db/prisma-message-log.ts';
import { PrismaOutbox } from './infra/db/prisma-outbox.ts';
import { PrismaRouteStore } from './infra/db/prisma-route-store.ts';
import { createMetrics } from './infra/http/metrics.ts';
import { createHttpServer } from './infra/http/server.ts';
import { createLogger } from './infra/logger.ts';
import { previewCall } from './infra/preview-call.ts';
import { TurnEngine } from './infra/queue/turn-engine.ts';
import { RegexMatcher } from './infra/regex-matcher.ts';
import { systemClock } from './infra/system-clock.ts';
import { TerminalPairing } from './infra/terminal-pairing.ts';
import { createBaileysProvider } from './providers/baileys/baileys-provider.ts';

/** How long turns under way may take to end when the service stops; what is left resumes at the next start. */
const STOP_GRACE_MS = 5_000;

/** The running service. */
export interface App {
  /** Where the REST API and the pages are: `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly log: PinoLogger;
  /** Stops intake, lets turns end, closes sockets, server and database, in this order. */
  stop(): Promise<void>;
}

/**
 * Puts the service together and starts it: the one place where core, infra and providers meet.
 * @throws {Wa2aiError} with an operator's sentence when it cannot start; what was opened before is closed again
 */
export async function createApp(config: Config): Promise<App> {
  const log = createLogger({ level: config.logLevel, format: config.logFormat });
  for (const name of unknownVariables(process.env))
    log.warn({ variable: name }, 'unknown variable is ignored');
  const closers: Array<() => Promise<void>> = [];
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const url = await start(config, log, closers);
    return { url, log, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function start(config: Config, log: PinoLogger, closers: Array<() => Promise<void>>): Promise<string> {
  const clock = systemClock;
  const database = await openDatabase(config, log);
  closers.push(() => database.stop());
  const prisma = createPrismaClient(database.url);
  closers.push(() => prisma.$disconnect());

  const inbox = new PrismaInbox(prisma);
  const outbox = new PrismaOutbox(prisma);
  const routes = new PrismaRouteStore(prisma);
  const messageLog = new PrismaMessageLog(prisma);
  const matcher = new RegexMatcher();
  closers.push(() => matcher.close());
  const metrics = createMetrics({ messageLog });
  const accounts = new AccountRegistry();
  const deliveries = new Map<string, ReplyDelivery>();
  const mintId = () => mintWaMessageId(randomBytes(9));
  const stopping = new AbortController();

  const engine = new TurnEngine({
    databaseUrl: database.url,
    nodeId: config.nodeId ?? (await nodeIdOf(config.dataDir)),
    inbox,
    answerNext: (loop) => answerNext(answerDeps, loop),
    log: log.child({ mod: 'turns' }),
    stopping: stopping.signal,
  });
  const answerDeps = {
    inbox,
    routes,
    matcher,
    agents: createAgentClients({
      defaultTimeoutMs: config.agentTimeoutMs,
      log: log.child({ mod: 'agent' }),
      clock,
    }),
    environment: config.environment,
    policy: {
      attempts: config.agentAttempts,
      backoffMs: (attempt: number, retryAfterMs: number | undefined) =>
        backoffMs({ attempt, retryAfterMs, random: Math.random }),
    },
    clock,
    log: log.child({ mod: 'answer' }),
    mintId,
    setTyping: async (accountId: string, to: string, isTyping: boolean) =>
      accounts.provider(accountId)?.setTyping(to, isTyping),
    deliver: (replies: Parameters<ReplyDelivery['deliver']>[0]) => {
      for (const reply of replies) deliveries.get(reply.message.accountId)?.deliver([reply]);
    },
    observeTurn: metrics.observeTurn,
    stopping: stopping.signal,
  };

  const server = await createHttpServer({
    config,
    log: log.child({ mod: 'http' }),
    routes,
    messageLog,
    accounts,
    metrics,
    explain: (input) =>
      explainRoute(
        {
          routes,
          matcher,
          environment: config.environment,
          aliasesOf: (accountId, channelId) => aliasesOf(prisma, accountId, channelId),
          previewCall: (route, message) => previewCall(answerDeps.agents, clock, route, message),
        },
        input,
      ),
    sendMessage: (input) =>
      sendMessage({ outbox, mintId, deliver: (reply) => answerDeps.deliver([reply]) }, input),
    pingDatabase: async () => {
      await prisma.$queryRaw`SELECT 1`;
    },
  });
  closers.push(() => server.close());

  const terminal = new TerminalPairing(
    (text) => process.stdout.write(text),
    () => server.url,
  );
  const providerLog = log.child({ mod: 'whatsapp', accountId: config.accountId });
  const provider = createBaileysProvider({
    accountId: config.accountId,
    events: providerEvents(),
    keyStore: new PrismaKeyStore(prisma),
    accountStore: new PrismaAccountStore(prisma),
    journal: new PrismaJournal(prisma),
    findSentMessage: (waMessageId) => outbox.findByWaId(config.accountId, waMessageId),
    clock,
    log: providerLog,
    whatsappWsUrl: config.whatsappWsUrl,
    version: config.whatsappVersion,
    maxMessageAgeMs: config.maxMessageAgeMs,
    pairingPhone: config.pairingPhone,
  });
  accounts.add(provider);
  const delivery = new ReplyDelivery({ outbox, provider, log: log.child({ mod: 'deliver' }) });
  deliveries.set(config.accountId, delivery);

  await engine.start();
  closers.push(() => engine.close());
  await provider.start();
  closers.push(async () => {
    await engine.stop(STOP_GRACE_MS);
    stopping.abort(new Error('wa2ai is stopping'));
    await delivery.settled();
    await provider.stop();
  });
  log.info({ url: server.url }, 'wa2ai is ready');
  return server.url;

  function providerEvents(): ProviderEvents {
    return {
      receive: (message) =>
        receiveMessage(
          {
            inbox,
            startLoop: (loop) => engine.startLoop(loop),
            wakeLoop: (chatId) => engine.wakeLoop(chatId),
            log: providerLog,
          },
          message,
        ),
      receipts: (receipts) => outbox.recordReceipts(config.accountId, receipts),
      refused: (waMessageId, code) =>
        outbox.markRefused(config.accountId, waMessageId, `WhatsApp refused it with error ${code}.`),
      status: (status) => {
        const { state, reason, nextAction, retryAtMs } = status;
        log.info({ accountId: status.accountId, state, reason, nextAction, retryAtMs }, 'account state');
        if (status.state === 'open') {
          delivery.resume().catch((error: unknown) => {
            log.warn({ err: error }, 'stored replies could not be read; they go with the next opening');
          });
        }
        if (process.stdout.isTTY) void terminal.show(status);
      },
    };
  }
}
