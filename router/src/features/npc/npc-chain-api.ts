import { z } from 'zod';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { dataResponse, rowIdField, timeView } from '../../infra/operations/fields.ts';
import { pageOf, pageQuery, pageResponse } from '../../infra/operations/paging.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { ChainSettingsError, ChainUnavailableError, type NpcChain } from './npc-chain.ts';
import type { NpcChainEvents, StoredChainEvent } from './npc-chain-events.ts';
import type { NpcTransactions } from './npc-transactions.ts';

export interface NpcChainApiDeps {
  /** Undefined: there are no chain settings, or this node has no key of the wallet. */
  chain(): Promise<NpcChain | undefined>;
  chainEvents: NpcChainEvents;
  transactions: Pick<NpcTransactions, 'unsettled'>;
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

/** The wallet and the contracts of the NPC face: `/api/npc/chain`. */
export function npcChainApi({ chain, chainEvents, transactions }: NpcChainApiDeps): Endpoint[] {
  const common = {
    tag: 'Agents' as const,
    method: 'get' as const,
    scopes: ['agents:manage'] as const,
    honours: [] as const,
  };
  return [
    endpoint({
      ...common,
      path: '/api/npc/chain',
      operationId: 'getNpcChain',
      summary: 'Check the wallet and the contracts of the NPC face',
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
        if (!current)
          throw new HttpProblem(404, 'NO_CHAIN', 'The NPC settings have no chain, or this node has no key.');
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
      summary: 'List events of the contracts of the NPC face, newest first',
      query: z.strictObject(pageQuery(rowIdField, 50)),
      responses: { 200: { description: 'A page of events.', schema: pageResponse(eventView) } },
      handle: async ({ query: { cursor, limit } }) => {
        const events = await chainEvents.list({
          ...(cursor !== undefined && { before: cursor }),
          limit: limit + 1,
        });
        return { status: 200, json: pageOf(events.map(viewOf), limit, ({ id }) => id) };
      },
    }),
  ];
}

function viewOf(event: StoredChainEvent): z.input<typeof eventView> {
  const { id, kind, values, blockNumber, transactionHash, taskId, storedAtMs } = event;
  return {
    id,
    kind,
    values,
    blockNumber: String(blockNumber),
    transactionHash,
    ...(taskId !== undefined && { taskId }),
    storedAt: new Date(storedAtMs).toISOString(),
  };
}
