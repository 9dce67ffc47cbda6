import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { PHRASES } from '../../core/phrases.ts';
import type { App } from '../../feature.ts';
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
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { NpcError } from './json-rpc.ts';
import { endOffer, type ScopedTradeOffer, stateOf } from './memories.ts';
import { tradeTerms } from './npc-capabilities.ts';

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
export function npcTradesApi(app: App): Endpoint[] {
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
      responses: { 201: { description: 'The offer.', schema: dataResponse(offerView) } },
      handle: async ({ body: { peer, ...terms } }) => {
        const { name } = await npcSettings();
        const checked = asProblem(() => tradeTerms(terms, clock.now()));
        const offer = await trades.offer(
          { npc: name, peer },
          { ...checked, maker: 'npc' },
          `rest:${randomUUID()}`,
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
            if (error instanceof NpcError) throw new HttpProblem(409, 'TRADE_ENDED', error.message);
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
