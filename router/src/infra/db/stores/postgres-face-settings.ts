import sql from 'sql-template-tag';
import type { Clock } from '../../../core/clock.ts';
import type { NodeBus } from '../../../core/cluster/node-bus.ts';
import type { FaceSettings } from '../../../core/ports/face-settings.ts';
import type { Statements } from '../postgres.ts';
import { NotifiedCache, type NotifyingTransport } from './notified-cache.ts';
import { withStorage } from './storage-errors.ts';

/** Settings of faces in PostgreSQL. Every call reads or writes the table. */
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

  async put(face: string, settings: unknown, check?: (stored: unknown) => void): Promise<void> {
    while (check) {
      const stored = await this.get(face);
      check(stored);
      if (await this.#replace(face, stored, settings)) return;
    }
    await withStorage('storing the settings of a face', () =>
      this.#postgres.execute(sql`
        INSERT INTO face_setting (face, settings) VALUES (${face}, ${JSON.stringify(settings)}::jsonb)
        ON CONFLICT (face) DO UPDATE SET settings = excluded.settings, updated_at = now()`),
    );
  }

  /** Whether `stored` was what the table has: it has `settings` now. */
  async #replace(face: string, stored: unknown, settings: unknown): Promise<boolean> {
    const next = sql`${JSON.stringify(settings)}::jsonb`;
    const count = await withStorage('storing the settings of a face', () =>
      this.#postgres.execute(
        stored === undefined
          ? sql`INSERT INTO face_setting (face, settings) VALUES (${face}, ${next}) ON CONFLICT (face) DO NOTHING`
          : sql`UPDATE face_setting SET settings = ${next}, updated_at = now()
              WHERE face = ${face} AND settings = ${JSON.stringify(stored)}::jsonb`,
      ),
    );
    return count > 0;
  }

  async putFirst(face: string, settings: unknown): Promise<unknown> {
    await withStorage('storing the settings of a face', () =>
      this.#postgres.execute(sql`
        INSERT INTO face_setting (face, settings) VALUES (${face}, ${JSON.stringify(settings)}::jsonb)
        ON CONFLICT (face) DO NOTHING`),
    );
    return this.get(face);
  }
}

/** Faces are few. */
const MAX_FACES = 20;

/** Reads the settings of a face once, and again after a change on any node. */
export class CachedFaceSettings implements FaceSettings {
  readonly #table: FaceSettings;
  readonly #cache: NotifiedCache<{ settings: unknown }>;

  constructor(table: FaceSettings, bus: NodeBus<NotifyingTransport>, clock: Clock) {
    this.#table = table;
    this.#cache = new NotifiedCache(bus.transport, clock, { maxSize: MAX_FACES, sizeOf: () => 1 });
    bus.on('settings-changed', () => this.#cache.clear());
  }

  async get(face: string): Promise<unknown> {
    const { settings } = await this.#cache.read(face, async () => ({
      settings: await this.#table.get(face),
    }));
    return settings;
  }

  put(face: string, settings: unknown, check?: (stored: unknown) => void): Promise<void> {
    return this.#cache.change(() => this.#table.put(face, settings, check));
  }

  putFirst(face: string, settings: unknown): Promise<unknown> {
    return this.#cache.change(() => this.#table.putFirst(face, settings));
  }
}
