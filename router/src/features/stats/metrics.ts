import { statfs } from 'node:fs/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { within } from '../../core/clock.ts';
import { ACCOUNT_STATES } from '../../core/cluster/account-state.ts';
import { AGENT_PHASES, type AgentPhase } from '../../core/hosting/agent-life.ts';
import type { AccountControl, ClusterView } from '../../core/ports/cluster.ts';
import type { MessageLog, OpenWork } from '../../core/ports/message-log.ts';
import type { TurnResult } from '../../core/turns/turn.ts';
import { systemClock } from '../../infra/clock/system-clock.ts';

/** Counting rows costs the database; scrapes within this time share one count. */
const COUNT_LIFETIME_MS = 5_000;
/** Shorter than Prometheus' scrape timeout (10 s): an unresponsive database must be visible as such. */
const COUNT_LIMIT_MS = 2_000;
/** Sampling interval of the event-loop lag. Longer than the library's 10 ms, to keep an idle service idle. */
const LAG_PRECISION_MS = 100;
/** Accounts and routes with a label value of their own, each; further ones share `other`. */
const MAX_LABEL_VALUES = 100;

/** The service's metrics in their own registry. The observe functions need no `this`. */
export interface Metrics {
  /** Counts one ended turn, and the time its agent took. `accountId`: absent if the turn's message is unreadable. */
  readonly observeTurn: (
    result: Pick<TurnResult, 'state' | 'reason' | 'agentMs' | 'routeId'>,
    accountId?: string,
  ) => void;
  /** Counts one message from WhatsApp that was stored. */
  readonly observeReceived: (accountId: string) => void;
  /** Counts one message written to WhatsApp. */
  readonly observeSent: (accountId: string) => void;
  /** Counts one refused request to send a message again. */
  readonly observeResendRefused: (accountId: string) => void;
  /** Counts one delay of a message by the governor. */
  readonly observeGovernorDelay: (accountId: string, reason: string) => void;
  /** Counts one attempt to send an event to a webhook. */
  readonly observeWebhookAttempt: (outcome: 'delivered' | 'failed' | 'dead') => void;
  /** Counts one opening of a circuit breaker. */
  readonly observeCircuitOpened: () => void;
  /** Text in the Prometheus format, and its content type. Shows an unavailable database as wa2ai_database_up 0. */
  scrape(accounts: AccountControl, view: ClusterView): Promise<{ contentType: string; text: string }>;
}

/** Builds the metrics. Those of Node.js (memory, event-loop lag, garbage collection) are among them. */
export function createMetrics(app: {
  messageLog: Pick<MessageLog, 'openWork'>;
  /** Hosted agents of this node by phase. */
  agentPhases(): ReadonlyMap<AgentPhase, number>;
  /** The disk of the data folder, in bytes. Rejects: not known. */
  diskSpace(): Promise<{ freeBytes: number; sizeBytes: number }>;
  monotonicMs?: () => number;
}): Metrics {
  const monotonicMs = app.monotonicMs ?? (() => performance.now());
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS });
  const accountLabel = boundedLabel(MAX_LABEL_VALUES);
  const routeLabel = boundedLabel(MAX_LABEL_VALUES);

  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name, help, labelNames, registers });

  const received = counter(
    'wa2ai_messages_received_total',
    'Messages from WhatsApp that this process stored.',
    'account',
  );
  const sent = counter(
    'wa2ai_messages_sent_total',
    'Messages that this process wrote to WhatsApp, repeated attempts included.',
    'account',
  );
  const resendsRefused = counter(
    'wa2ai_resends_refused_total',
    'Requests to send a message again that did not come from the chat of the message.',
    'account',
  );
  const turns = counter(
    'wa2ai_turns_total',
    'Turns that ended in this process, by account, route, and the state and reason of the message.',
    'account',
    'route',
    'state',
    'reason',
  );
  const turnSeconds = new Histogram({
    name: 'wa2ai_agent_turn_seconds',
    help: 'Time that agents took for a turn, in seconds.',
    labelNames: ['route', 'state'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  const governorDelays = counter(
    'wa2ai_governor_delays_total',
    'Messages that the governor delayed.',
    'account',
    'reason',
  );
  const webhookAttempts = counter(
    'wa2ai_webhook_attempts_total',
    'Attempts to send an event to a webhook. `failed`: it is sent again; `dead`: it is not.',
    'outcome',
  );
  const circuitsOpened = counter('wa2ai_circuits_opened_total', 'Number of times a circuit breaker opened.');
  const messages = gauge('wa2ai_messages_waiting', 'Messages whose turn has not ended.');
  const oldestMessage = gauge(
    'wa2ai_oldest_message_seconds',
    'Age of the oldest waiting message, in seconds.',
  );
  const webhookEvents = gauge('wa2ai_webhook_events_waiting', 'Events that wait for webhooks.');
  const replies = gauge(
    'wa2ai_replies_waiting',
    'Messages to people that WhatsApp has not acknowledged, by state.',
    'state',
  );
  const unacknowledged = gauge(
    'wa2ai_replies_unacknowledged',
    'Messages to people that WhatsApp has not acknowledged within WA2AI_ACK_TIMEOUT.',
  );
  const deadLetters = gauge('wa2ai_dead_letters', 'Open dead letters: neither replayed nor closed.');
  const databaseUp = gauge('wa2ai_database_up', '1 if the database answered this scrape, else 0.');
  const accountState = gauge(
    'wa2ai_account_state',
    '1 for the current state of the WhatsApp account, 0 for the others.',
    'account',
    'state',
  );
  const accountLimit = gauge(
    'wa2ai_account_limit_seconds',
    'How long a limit of WhatsApp on the account lasts, in seconds. Absent: there is none.',
    'account',
    'kind',
  );
  const versionAge = gauge(
    'wa2ai_whatsapp_version_age_seconds',
    'Age of the WhatsApp Web version that the account announces, in seconds. WhatsApp refused earlier ones at 135 days.',
    'account',
    'version',
    'source',
  );
  const leaseEpoch = gauge(
    'wa2ai_account_lease_epoch',
    'Epoch of the lease under which the node runs the WhatsApp account. It grows each time a node takes the account.',
    'account',
    'node',
  );
  const nodeAlive = gauge(
    'wa2ai_node_alive',
    '1 for a node that responds, 0 for a node that does not, or that ended without leaving the cluster.',
    'node',
  );
  const hostedAgents = gauge(
    'wa2ai_hosted_agents',
    'Agents that this node runs, by state; stopped ones since its start.',
    'state',
  );
  const diskFree = gauge(
    'wa2ai_data_dir_free_bytes',
    'Free bytes on the disk of the data folder. Absent: not known.',
  );
  const diskSize = gauge('wa2ai_data_dir_size_bytes', 'Size of the disk of the data folder, in bytes.');
  const nodeTurns = gauge('wa2ai_node_turns', 'Turns running on the node.', 'node');

  let counted: { atMs: number; work: Promise<OpenWork> } | undefined;

  function openWork(): Promise<OpenWork> {
    if (!counted || monotonicMs() - counted.atMs >= COUNT_LIFETIME_MS) {
      counted = { atMs: monotonicMs(), work: app.messageLog.openWork() };
    }
    return counted.work;
  }

  async function readOpenWork(): Promise<void> {
    replies.reset();
    try {
      const work = await within(systemClock, COUNT_LIMIT_MS, openWork());
      if (!work) throw new Error('the database does not answer');
      messages.set(work.messages);
      oldestMessage.set(work.oldestMessageMs / 1000);
      for (const [state, count] of Object.entries(work.replies)) replies.set({ state }, count);
      unacknowledged.set(work.unacknowledged);
      deadLetters.set(work.deadLetters);
      webhookEvents.set(work.webhookEvents);
      databaseUp.set(1);
    } catch {
      // The scrape itself must succeed, or wa2ai_database_up could not show the outage.
      counted = undefined;
      for (const gauge of [messages, oldestMessage, unacknowledged, deadLetters, webhookEvents])
        gauge.remove();
      databaseUp.set(0);
    }
  }

  async function readDisk(): Promise<void> {
    try {
      const space = await within(systemClock, COUNT_LIMIT_MS, app.diskSpace());
      if (!space) throw new Error('the disk does not answer');
      diskFree.set(space.freeBytes);
      diskSize.set(space.sizeBytes);
    } catch {
      for (const gauge of [diskFree, diskSize]) gauge.remove();
    }
  }

  /** Every node reports the same, as of its last view. */
  function readCluster({ nodes, accounts }: ClusterView): void {
    for (const metric of [leaseEpoch, nodeAlive, nodeTurns]) metric.reset();
    for (const { nodeId, isAlive, turns } of nodes) {
      nodeAlive.set({ node: nodeId }, Number(isAlive));
      nodeTurns.set({ node: nodeId }, isAlive ? turns : 0);
    }
    for (const { accountId, owner, availability } of accounts) {
      if (availability === 'owned' && owner) {
        leaseEpoch.set({ account: accountId, node: owner.nodeId }, Number(owner.epoch));
      }
    }
  }

  return {
    observeTurn: ({ state, reason, agentMs, routeId }, accountId = '') => {
      const route = routeId === undefined ? '' : routeLabel(routeId);
      turns.inc({ account: accountLabel(accountId), route, state, reason: reason ?? '' });
      if (agentMs !== undefined) turnSeconds.observe({ route, state }, agentMs / 1000);
    },
    observeReceived: (accountId) => received.inc({ account: accountLabel(accountId) }),
    observeSent: (accountId) => sent.inc({ account: accountLabel(accountId) }),
    observeResendRefused: (accountId) => resendsRefused.inc({ account: accountLabel(accountId) }),
    observeGovernorDelay: (accountId, reason) =>
      governorDelays.inc({ account: accountLabel(accountId), reason }),
    observeWebhookAttempt: (outcome) => webhookAttempts.inc({ outcome }),
    observeCircuitOpened: () => circuitsOpened.inc(),
    scrape: async (accounts, view) => {
      await Promise.all([readOpenWork(), readDisk()]);
      readCluster(view);
      const phases = app.agentPhases();
      for (const state of AGENT_PHASES) hostedAgents.set({ state }, phases.get(state) ?? 0);
      accountState.reset();
      versionAge.reset();
      accountLimit.reset();
      for (const { accountId, state, clientVersion, limits = [] } of accounts.list()) {
        for (const { kind, untilMs } of limits) {
          const leftSeconds = Math.max((untilMs - systemClock.now()) / 1000, 0);
          accountLimit.set({ account: accountId, kind }, leftSeconds);
        }
        for (const known of ACCOUNT_STATES) {
          accountState.set({ account: accountId, state: known }, Number(known === state));
        }
        if (clientVersion) {
          const { version, source, sinceMs } = clientVersion;
          const ageSeconds = Math.max((systemClock.now() - sinceMs) / 1000, 0);
          versionAge.set({ account: accountId, version, source }, ageSeconds);
        }
      }
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

/** Keeps the number of time series bounded: the first `max` values stay, all others become `other`. */
function boundedLabel(max: number): (value: string) => string {
  const known = new Set<string>();
  return (value) => {
    if (known.size < max) known.add(value);
    return known.has(value) ? value : 'other';
  };
}

/** Free bytes and size of the disk of a folder. Rejects when the folder cannot be read. */
export async function diskSpace(folder: string): Promise<{ freeBytes: number; sizeBytes: number }> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}
