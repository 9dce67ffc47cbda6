import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { issueOf, PHRASES, type Said, say } from '../../core/phrases.ts';
import { withoutTrailing } from '../../core/text.ts';
import type { App } from '../../feature.ts';
import { MASK } from '../../infra/agents/route-secrets.ts';
import { httpUrlField } from '../../infra/agents/setting-fields.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import {
  changedResponse,
  dataResponse,
  pageOf,
  pageQuery,
  pageResponse,
  rowIdField,
  shown,
  timeView,
} from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { HttpProblem, mistakeAt, problemSchema } from '../../infra/operations/problem.ts';
import { settingsOperations } from '../../infra/operations/settings.ts';
import { NpcError } from './json-rpc.ts';
import { endOffer, type ScopedTradeOffer, stateOf } from './memories.ts';
import {
  ChainSettingsError,
  ChainUnavailableError,
  CUSTOM_CAPABILITY,
  capabilitiesOf,
  type NpcChainSettings,
  type NpcServerSettings,
} from './npc-chain.ts';
import { tradeTerms } from './short-tasks.ts';

/** The operations of the NPC server: its settings, trade offers, and what it does on the chain. */
export function npcApi(app: App): Endpoint[] {
  return [...npcSettingsApi(app), ...npcTradesApi(app), ...npcChainApi(app)];
}

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
const chainSettingsBody = chainSettingsFields
  .superRefine(({ contracts, limits }, context) => {
    const wrong = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    const { arena, quest } = contracts;
    if (arena === undefined && quest === undefined) wrong(['contracts'], PHRASES['field.arena-or-quest']);
    if (arena !== undefined && limits.wager === undefined)
      wrong(['limits', 'wager'], PHRASES['field.needed-with-arena']);
    if (quest !== undefined && limits.reward === undefined)
      wrong(['limits', 'reward'], PHRASES['field.needed-with-quest']);
  })
  .describe('Contracts for `duel` and `quest`. Absent: the card offers neither. Needs WA2AI_NPC_WALLET_KEY.');

/** As responses show it. */
const chainSettingsView = chainSettingsFields.extend({ rpcUrl: z.string() });

/** Path and query of the URL of an RPC server often contain a key. */
function maskedRpcUrl(rpcUrl: string): string {
  const { origin, pathname, search } = new URL(rpcUrl);
  return pathname === '/' && search === '' ? origin : `${origin}/${MASK}`;
}

const MAX_METADATA_CHARS = 10_000;

const settingsBody = z
  .strictObject({
    enabled: z
      .boolean()
      .describe('Whether callers reach the card, `/rpc` and `/stream`. Default: only on loopback.'),
    name: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .describe(
        'Name of the NPC. Emotions, memories and trades belong to it: another name begins without any.',
      ),
    description: z.string().trim().min(1).max(500).optional(),
    routeId: z
      .uuid(PHRASES['field.route-id'])
      .optional()
      .describe(
        'Route whose agent answers `social` and custom tasks. Absent: the card offers neither. Its account sends what `to` asks for.',
      ),
    url: z
      .string()
      .regex(/^https?:\/\/[^\s/?#]+(?:\/[^\s?#]*)?$/, PHRASES['field.url-example'])
      .transform((url) => withoutTrailing(url, '/'))
      .optional()
      .describe(
        'Where callers reach wa2ai, for the card behind a proxy. Default: the `Host` of each request.',
      ),
    custom: z
      .array(z.string().regex(CUSTOM_CAPABILITY, PHRASES['field.custom-name']))
      .max(50)
      .optional()
      .describe('Further capabilities of the card. Their tasks go to the agent of the route.'),
    metadata: z
      .record(z.string().min(1).max(100), z.unknown())
      .refine(
        (metadata) => JSON.stringify(metadata).length <= MAX_METADATA_CHARS,
        issueOf(say('field.max-chars', { max: MAX_METADATA_CHARS })),
      )
      .optional()
      .describe('Further fields of `metadata` on the card.'),
    chain: chainSettingsBody.optional(),
  })
  .superRefine(({ custom, routeId }, context) => {
    if (custom?.length && routeId === undefined) {
      context.addIssue({ code: 'custom', path: ['custom'], message: PHRASES['field.needs-route-id'] });
    }
  })
  .meta({ id: 'NpcSettings', examples: [{ enabled: true, name: 'Old Guard' }] });

const settingsView = z
  .object({
    ...settingsBody.shape,
    url: z.string().optional(),
    chain: chainSettingsView.optional(),
    capabilities: z.array(z.string()).describe('What the card offers with these settings.'),
  })
  .meta({ id: 'NpcSettingsInUse' });

/** Settings of the NPC server: `/api/settings/npc`. */
function npcSettingsApi(app: App): Endpoint[] {
  const { npcSettings, putNpcSettings, routes, log } = app;
  return settingsOperations({
    name: 'npc',
    id: 'Npc',
    tag: 'Agents',
    scopes: ['admin'],
    shows: 'Show the settings of the NPC server',
    replaces: 'Replace the settings of the NPC server on all nodes',
    body: settingsBody,
    view: settingsView,
    show: async () => viewOf(await npcSettings()),
    replace: async (body, ifMatch) => {
      const { routeId, chain: given, ...others } = body;
      if (routeId !== undefined && !(await routes.get(routeId))) {
        throw invalid('body', [{ field: 'routeId', message: PHRASES['field.route-id'] }]);
      }
      const chain = given && (await checkedChain(app, given));
      const changed = { ...others, ...(routeId !== undefined && { routeId }), ...(chain && { chain }) };
      await putNpcSettings(changed, ifMatch && ((inUse) => ifMatch(viewOf(inUse))));
      log.info(
        { face: 'npc', enabled: body.enabled, hasChain: chain !== undefined },
        'settings of a server changed',
      );
      return { data: viewOf(changed) };
    },
  });
}

/** With the stored RPC URL in place of its masked form. @throws {HttpProblem} 400 */
async function checkedChain(
  { npcSettings, hasWalletKey, egressRefusalOf }: App,
  chain: NpcChainSettings,
): Promise<NpcChainSettings> {
  const wrong = (field: string, mistake: Said) => invalid('body', [mistakeAt(`chain${field}`, mistake)]);
  if (!hasWalletKey) throw wrong('', say('field.needs-wallet'));
  const before = (await npcSettings()).chain?.rpcUrl;
  const isMasked = before !== undefined && chain.rpcUrl === maskedRpcUrl(before);
  const rpcUrl = isMasked ? before : chain.rpcUrl;
  if (rpcUrl.includes(MASK)) throw wrong('.rpcUrl', say('field.whole-url'));
  const refusal = egressRefusalOf(rpcUrl);
  if (refusal !== undefined) throw wrong('.rpcUrl', say('field.refused', { why: refusal }));
  return { ...chain, rpcUrl };
}

function viewOf(settings: NpcServerSettings): z.output<typeof settingsView> {
  const { chain, ...others } = settings;
  const shown = chain && { ...chain, rpcUrl: maskedRpcUrl(chain.rpcUrl) };
  return {
    ...others,
    ...(shown && { chain: shown }),
    capabilities: settings.enabled ? capabilitiesOf(settings) : [],
  };
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
function npcChainApi({ chain, chainEvents, transactions }: App): Endpoint[] {
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
            throw new HttpProblem(502, 'CHAIN_UNAVAILABLE', error.said);
          if (error instanceof ChainSettingsError) throw new HttpProblem(502, 'CHAIN_SETTINGS', error.said);
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

const offerView = z
  .object({
    offerId: z.string(),
    npc: z.string(),
    peer: z
      .string()
      .describe('`key:` and the id of the key, or `admin`; and `/` with the peer that the caller named.'),
    maker: z.enum(['peer', 'npc']).describe('Who made the offer. The other side accepts or declines it.'),
    direction: z.enum(['sell', 'buy']).describe('Whether the maker sells or buys.'),
    item: z.string(),
    quantity: z.int(),
    price: z.string().describe('Of one item, in wei.'),
    total: z.string().describe('Of all items, in wei.'),
    currency: z.string().optional(),
    state: z.enum(['open', 'accepted', 'declined', 'withdrawn', 'expired']),
    createdAt: timeView,
    expiresAt: timeView,
    endedAt: timeView.optional(),
    endedBy: z.enum(['peer', 'npc']).optional(),
  })
  .meta({ id: 'TradeOffer' });

const weiField = z.string().regex(/^\d{1,78}$/, PHRASES['field.amount-wei']);

const offerBody = z
  .strictObject({
    peer: z.string().min(1).max(200).describe('As the list of offers shows it.'),
    item: z.string().trim().min(1).max(1_000),
    quantity: z.int().min(1),
    price: weiField.describe('Of one item, in wei.'),
    currency: z
      .string()
      .regex(/^0x[0-9a-fA-F]{40}$/, PHRASES['field.ethereum'])
      .optional(),
    direction: z.enum(['sell', 'buy']).optional().describe('Default: `sell`, by the NPC.'),
    expiresIn: z.int().min(1).max(2_592_000).optional().describe('Seconds. Default: a day.'),
  })
  .meta({
    id: 'TradeOfferToMake',
    examples: [
      {
        peer: 'key:01900000-0000-7000-8000-000000000001',
        item: 'sword',
        quantity: 2,
        price: '1000000000000000000',
      },
    ],
  });

/** The operator's side of the NPC's trades: `/api/npc/trades`. */
function npcTradesApi(app: App): Endpoint[] {
  const { trades, clock, npcSettings } = app;
  const common = { tag: 'Agents', scopes: ['agents:manage'] as const, honours: [] as const };
  const view = (offer: ScopedTradeOffer) =>
    shown(offerView, {
      ...offer,
      state: stateOf(offer, clock.now()),
      createdAt: offer.createdAtMs,
      expiresAt: offer.expiresAtMs,
      endedAt: offer.end?.atMs,
      endedBy: offer.end?.by,
    });

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/npc/trades',
      operationId: 'listTrades',
      summary: 'List offers of the NPC and its peers, newest first',
      query: z.strictObject(pageQuery(rowIdField, 50)),
      responses: { 200: { description: 'A page of offers.', schema: pageResponse(offerView) } },
      handle: async ({ query: { cursor, limit } }) => {
        const offers = await trades.list({
          ...(cursor !== undefined && { before: cursor }),
          limit: limit + 1,
        });
        return { status: 200, json: pageOf(offers.map(view), limit, ({ offerId }) => offerId) };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/npc/trades',
      operationId: 'makeTradeOffer',
      summary: 'Make an offer of the NPC to a peer',
      body: offerBody,
      creates: {},
      responses: { 201: { description: 'The offer.', schema: dataResponse(offerView) } },
      handle: async ({ body: { peer, ...terms }, repeatId = randomUUID() }) => {
        const { name } = await npcSettings();
        const checked = asProblem(() => tradeTerms(terms, clock.now()));
        const offer = await trades.offer(
          { npc: name, peer },
          { ...checked, maker: 'npc' },
          `rest:${repeatId}`,
        );
        return { status: 201, json: { success: true, data: view(offer) } };
      },
    }),
    ...(['accept', 'decline'] as const).map((action) =>
      endpoint({
        ...common,
        method: 'post',
        path: `/api/npc/trades/{id}/${action}`,
        operationId: `${action}Trade`,
        summary:
          action === 'accept'
            ? 'Accept an offer of a peer'
            : 'Decline an offer of a peer, or withdraw one of the NPC',
        params: { id: 'Id of an offer.' },
        responses: {
          200: { description: 'The ended offer.', schema: changedResponse(offerView) },
          409: { description: 'It has ended, or cannot be accepted by the NPC.', schema: problemSchema },
        },
        handle: async ({ params: { id = '' } }) => {
          try {
            const ended = await endOffer(app, {
              offerId: id,
              action,
              by: 'npc',
              key: `rest:${randomUUID()}`,
            });
            const data = view(ended);
            return { status: 200, json: { success: true, message: `Offer ${data.state}.`, data } };
          } catch (error) {
            if (error instanceof NpcError)
              throw new HttpProblem(409, 'TRADE_ENDED', { sentence: error.message });
            throw error;
          }
        },
      }),
    ),
  ];
}

function asProblem<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof NpcError)) throw error;
    throw invalid('body', [{ field: 'price', message: 'has, for all items, more than 256 bits' }]);
  }
}
