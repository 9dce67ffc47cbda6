import sql, { empty } from 'sql-template-tag';
import type { Memory, RecalledMemory } from '../../../core/npc/memories.ts';
import type { NpcScope } from '../../../core/ports/npc-emotions.ts';
import type { NpcMemories } from '../../../core/ports/npc-memories.ts';
import type { Statements } from '../postgres.ts';
import { searchableId } from './searchable-id.ts';
import { withStorage } from './storage-errors.ts';

/** Candidates of each kind: matching, newest, most important. */
const MAX_CANDIDATES = 33;

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

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async add(
    { npc, peer }: NpcScope,
    memory: Pick<Memory, 'memoryType' | 'content' | 'importance'> & { taskId: string; text: string },
  ): Promise<string> {
    const { taskId, memoryType, importance, text } = memory;
    const content = JSON.stringify(memory.content);
    const [row] = await withStorage('storing a memory', () =>
      this.#postgres.query<{ id: string }>(sql`
        WITH added AS (
          INSERT INTO npc_memory (task_id, npc, peer, type, content, words, importance)
          VALUES (${taskId}, ${npc}, ${peer}, ${memoryType}, ${content}::jsonb, ${text}, ${importance})
          ON CONFLICT (task_id) DO NOTHING RETURNING id)
        SELECT id::text FROM added UNION ALL SELECT id::text FROM npc_memory WHERE task_id = ${taskId}`),
    );
    return row?.id ?? '';
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
