import sql from 'sql-template-tag';
import type { FaceSettings } from '../../../core/ports/face-settings.ts';
import type { Statements } from '../postgres.ts';
import { type CacheNodes, NotifiedCache } from './notified-cache.ts';
import { withStorage } from './storage-errors.ts';

/** Faces are few. */
const MAX_FACES = 20;

/** Settings of faces in PostgreSQL. Reads those of a face once, and again after a change on any node; without `nodes` each time. */
export class PostgresFaceSettings implements FaceSettings {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;
  readonly #cache: NotifiedCache<{ settings: unknown }>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>, nodes?: CacheNodes) {
    this.#postgres = postgres;
    this.#cache = new NotifiedCache(nodes, { changed: 'settings-changed', maxSize: MAX_FACES });
  }

  async get(face: string): Promise<unknown> {
    const { settings } = await this.#cache.read(face, async () => ({ settings: await this.#stored(face) }));
    return settings;
  }

  async #stored(face: string): Promise<unknown> {
    const [row] = await withStorage('reading the settings of a face', () =>
      this.#postgres.query<{ settings: unknown }>(
        sql`SELECT settings FROM face_setting WHERE face = ${face}`,
      ),
    );
    return row?.settings;
  }

  async put(face: string, settings: unknown, check?: (stored: unknown) => void): Promise<void> {
    while (check) {
      const stored = await this.#stored(face);
      check(stored);
      if (await this.#replace(face, stored, settings)) return;
    }
    await this.#write(() =>
      this.#postgres.execute(sql`
        INSERT INTO face_setting (face, settings) VALUES (${face}, ${JSON.stringify(settings)}::jsonb)
        ON CONFLICT (face) DO UPDATE SET settings = excluded.settings, updated_at = now()`),
    );
  }

  /** Whether `stored` was what the table has: it has `settings` now. */
  async #replace(face: string, stored: unknown, settings: unknown): Promise<boolean> {
    const next = sql`${JSON.stringify(settings)}::jsonb`;
    const count = await this.#write(() =>
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
    await this.#write(() =>
      this.#postgres.execute(sql`
        INSERT INTO face_setting (face, settings) VALUES (${face}, ${JSON.stringify(settings)}::jsonb)
        ON CONFLICT (face) DO NOTHING`),
    );
    return this.get(face);
  }

  #write<T>(work: () => Promise<T>): Promise<T> {
    return this.#cache.change(() => withStorage('storing the settings of a face', work));
  }
}
