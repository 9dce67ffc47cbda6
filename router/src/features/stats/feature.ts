import { z } from 'zod';
import type { App, Feature } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { accountIdField, dataResponse, shown, timeView } from '../../infra/operations/fields.ts';
import { forgetOldStats, type StatPoint } from './postgres-stats.ts';
import { percentileMs } from './stats-recorder.ts';

export const stats: Feature = {
  name: 'stats',
  operations: (app) => [...statsApi(app), ...metricsApi(app)],
  retention: { always: [forgetOldStats] },
};

const MINUTE_MS = 60_000;

/** How many points of which length. */
const SPANS = {
  '1h': { points: 60, stepMs: MINUTE_MS },
  '24h': { points: 144, stepMs: 10 * MINUTE_MS },
  '30d': { points: 120, stepMs: 360 * MINUTE_MS },
} as const;

const statsQuery = z.strictObject({
  accountId: accountIdField.optional().describe('WhatsApp account. Default: all of them.'),
  span: z.enum(['1h', '24h', '30d']).default('1h').describe('The time until now.'),
});

const count = z.int().min(0);
const countsView = z.object({
  messages: count.describe('Messages that were received.'),
  answers: count.describe('Turns that ended with an answer.'),
  failures: count.describe('Turns that ended with a dead letter.'),
  p50Ms: count
    .optional()
    .describe('Half of the answers were stored within this time after their message. Absent: no answers.'),
  p95Ms: count.optional().describe('95 % of the answers were stored within this time.'),
});

const statsView = z
  .object({
    span: z.enum(['1h', '24h', '30d']),
    stepSeconds: z.int().describe('Length of a point.'),
    points: z.array(countsView.extend({ at: timeView })).describe('Oldest first, without gaps.'),
    total: countsView.describe('Of the whole span.'),
    before: countsView.describe('Of the time of the same length before the span.'),
    now: z
      .object({
        waiting: count.describe('Messages whose turn has not ended, of all accounts.'),
        deadLetters: count.describe('Open dead letters of all accounts.'),
        accounts: z.record(z.string(), count).describe('How many accounts are in each state.'),
      })
      .describe('At this moment.'),
  })
  .meta({ id: 'Stats' });

/** How much happened, and how fast: `/api/stats`. */
function statsApi({ stats, messageLog, accounts, clock }: App): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/api/stats',
      operationId: 'getStats',
      tag: 'Messages',
      scopes: ['messages:read', 'accounts:read'],
      honours: ['routes'],
      isPolled: true,
      summary: 'Count messages, answers and failures over time, with answer times',
      description:
        'Each node adds its counts once a minute. Counts by minute are kept for two days, by hour for 60 days.',
      query: statsQuery,
      responses: { 200: { description: 'The counts.', schema: dataResponse(statsView) } },
      handle: async ({ query: { accountId, span } }) => {
        const { points, stepMs } = SPANS[span];
        const fromMs = (Math.floor(clock.now() / stepMs) - points + 1) * stepMs;
        const [found, work] = await Promise.all([
          stats.read({ accountId, fromMs: fromMs - points * stepMs, stepMs }),
          messageLog.openWork(),
        ]);
        const byTime = new Map(found.map((point) => [point.atMs, point]));
        const all = Array.from({ length: points }, (_, n) => {
          const atMs = fromMs + n * stepMs;
          return byTime.get(atMs) ?? { atMs, messages: 0, answers: 0, failures: 0, times: [] };
        });
        const states: Record<string, number> = {};
        for (const { state } of accounts.list()) states[state] = (states[state] ?? 0) + 1;
        const data = shown(statsView, {
          span,
          stepSeconds: stepMs / 1000,
          points: all.map((point) => ({ at: point.atMs, ...countsOf([point]) })),
          total: countsOf(all),
          before: countsOf(found.filter(({ atMs }) => atMs < fromMs)),
          now: { waiting: work.messages, deadLetters: work.deadLetters, accounts: states },
        });
        return { status: 200, json: { success: true, data } };
      },
    }),
  ];
}

function countsOf(points: readonly StatPoint[]): z.output<typeof countsView> {
  const sum = (value: (point: StatPoint) => number) =>
    points.reduce((total, point) => total + value(point), 0);
  const length = Math.max(0, ...points.map(({ times }) => times.length));
  const times = Array.from({ length }, (_, bucket) => sum((point) => point.times[bucket] ?? 0));
  const [p50Ms, p95Ms] = [percentileMs(times, 0.5), percentileMs(times, 0.95)];
  return {
    messages: sum((point) => point.messages),
    answers: sum((point) => point.answers),
    failures: sum((point) => point.failures),
    ...(p50Ms !== undefined && { p50Ms }),
    ...(p95Ms !== undefined && { p95Ms }),
  };
}

/**
 * `GET /metrics`. It needs a key if the admin key is set, because it names accounts and shows how busy they are. Prometheus sends
 * the key with `authorization: {credentials: ...}`.
 */
function metricsApi({ metrics, accounts, nodes }: App): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/metrics',
      operationId: 'getMetrics',
      isPolled: true,
      scopes: ['accounts:read'],
      honours: [],
      tag: 'Health',
      summary: 'Metrics for Prometheus',
      responses: { 200: { description: 'Metrics.', contentType: 'text/plain' } },
      handle: async () => {
        const { contentType, text } = await metrics.scrape(accounts, nodes.view());
        return { status: 200, headers: { 'content-type': contentType }, text };
      },
    }),
  ];
}
