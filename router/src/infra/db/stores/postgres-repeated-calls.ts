import sql from 'sql-template-tag';
import type {
  CallName,
  FirstCall,
  RepeatedCallStore,
  StoredResponse,
} from '../../../core/ports/repeated-call-store.ts';
import type { Statements } from '../postgres.ts';
import { storableJson } from './rows.ts';
import { withStorage } from './storage-errors.ts';

interface Row extends Omit<FirstCall, 'response'> {
  response: StoredResponse | null;
}

const COLUMNS = sql`operation, digest, salt, repeat_id AS "repeatId", response`;

/** The first call with each `Idempotency-Key`, in PostgreSQL. */
export class PostgresRepeatedCalls implements RepeatedCallStore {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async find({ caller, key }: CallName): Promise<FirstCall | undefined> {
    const [row] = await withStorage('reading the first call with an Idempotency-Key', () =>
      this.#postgres.query<Row>(sql`
        SELECT ${COLUMNS} FROM repeated_call WHERE caller = ${caller} AND key = ${key}`),
    );
    if (!row) return undefined;
    const { response, ...call } = row;
    return { ...call, ...(response && { response }) };
  }

  async begin(name: CallName, call: FirstCall): Promise<FirstCall> {
    const { operation, digest, salt, repeatId } = call;
    const count = await withStorage('storing a call with an Idempotency-Key', () =>
      this.#postgres.execute(sql`
        INSERT INTO repeated_call (caller, key, operation, digest, salt, repeat_id)
        VALUES (${name.caller}, ${name.key}, ${operation}, ${Buffer.from(digest)}, ${Buffer.from(salt)}, ${repeatId})
        ON CONFLICT DO NOTHING`),
    );
    // Without a row: another node has forgotten the call meanwhile, and this one goes on.
    return count > 0 ? call : ((await this.find(name)) ?? call);
  }

  async end({ caller, key }: CallName, response: StoredResponse): Promise<void> {
    await withStorage('storing the response of a call with an Idempotency-Key', () =>
      this.#postgres.execute(sql`
        UPDATE repeated_call SET response = ${storableJson(response)}::jsonb WHERE caller = ${caller} AND key = ${key}`),
    );
  }

  async forget({ caller, key }: CallName): Promise<void> {
    await withStorage('forgetting a call with an Idempotency-Key', () =>
      this.#postgres.execute(sql`DELETE FROM repeated_call WHERE caller = ${caller} AND key = ${key}`),
    );
  }
}
