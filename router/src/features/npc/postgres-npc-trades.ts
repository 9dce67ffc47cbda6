import sql, { empty, type Sql } from 'sql-template-tag';
import type { Statements } from '../../infra/db/postgres.ts';
import { searchableId } from '../../infra/db/stores/searchable-id.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import type { NpcScope } from './npc-emotions.ts';
import type { NpcTrades, ScopedTradeOffer } from './npc-trades.ts';
import type { TradeEnd, TradeSide, TradeTerms } from './trades.ts';

interface OfferRow {
  offerId: string;
  npc: string;
  peer: string;
  maker: TradeSide;
  direction: 'sell' | 'buy';
  item: string;
  quantity: bigint;
  price: string;
  total: string;
  currency: string | null;
  expiresAt: Date;
  createdAt: Date;
  kind: TradeEnd | null;
  side: TradeSide | null;
  key: string | null;
  at: Date | null;
}

const SELECT = sql`
  SELECT o.id::text AS "offerId", o.npc, o.peer, o.maker, o.direction, o.item, o.quantity, o.price::text, o.total::text,
    o.currency, o.expires_at AS "expiresAt", o.created_at AS "createdAt", e.kind, e.side, e.key, e.at
  FROM npc_trade_offer o LEFT JOIN npc_trade_end e ON e.offer_id = o.id`;

/** The ledger of trades in PostgreSQL. Triggers refuse changes (prisma/functions/npc.sql). */
export class PostgresNpcTrades implements NpcTrades {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async offer({ npc, peer }: NpcScope, terms: TradeTerms, key: string): Promise<ScopedTradeOffer> {
    const { maker, direction, item, quantity, price, total, currency = null } = terms;
    const expiresAt = new Date(terms.expiresAtMs);
    await withStorage('storing an offer', () =>
      this.#postgres.execute(sql`
        INSERT INTO npc_trade_offer
          (key, npc, peer, maker, direction, item, quantity, price, total, currency, expires_at)
        VALUES (${key}, ${npc}, ${peer}, ${maker}, ${direction}, ${item}, ${quantity}::bigint, ${price}::numeric,
          ${total}::numeric, ${currency}, ${expiresAt}::timestamptz)
        ON CONFLICT (key) DO NOTHING`),
    );
    const [offer] = await this.#offers(sql`WHERE o.key = ${key}`);
    if (!offer) throw new Error('a stored offer is gone');
    return offer;
  }

  async find(offerId: string): Promise<ScopedTradeOffer | undefined> {
    return (await this.#offers(sql`WHERE o.id = ${searchableId(offerId)}::bigint`))[0];
  }

  async end(
    offerId: string,
    { kind, by, key }: { kind: TradeEnd; by?: TradeSide; key?: string },
  ): Promise<ScopedTradeOffer | undefined> {
    await withStorage('ending an offer', () =>
      this.#postgres.execute(sql`
        INSERT INTO npc_trade_end (offer_id, kind, side, key)
        SELECT id, ${kind}, ${by ?? null}, ${key ?? null} FROM npc_trade_offer WHERE id = ${searchableId(offerId)}::bigint
        ON CONFLICT (offer_id) DO NOTHING`),
    );
    return this.find(offerId);
  }

  async list({
    scope,
    before,
    limit,
  }: {
    scope?: NpcScope;
    before?: string;
    limit: number;
  }): Promise<ScopedTradeOffer[]> {
    const mine = scope ? sql`AND o.npc = ${scope.npc} AND o.peer = ${scope.peer}` : empty;
    return await this.#offers(sql`
      WHERE (${before ?? null}::bigint IS NULL OR o.id < ${before ?? null}::bigint) ${mine} ORDER BY o.id DESC LIMIT ${limit}`);
  }

  async #offers(rest: Sql): Promise<ScopedTradeOffer[]> {
    const rows = await withStorage('reading offers', () =>
      this.#postgres.query<OfferRow>(sql`${SELECT} ${rest}`),
    );
    return rows.map(offerOf);
  }
}

function offerOf({
  quantity,
  currency,
  expiresAt,
  createdAt,
  kind,
  side,
  key,
  at,
  ...row
}: OfferRow): ScopedTradeOffer {
  return {
    ...row,
    quantity: Number(quantity),
    ...(currency !== null && { currency }),
    expiresAtMs: expiresAt.getTime(),
    createdAtMs: createdAt.getTime(),
    ...(kind !== null &&
      at !== null && {
        end: { kind, atMs: at.getTime(), ...(side !== null && { by: side }), ...(key !== null && { key }) },
      }),
  };
}
