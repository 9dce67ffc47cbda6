import { z } from 'zod';
import { PHRASES, say } from '../../core/phrases.ts';
import type { App } from '../../feature.ts';
import { MASK } from '../../infra/agents/secrets.ts';
import { httpUrlField } from '../../infra/agents/setting-fields.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import {
  dataResponse,
  pageOf,
  pageQuery,
  pageResponse,
  rowIdField,
  shown,
  timeView,
} from '../../infra/operations/fields.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { ChainSettingsError, ChainUnavailableError } from './npc-chain.ts';

const addressField = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, PHRASES['field.ethereum-digits'])
  .refine((address) => !/^0x0{40}$/.test(address), PHRASES['field.zero-address']);
const amountField = z.string().regex(/^\d{1,78}$/, PHRASES['field.amount']);

const limitsBody = z
  .strictObject({
    wager: amountField.optional().describe('Largest wager of a duel, in the smallest unit of the token.'),
    reward: amountField.optional().describe('Largest reward of a quest, in the smallest unit of the token.'),
    gas: z.int().min(21_000).max(30_000_000).optional().describe('Gas of one task. Default: 1000000.'),
    feePerGas: amountField
      .optional()
      .describe('Highest fee of a unit of gas, in wei. Default: 200000000000 (200 gwei).'),
    perDay: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe(
        'In 24 hours the tasks of one caller pay at most so many times `wager`, `reward` and `gas`. Default: 20.',
      ),
  })
  .describe('The most of one task.');

const chainSettingsFields = z.strictObject({
  rpcUrl: httpUrlField.describe(
    'JSON-RPC of a node of the chain. Stored encrypted; responses show its path and query as `***`, which sent back changes nothing.',
  ),
  chainId: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
  contracts: z.strictObject({
    arena: addressField.optional().describe('For `duel`.'),
    quest: addressField.optional().describe('For `quest`.'),
  }),
  tokens: z
    .array(addressField)
    .min(1)
    .max(20)
    .describe('Tokens that the wallet may spend (ERC-20). The first one is the default.'),
  limits: limitsBody,
  confirmations: z
    .int()
    .min(0)
    .max(100)
    .optional()
    .describe(
      'Blocks on top of a block before it counts: longer reorganisations are not handled. Default: 5.',
    ),
  startBlock: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('First block whose events are stored. Default: the newest one when following begins.'),
  timeoutMs: z
    .int()
    .min(100)
    .max(120_000)
    .optional()
    .describe('Time limit of one request to the RPC server, in milliseconds. Default: 10000.'),
});

/** The chain of `duel` and `quest`, as an admin sends it. */
export const chainSettingsBody = chainSettingsFields
  .superRefine(({ contracts, limits }, context) => {
    const wrong = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    const { arena, quest } = contracts;
    if (arena === undefined && quest === undefined) wrong(['contracts'], PHRASES['field.arena-or-quest']);
    if (arena !== undefined && limits.wager === undefined)
      wrong(['limits', 'wager'], PHRASES['field.needed-with-arena']);
    if (quest !== undefined && limits.reward === undefined)
      wrong(['limits', 'reward'], PHRASES['field.needed-with-quest']);
  })
  .describe(
    'Contracts for `duel` and `quest`. Absent: the card offers neither. Needs WA2AI_NPC_WALLET_KEY_FILE.',
  );

/** As responses show it. */
export const chainSettingsView = chainSettingsFields.extend({ rpcUrl: z.string() });

/** Path and query of the URL of an RPC server often contain a key. */
export function maskedRpcUrl(rpcUrl: string): string {
  const { origin, pathname, search } = new URL(rpcUrl);
  return pathname === '/' && search === '' ? origin : `${origin}/${MASK}`;
}

const MAX_UNSETTLED = 100;
const amountView = z.string().describe('Decimal digits, in the smallest unit.');

const reportView = z
  .object({
    wallet: z
      .string()
      .describe('Address of the wallet. Send it tokens, and the currency of the chain for gas.'),
    chainId: z.int(),
    block: z.string().describe('The newest block.'),
    balance: amountView.describe('Of the currency of the chain, in wei.'),
    tokens: z.array(
      z.object({
        address: z.string(),
        balance: amountView,
        allowances: z
          .object({ arena: amountView.optional(), quest: amountView.optional() })
          .describe('How much of it each contract may take from the wallet.'),
      }),
    ),
    problems: z.array(z.string()).describe('What prevents duels and quests.'),
    followedTo: z.string().optional().describe('The last block whose events are stored.'),
    waiting: z
      .array(z.object({ taskId: z.string(), hash: z.string(), nonce: z.int() }))
      .describe('Transactions that are not in a block that is deep enough.'),
  })
  .meta({ id: 'NpcChain' });

const eventView = z
  .object({
    id: z.string(),
    kind: z.enum(['duel-created', 'quest-completed']),
    values: z.record(z.string(), z.string()).describe('The arguments, by the names of the specification.'),
    blockNumber: z.string(),
    transactionHash: z.string(),
    taskId: z.string().optional().describe('The task whose transaction it is of.'),
    storedAt: timeView,
  })
  .meta({ id: 'NpcChainEvent' });

/** The wallet and the contracts of the NPC server: `/api/npc/chain`. */
export function npcChainApi({ chain, chainEvents, transactions }: App): Endpoint[] {
  const common = {
    tag: 'Agents',
    method: 'get' as const,
    scopes: ['agents:manage'] as const,
    honours: [] as const,
  };
  return [
    endpoint({
      ...common,
      path: '/api/npc/chain',
      operationId: 'getNpcChain',
      summary: 'Check the wallet and the contracts of the NPC server',
      description: 'Asks the RPC server.',
      responses: {
        200: { description: 'What the chain says now.', schema: dataResponse(reportView) },
        404: { description: 'There are no chain settings.', schema: problemSchema },
        502: {
          description: 'The RPC server does not answer, or is of another chain.',
          schema: problemSchema,
        },
      },
      handle: async () => {
        const current = await chain();
        if (!current) throw new HttpProblem(404, 'NO_CHAIN', say('problem.no-chain'));
        const report = await current.report().catch((error: unknown) => {
          if (error instanceof ChainUnavailableError)
            throw new HttpProblem(502, 'CHAIN_UNAVAILABLE', error.message);
          if (error instanceof ChainSettingsError)
            throw new HttpProblem(502, 'CHAIN_SETTINGS', error.message);
          throw error;
        });
        const cursor = await chainEvents.cursor(current.eventSource);
        const waiting = await transactions.unsettled(current.chainId, 0, MAX_UNSETTLED);
        const data = {
          ...report,
          ...(cursor !== undefined && { followedTo: String(cursor) }),
          waiting: waiting.map(({ taskId, hash, nonce }) => ({ taskId, hash, nonce })),
        };
        return { status: 200, json: { success: true, data } };
      },
    }),
    endpoint({
      ...common,
      path: '/api/npc/chain/events',
      operationId: 'listNpcChainEvents',
      summary: 'List events of the contracts of the NPC server, newest first',
      query: z.strictObject(pageQuery(rowIdField, 50)),
      responses: { 200: { description: 'A page of events.', schema: pageResponse(eventView) } },
      handle: async ({ query: { cursor, limit } }) => {
        const events = await chainEvents.list({
          ...(cursor !== undefined && { before: cursor }),
          limit: limit + 1,
        });
        const data = events.map((event) => shown(eventView, { ...event, storedAt: event.storedAtMs }));
        return { status: 200, json: pageOf(data, limit, ({ id }) => id) };
      },
    }),
  ];
}
