import type { Config } from '../config/config.ts';
import type { AccountRegistry } from '../core/cluster/account-registry.ts';
import type { NodeBus } from '../core/cluster/node-messages.ts';
import type { ReplyDelivery } from '../core/delivery/deliver-reply.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Inbox } from '../core/ports/inbox.ts';
import type { Logger } from '../core/ports/logger.ts';
import type { RouteStore } from '../core/ports/route-store.ts';
import type { TextMatcher } from '../core/ports/text-matcher.ts';
import { backoffMs } from '../core/retry.ts';
import type { AnswerDeps } from '../core/turns/answer-message.ts';
import { CircuitBreakers } from '../core/turns/circuit-breaker.ts';
import { StoredMedia } from '../core/turns/load-media.ts';
import { createAgentClients } from '../infra/agents/agent-clients.ts';
import { AgentTransport } from '../infra/agents/transport/agent-transport.ts';
import { Egress } from '../infra/agents/transport/egress.ts';
import type { Metrics } from '../infra/faces/rest/metrics/metrics.ts';
import type { Postgres } from '../infra/storage/postgres.ts';
import { PostgresChatHistory } from '../infra/storage/stores/postgres-chat-history.ts';
import { downloadMedia } from '../providers/baileys/media/media-download.ts';
import type { FaultPoints } from './fault-points.ts';

/** Longest wait before an agent is asked again, unless a route or the agent itself says otherwise. */
const MAX_AGENT_WAIT_MS = 10_000;

export interface AnsweringDeps {
  config: Config;
  postgres: Postgres;
  faults: FaultPoints;
  inbox: Inbox;
  routes: RouteStore;
  matcher: TextMatcher;
  metrics: Pick<Metrics, 'observeTurn' | 'observeCircuitOpened'>;
  /** The accounts held here, and how replies leave through each. */
  registry: AccountRegistry;
  deliveries: ReadonlyMap<string, ReplyDelivery>;
  /** For replies and typing of accounts that other nodes hold. */
  notes: NodeBus;
  mintId(): string;
  stopping: AbortSignal;
  clock: Clock;
  log: Logger;
}

/** Puts together what answers a message: agents and their failures, files, the ways of a reply on one node or many. */
export function answeringDeps(deps: AnsweringDeps): AnswerDeps {
  const { config, postgres, faults, inbox, routes, matcher, metrics } = deps;
  const { registry, deliveries, notes, mintId, stopping, clock, log } = deps;
  return {
    inbox,
    routes,
    matcher,
    agents: faults.agents(
      createAgentClients({
        defaultTimeoutMs: config.agentTimeoutMs,
        log: log.child({ mod: 'agent' }),
        clock,
        transport: new AgentTransport(new Egress(config.egress)),
      }),
    ),
    environment: config.environment,
    media: new StoredMedia({
      inbox,
      download: (reference, signal) =>
        downloadMedia(reference, {
          clock,
          signal,
          host: config.whatsappMediaHost,
          timeoutMs: config.mediaTimeoutMs,
        }),
      // Only the node that holds the socket can ask; on others the file is gone.
      reload: async (accountId, reference) => registry.provider(accountId)?.reloadMedia(reference),
    }),
    policy: {
      attempts: config.agentAttempts,
      patienceMs: config.agentPatienceMs,
      backoffMs: (attempt, retryAfterMs, limits) => {
        const maxMs = limits?.maxMs ?? MAX_AGENT_WAIT_MS;
        return backoffMs({ ...limits, maxMs, attempt, retryAfterMs, random: Math.random });
      },
    },
    circuits: new CircuitBreakers((endpoint) => {
      metrics.observeCircuitOpened();
      log.warn({ endpoint }, 'agent endpoint failed too often; it is left alone for a while');
    }),
    clock,
    log: log.child({ mod: 'answer' }),
    mintId,
    setTyping: async (accountId, to, isTyping) => {
      const provider = registry.provider(accountId);
      if (provider) await provider.setTyping(to, isTyping);
      else notes.publish({ kind: 'typing', accountId, to, isTyping });
    },
    deliver: (replies) => {
      for (const reply of replies) {
        const { accountId } = reply.message;
        const delivery = deliveries.get(accountId);
        if (delivery) delivery.deliver([reply]);
        else notes.publish({ kind: 'replies', accountId });
      }
    },
    loopBreaker: {
      history: new PostgresChatHistory(postgres),
      settings: { turns: config.loopTurns, replyMs: config.loopReplyMs },
    },
    observeTurn: metrics.observeTurn,
    stopping,
  };
}
