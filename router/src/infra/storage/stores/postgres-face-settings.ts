import sql from 'sql-template-tag';
import type { NodeBus } from '../../../core/cluster/node-bus.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { FaceSettings } from '../../../core/ports/face-settings.ts';
import type { Statements } from '../postgres.ts';
import { NotifiedCache, type NotifyingTransport } from './notified-cache.ts';
import { withStorage } from './storage-errors.ts';

/** Settings of faces in PostgreSQL. */
export class PostgresFaceSettings implements FaceSettings {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async get(face: string): Promise<unknown> {
    const [row] = await withStorage('reading the settings of a face', () =>
      this.#postgres.query<{ settings: unknown }>(
        sql`SELECT settings FROM face_setting WHERE face = ${face}`,
      ),
    );
    return row?.settings;
  }

  async put(face: string, settings: unknown): Promise<void> {
    await withStorage('storing the settings of a face', () =>
      this.#postgres.execute(sql`
        INSERT INTO face_setting (face, settings) VALUES (${face}, ${JSON.stringify(settings)}::jsonb)
        ON CONFLICT (face) DO UPDATE SET settings = excluded.settings, updated_at = now()`),
    );
  }
}

/**
 * Reads settings from a copy, which is read again after a change: PostgreSQL notifies all nodes (prisma/functions/npc.sql). A
 * node that missed a notification uses old settings for at most five seconds.
 */
export class CachedFaceSettings implements FaceSettings {
  readonly #table: FaceSettings;
  readonly #cache: NotifiedCache<{ settings: unknown }>;

  constructor(table: FaceSettings, bus: NodeBus<NotifyingTransport>, clock: Clock) {
    this.#table = table;
    this.#cache = new NotifiedCache(bus.transport, clock, { maxSize: 100, sizeOf: () => 1 });
    bus.on('settings-changed', () => this.#cache.clear());
  }

  async get(face: string): Promise<unknown> {
    const { settings } = await this.#cache.read(face, async () => ({
      settings: await this.#table.get(face),
    }));
    return settings;
  }

  put(face: string, settings: unknown): Promise<void> {
    return this.#cache.change(() => this.#table.put(face, settings));
  }
}
