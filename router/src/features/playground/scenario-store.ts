import sql from 'sql-template-tag';
import type { Statements } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/** A scenario that was saved. */
export interface SavedScenario {
  id: string;
  name: string;
  savedAt: Date;
}

/**
 * Saved scenarios of the playground.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface PlaygroundScenarios {
  /** By name, at most 1,000. */
  list(): Promise<SavedScenario[]>;
  /** With its text. */
  get(id: string): Promise<(SavedScenario & { yaml: string }) | undefined>;
  /** Saves a scenario; one with the same name is replaced and keeps its id. */
  save(name: string, yaml: string): Promise<SavedScenario>;
  /** @returns false when there is none */
  remove(id: string): Promise<boolean>;
}

const COLUMNS = sql`id::text, name, saved_at AS "savedAt"`;

/** Saved scenarios of the playground in PostgreSQL. */
export class PostgresPlaygroundScenarios implements PlaygroundScenarios {
  readonly #postgres: Statements;

  constructor(postgres: Statements) {
    this.#postgres = postgres;
  }

  async list(): Promise<SavedScenario[]> {
    return withStorage('reading scenarios', () =>
      this.#postgres.query<SavedScenario>(
        sql`SELECT ${COLUMNS} FROM playground_scenario ORDER BY name LIMIT 1000`,
      ),
    );
  }

  async get(id: string): Promise<(SavedScenario & { yaml: string }) | undefined> {
    const [row] = await withStorage('reading a scenario', () =>
      this.#postgres.query<SavedScenario & { yaml: string }>(
        sql`SELECT ${COLUMNS}, yaml FROM playground_scenario WHERE id = ${id}::bigint`,
      ),
    );
    return row;
  }

  async save(name: string, yaml: string): Promise<SavedScenario> {
    const [row] = await withStorage('saving a scenario', () =>
      this.#postgres.query<SavedScenario>(sql`
        INSERT INTO playground_scenario (name, yaml) VALUES (${name}, ${yaml})
        ON CONFLICT (name) DO UPDATE SET yaml = excluded.yaml, saved_at = now()
        RETURNING ${COLUMNS}`),
    );
    if (!row) throw new TypeError('INSERT with RETURNING returns one row');
    return row;
  }

  async remove(id: string): Promise<boolean> {
    const rows = await withStorage('deleting a scenario', () =>
      this.#postgres.query(sql`DELETE FROM playground_scenario WHERE id = ${id}::bigint RETURNING id`),
    );
    return rows.length > 0;
  }
}
