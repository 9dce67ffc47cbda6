import { z } from 'zod';
import { type Caller, mayDo, mayUseAccount } from '../../core/access/caller.ts';
import { within } from '../../core/clock.ts';
import { StorageTroubleError } from '../../core/errors.ts';
import type { StorageHealth } from '../../core/ports/storage-health.ts';
import type { App } from '../../feature.ts';
import { systemClock } from '../../infra/clock/system-clock.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';

/** How long the database may take to answer before it counts as unavailable. */
const PING_LIMIT_MS = 2_000;
const NO_ANSWER = 'The database does not answer.';

const reasonView = z.object({
  name: z
    .string()
    .describe('`database`, or `account:` and its id; only `account` without the scope `accounts:read`.'),
  message: z.string(),
});

const readyView = z.object({
  status: z.enum(['ready', 'not-ready']),
  reasons: z.array(reasonView),
  node: z.string().describe('The node that responds.'),
  accounts: z
    .array(z.string())
    .optional()
    .describe('The WhatsApp accounts that it runs; for callers with the scope `accounts:read`.'),
});

const healthView = z.object({
  status: z.enum(['ok', 'failing']),
  uptimeSeconds: z.int(),
  database: z.enum(['ok', 'failing']),
  accounts: z
    .array(
      z.object({
        accountId: z.string(),
        state: z.string(),
        nextAction: z.string(),
        node: z.string().optional().describe('The node that runs it.'),
      }),
    )
    .optional()
    .describe('For callers with the scope `accounts:read`.'),
});

/**
 * Health for machines, without a key. Live: the process responds. Ready: the database works, and every account is connected
 * or runs on another node. Summary: fails only with the database, because an account that waits for pairing is not a fault. Accounts are named only to
 * callers who may read them.
 */
export function healthApi({ accounts, storage, nodes }: App): Endpoint[] {
  const common = { tag: 'Health', method: 'get' as const, scopes: 'public' as const };

  return [
    endpoint({
      ...common,
      path: '/health/live',
      operationId: 'getLiveness',
      summary: 'Whether the process is running',
      responses: {
        200: { description: 'The process is running.', schema: z.object({ status: z.literal('live') }) },
      },
      handle: () => ({ status: 200, json: { status: 'live' } }),
    }),
    endpoint({
      ...common,
      path: '/health/ready',
      operationId: 'getReadiness',
      summary: 'Whether the database works and the WhatsApp accounts of this node are connected',
      description:
        'An account that WhatsApp limits but that is connected is ready: it receives messages and answers them.',
      responses: {
        200: { description: 'Ready.', schema: readyView },
        503: { description: 'Not ready; see `reasons`.', schema: readyView },
      },
      handle: async ({ caller }) => {
        const reasons: Array<z.output<typeof reasonView>> = [];
        const trouble = await troubleOf(storage);
        if (trouble) reasons.push({ name: 'database', message: trouble });
        const known = accounts.list().filter(({ provider }) => !provider);
        if (known.length === 0)
          reasons.push({ name: 'account', message: 'There is no WhatsApp account. Add one.' });
        const waiting = known.filter(({ state, node, isConnected = state === 'open' }) => {
          const isElsewhere = node !== undefined && node !== nodes.nodeId;
          return !isConnected && !isElsewhere;
        });
        const named = waiting.filter(({ accountId }) => mayRead(caller, accountId));
        for (const { accountId, state, nextAction } of named) {
          reasons.push({
            name: `account:${accountId}`,
            message: `The account is in the state ${state}. ${nextAction}`,
          });
        }
        const others = waiting.length - named.length;
        if (others > 0) {
          const message = `${others} of the accounts are not connected. Send a key to see which.`;
          reasons.push({ name: 'account', message });
        }
        const own = known
          .filter(({ accountId, node }) => node === nodes.nodeId && mayRead(caller, accountId))
          .map(({ accountId }) => accountId);
        const isReady = reasons.length === 0;
        const status = isReady ? 'ready' : 'not-ready';
        const json = {
          status,
          reasons,
          node: nodes.nodeId,
          ...(mayDo(caller, 'accounts:read') && { accounts: own }),
        };
        return { status: isReady ? 200 : 503, json };
      },
    }),
    endpoint({
      ...common,
      path: '/health',
      operationId: 'getHealth',
      summary: 'Summary of the service',
      responses: {
        200: { description: 'Working.', schema: healthView },
        503: { description: 'The database does not answer, or does not accept writes.', schema: healthView },
      },
      handle: async ({ caller }) => {
        const database = (await troubleOf(storage)) === undefined ? 'ok' : 'failing';
        const json = {
          status: database,
          uptimeSeconds: Math.floor(process.uptime()),
          database,
          ...(mayDo(caller, 'accounts:read') && {
            accounts: accounts
              .list()
              .filter(({ accountId }) => mayRead(caller, accountId))
              .map(({ accountId, state, nextAction, node }) => ({ accountId, state, nextAction, node })),
          }),
        };
        return { status: database === 'ok' ? 200 : 503, json };
      },
    }),
  ];
}

function mayRead(caller: Caller, accountId: string): boolean {
  return mayDo(caller, 'accounts:read') && mayUseAccount(caller, accountId);
}

/** A sentence without addresses, because the endpoint is public; undefined if the database works. */
async function troubleOf(storage: Pick<StorageHealth, 'check'>): Promise<string | undefined> {
  const answered = storage.check().then(
    () => 'ok' as const,
    (error: unknown) => (error instanceof StorageTroubleError ? error.message : NO_ANSWER),
  );
  const answer = (await within(systemClock, PING_LIMIT_MS, answered)) ?? NO_ANSWER;
  return answer === 'ok' ? undefined : answer;
}
