import sql from 'sql-template-tag';
import { nodeMessage } from '../../../core/cluster/node-bus.ts';
import type { SettingsStore } from '../../../core/ports/settings-store.ts';
import type { Statements } from '../postgres.ts';
import { type CacheNodes, NotifiedCache } from './notified-cache.ts';
import { withStorage } from './storage-errors.ts';

/** PostgreSQL: settings changed. */
export const settingsChanged = nodeMessage('settings-changed');

/** They are few. */
const MAX_NAMES = 20;

/** Settings in PostgreSQL. Reads those of a name once, and again after a change on any node; without `nodes` each time. */
export class PostgresSettings implements SettingsStore {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;
  readonly #cache: NotifiedCache<{ settings: unknown }>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>, nodes?: CacheNodes) {
    this.#postgres = postgres;
    this.#cache = new NotifiedCache(nodes, { changed: settingsChanged, maxSize: MAX_NAMES });
  }

  async get(name: string): Promise<unknown> {
    const { settings } = await this.#cache.read(name, async () => ({ settings: await this.#stored(name) }));
    return settings;
  }

  async #stored(name: string): Promise<unknown> {
    const [row] = await withStorage('reading settings', () =>
      this.#postgres.query<{ settings: unknown }>(
        sql`SELECT settings FROM face_setting WHERE face = ${name}`,
      ),
    );
    return row?.settings;
  }

  async put(name: string, settings: unknown, check?: (stored: unknown) => void): Promise<void> {
    while (check) {
      const stored = await this.#stored(name);
      check(stored);
      if (await this.#replace(name, stored, settings)) return;
    }
    await this.#write(() =>
      this.#postgres.execute(sql`
        INSERT INTO face_setting (face, settings) VALUES (${name}, ${JSON.stringify(settings)}::jsonb)
        ON CONFLICT (face) DO UPDATE SET settings = excluded.settings, updated_at = now()`),
    );
  }

  /** Whether `stored` was what the table has: it has `settings` now. */
  async #replace(name: string, stored: unknown, settings: unknown): Promise<boolean> {
    const next = sql`${JSON.stringify(settings)}::jsonb`;
    const count = await this.#write(() =>
      this.#postgres.execute(
        stored === undefined
          ? sql`INSERT INTO face_setting (face, settings) VALUES (${name}, ${next}) ON CONFLICT (face) DO NOTHING`
          : sql`UPDATE face_setting SET settings = ${next}, updated_at = now()
              WHERE face = ${name} AND settings = ${JSON.stringify(stored)}::jsonb`,
      ),
    );
    return count > 0;
  }

  async putFirst(name: string, settings: unknown): Promise<unknown> {
    await this.#write(() =>
      this.#postgres.execute(sql`
        INSERT INTO face_setting (face, settings) VALUES (${name}, ${JSON.stringify(settings)}::jsonb)
        ON CONFLICT (face) DO NOTHING`),
    );
    return this.get(name);
  }

  #write<T>(work: () => Promise<T>): Promise<T> {
    return this.#cache.change(() => withStorage('storing settings', work));
  }
}
