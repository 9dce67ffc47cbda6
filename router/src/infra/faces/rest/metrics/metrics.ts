import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ACCOUNT_STATES } from '../../../../core/cluster/account-state.ts';
import type { AccountControl } from '../../../../core/ports/account-control.ts';
import type { TurnResult } from '../../../../core/ports/inbox.ts';
import type { MessageLog, OpenWork } from '../../../../core/ports/message-log.ts';
import { withTimeout } from '../with-timeout.ts';

/** Counting rows costs the database; scrapes closer together than this share one count. */
const COUNT_LIFETIME_MS = 5_000;
/** Sooner than Prometheus gives a scrape up (10 s): a database that is silent must show as being away. */
const COUNT_LIMIT_MS = 2_000;
/** Milliseconds between looks at the event loop's lag: rarer than the library's 10, to keep an idle service idle. */
const LAG_PRECISION_MS = 100;

/** The service's metrics in a registry of their own. */
export interface Metrics {
  /** Counts one ended turn and how long its agent took. Needs no `this`. */
  readonly observeTurn: (result: Pick<TurnResult, 'state' | 'reason' | 'agentMs'>) => void;
  /** Counts one opening of an agent endpoint's circuit. Needs no `this`. */
  readonly observeCircuitOpened: () => void;
  /** Text in the Prometheus format, and its content type. A database that is away shows as wa2ai_database_up 0. */
  scrape(accounts: AccountControl): Promise<{ contentType: string; text: string }>;
}

/** Builds the metrics; Node's own (memory, event-loop lag, garbage collection) are among them. */
export function createMetrics(deps: {
  messageLog: Pick<MessageLog, 'openWork'>;
  monotonicMs?: () => number;
}): Metrics {
  const monotonicMs = deps.monotonicMs ?? (() => performance.now());
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS });

  const turns = new Counter({
    name: 'wa2ai_turns_total',
    help: 'Turns that ended in this process, by what became of the message and why.',
    labelNames: ['state', 'reason'],
    registers,
  });
  const turnSeconds = new Histogram({
    name: 'wa2ai_agent_turn_seconds',
    help: 'How long agents took for a turn, in seconds.',
    labelNames: ['state'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  const circuitsOpened = new Counter({
    name: 'wa2ai_circuits_opened_total',
    help: 'How often an agent endpoint failed so often in a row that it was left alone for a while.',
    registers,
  });
  const messages = new Gauge({
    name: 'wa2ai_messages_waiting',
    help: 'Messages whose turn has not ended.',
    registers,
  });
  const oldestMessage = new Gauge({
    name: 'wa2ai_oldest_message_seconds',
    help: 'How long the oldest of the waiting messages has waited, in seconds.',
    registers,
  });
  const replies = new Gauge({
    name: 'wa2ai_replies_waiting',
    help: 'Messages to people that WhatsApp has not acknowledged, by state.',
    labelNames: ['state'],
    registers,
  });
  const unacknowledged = new Gauge({
    name: 'wa2ai_replies_unacknowledged',
    help: 'Replies that WhatsApp took and has not acknowledged within WA2AI_ACK_TIMEOUT_MS.',
    registers,
  });
  const deadLetters = new Gauge({
    name: 'wa2ai_dead_letters',
    help: 'Dead letters that were not replayed.',
    registers,
  });
  const databaseUp = new Gauge({
    name: 'wa2ai_database_up',
    help: '1 when the database answered this scrape.',
    registers,
  });
  const accountState = new Gauge({
    name: 'wa2ai_account_state',
    help: '1 for the state that the WhatsApp account is in.',
    labelNames: ['account', 'state'],
    registers,
  });

  let counted: { atMs: number; work: Promise<OpenWork> } | undefined;

  function openWork(): Promise<OpenWork> {
    if (!counted || monotonicMs() - counted.atMs >= COUNT_LIFETIME_MS) {
      counted = { atMs: monotonicMs(), work: deps.messageLog.openWork() };
    }
    return counted.work;
  }

  async function readOpenWork(): Promise<void> {
    replies.reset();
    try {
      const work = await withTimeout(COUNT_LIMIT_MS, openWork(), () => {
        throw new Error('the database does not answer');
      });
      messages.set(work.messages);
      oldestMessage.set(work.oldestMessageMs / 1000);
      for (const [state, count] of Object.entries(work.replies)) replies.set({ state }, count);
      unacknowledged.set(work.unacknowledged);
      deadLetters.set(work.deadLetters);
      databaseUp.set(1);
    } catch {
      // The scrape itself must succeed, or the metric that tells of the outage would be lost too.
      counted = undefined;
      for (const gauge of [messages, oldestMessage, unacknowledged, deadLetters]) gauge.remove();
      databaseUp.set(0);
    }
  }

  return {
    observeTurn: ({ state, reason, agentMs }) => {
      turns.inc({ state, reason: reason ?? '' });
      if (agentMs !== undefined) turnSeconds.observe({ state }, agentMs / 1000);
    },
    observeCircuitOpened: () => circuitsOpened.inc(),
    scrape: async (accounts) => {
      await readOpenWork();
      accountState.reset();
      for (const { accountId, state } of accounts.list()) {
        for (const known of ACCOUNT_STATES) {
          accountState.set({ account: accountId, state: known }, Number(known === state));
        }
      }
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}
