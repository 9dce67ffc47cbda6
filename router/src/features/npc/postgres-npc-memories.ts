import sql, { empty } from 'sql-template-tag';
import type { Statements } from '../../infra/db/postgres.ts';
import { searchableId } from '../../infra/db/stores/searchable-id.ts';
import { StatementBatch } from '../../infra/db/stores/statement-batch.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import type { Memory, RecalledMemory } from './memories.ts';
import type { NpcScope } from './npc-emotions.ts';
import type { NpcMemories } from './npc-memories.ts';

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
