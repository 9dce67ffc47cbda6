import sql from 'sql-template-tag';
import type { Statements } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import { type EmotionEvent, FORGOTTEN_AFTER_MS } from './emotions.ts';
import type { NpcEmotions, NpcScope } from './npc-emotions.ts';

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
