import sql, { empty, type Sql } from 'sql-template-tag';
import type { Statements } from '../../infra/db/postgres.ts';
import { StatementBatch, searchableId } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import {
  type EmotionEvent,
  FORGOTTEN_AFTER_MS,
  type Memory,
  type NpcEmotions,
  type NpcMemories,
  type NpcScope,
  type NpcTrades,
  type RecalledMemory,
  type ScopedTradeOffer,
  type TradeEnd,
  type TradeSide,
  type TradeTerms,
} from './memories.ts';

const MAX_EVENTS = 1_000;

/** Emotions of NPCs in PostgreSQL: what caused them, from which core computes them. */
export class PostgresNpcEmotions implements NpcEmotions {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async add(
    { npc, peer }: NpcScope,
    event: { taskId: string; trigger: string; intensity: number; context?: Record<string, unknown> },
  ): Promise<void> {
    const { taskId, trigger, intensity } = event;
    const context = event.context === undefined ? null : JSON.stringify(event.context);
    await withStorage('storing an emotion', () =>
      this.#postgres.execute(sql`
        INSERT INTO npc_emotion (task_id, npc, peer, trigger, intensity, context)
        VALUES (${taskId}, ${npc}, ${peer}, ${trigger}, ${intensity}, ${context}::jsonb)
        ON CONFLICT (task_id) DO NOTHING`),
    );
  }

  async events({ npc, peer }: NpcScope): Promise<EmotionEvent[]> {
    const rows = await withStorage('reading emotions', () =>
      this.#postgres.query<{ trigger: string; intensity: number; at: Date }>(sql`
        SELECT trigger, intensity, at FROM npc_emotion
        WHERE npc = ${npc} AND peer = ${peer}
          AND at > now() - ${FORGOTTEN_AFTER_MS}::double precision * interval '1 millisecond'
        ORDER BY at DESC LIMIT ${MAX_EVENTS}`),
    );
    return rows.map(({ trigger, intensity, at }) => ({ trigger, intensity, atMs: at.getTime() }));
  }
}

/** Candidates of each kind: matching, newest, most important. */
const MAX_CANDIDATES = 33;
/** Memories that one statement adds. */
const MAX_ADDED = 16;

type NewMemory = NpcScope &
  Pick<Memory, 'memoryType' | 'content' | 'importance'> & { taskId: string; text: string };

interface MemoryRow {
  memoryId: string;
  memoryType: string;
  content: Record<string, unknown>;
  importance: number;
  createdAt: Date;
  relevance: number;
}

const COLUMNS = sql`m.id::text AS "memoryId", m.type AS "memoryType", m.content, m.importance, m.created_at AS "createdAt"`;

/**
 * Memories of NPCs in PostgreSQL. The full-text configuration is `simple`: people write in any language, so words match as
 * they are, without stems and stop words.
 */
export class PostgresNpcMemories implements NpcMemories {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;
  readonly #adding = new StatementBatch<NewMemory, string>((memories) => this.#add(memories), MAX_ADDED);

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async add(
    { npc, peer }: NpcScope,
    memory: Pick<Memory, 'memoryType' | 'content' | 'importance'> & { taskId: string; text: string },
  ): Promise<string> {
    return await this.#adding.add({ npc, peer, ...memory });
  }

  /** @returns the id of each memory */
  async #add(memories: readonly NewMemory[]): Promise<string[]> {
    const rows = memories.map(({ npc, peer, taskId, memoryType, content, importance, text }) => ({
      task_id: taskId,
      npc,
      peer,
      type: memoryType,
      content,
      words: text,
      importance,
    }));
    const stored = await withStorage('storing memories', () =>
      this.#postgres.query<{ taskId: string; id: string }>(sql`
        WITH added AS (
          INSERT INTO npc_memory (task_id, npc, peer, type, content, words, importance)
          SELECT * FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
            AS memory (task_id text, npc text, peer text, type text, content jsonb, words text, importance integer)
          ON CONFLICT (task_id) DO NOTHING RETURNING task_id, id)
        SELECT task_id AS "taskId", id::text FROM added
        UNION ALL SELECT task_id, id::text FROM npc_memory WHERE task_id = ANY (${rows.map((row) => row.task_id)}::text[])`),
    );
    const ids = new Map(stored.map(({ taskId, id }) => [taskId, id]));
    return memories.map(({ taskId }) => ids.get(taskId) ?? '');
  }

  async recall(
    { npc, peer }: NpcScope,
    query: string | undefined,
    { isMatchOnly }: { isMatchOnly: boolean },
  ): Promise<RecalledMemory[]> {
    const mine = sql`npc = ${npc} AND peer = ${peer} AND forgotten_by IS NULL`;
    const others = isMatchOnly
      ? empty
      : sql`
        UNION ALL (SELECT ${COLUMNS}, 0 FROM npc_memory m WHERE ${mine} ORDER BY id DESC LIMIT ${MAX_CANDIDATES})
        UNION ALL (SELECT ${COLUMNS}, 0 FROM npc_memory m WHERE ${mine} ORDER BY importance DESC, id DESC LIMIT ${MAX_CANDIDATES})`;
    const rows = await withStorage('recalling memories', () =>
      this.#postgres.query<MemoryRow>(sql`
        WITH searched AS (
          -- Any of its words.
          SELECT string_agg(quote_literal(word), ' | ')::tsquery AS query
          FROM unnest(tsvector_to_array(to_tsvector('simple', ${query ?? ''}))) AS word)
        (SELECT ${COLUMNS}, ts_rank(to_tsvector('simple', m.words), s.query) AS relevance
          FROM npc_memory m CROSS JOIN searched s WHERE to_tsvector('simple', m.words) @@ s.query AND ${mine}
          ORDER BY relevance DESC, id DESC LIMIT ${MAX_CANDIDATES})
        ${others}`),
    );
    // The matching ones come first.
    const found = new Map<string, RecalledMemory>();
    for (const { createdAt, ...row } of rows) {
      if (!found.has(row.memoryId)) found.set(row.memoryId, { ...row, createdAtMs: createdAt.getTime() });
    }
    return [...found.values()];
  }

  async forget({ npc, peer }: NpcScope, memoryId: string, taskId: string): Promise<boolean> {
    const forgotten = await withStorage('forgetting a memory', () =>
      this.#postgres.execute(sql`
        UPDATE npc_memory SET content = '{}', words = '', forgotten_by = ${taskId}
        WHERE id = ${searchableId(memoryId)}::bigint AND npc = ${npc} AND peer = ${peer}
          AND coalesce(forgotten_by, ${taskId}) = ${taskId}`),
    );
    return forgotten > 0;
  }
}

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
