import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ACCOUNT_STATES } from '../../core/account-state.ts';
import type { AccountControl } from '../../core/ports/account-control.ts';
import type { TurnResult } from '../../core/ports/inbox.ts';
import type { MessageLog } from '../../core/ports/message-log.ts';

/** Counting rows costs the database; scrapes closer together than this share one count. */
const COUNT_LIFETIME_MS = 5_000;
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
export function createMetrics(deps: { messageLog: MessageLog; monotonicMs?: () => number }): Metrics {
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
    name: 'wa2ai_messages',
    help: 'Stored messages that came in, by state.',
    labelNames: ['state'],
    registers,
  });
  const replies = new Gauge({
    name: 'wa2ai_replies',
    help: 'Stored messages that went out or are about to, by state.',
    labelNames: ['state'],
    registers,
  });
  const unacknowledged = new Gauge({
    name: 'wa2ai_replies_unacknowledged',
    help: 'Replies that WhatsApp took and has not acknowledged within WA2AI_ACK_TIMEOUT_MS.',
    registers,
  });
  const deadLetters = new Gauge({ name: 'wa2ai_dead_letters', help: 'Dead letters stored.', registers });
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

  let counted: { atMs: number; counts: ReturnType<MessageLog['counts']> } | undefined;

  function counts(): ReturnType<MessageLog['counts']> {
    if (!counted || monotonicMs() - counted.atMs >= COUNT_LIFETIME_MS) {
      counted = { atMs: monotonicMs(), counts: deps.messageLog.counts() };
    }
    return counted.counts;
  }

  async function readCounts(): Promise<void> {
    for (const gauge of [messages, replies, deadLetters]) gauge.reset();
    try {
      const current = await counts();
      for (const [state, count] of Object.entries(current.messages)) messages.set({ state }, count);
      for (const [state, count] of Object.entries(current.outbox)) replies.set({ state }, count);
      deadLetters.set(current.deadLetters);
      unacknowledged.set(current.unacknowledged);
      databaseUp.set(1);
    } catch {
      // The scrape itself must succeed, or the metric that tells of the outage would be lost too.
      counted = undefined;
      deadLetters.remove();
      unacknowledged.remove();
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
      await readCounts();
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
