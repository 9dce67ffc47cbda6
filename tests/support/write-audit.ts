import pg from 'pg';

/** What only the owner of an account writes: keys, journal, account state, messages, and the state of replies. */
const OWNERS_WRITES = {
  auth_key: 'INSERT OR UPDATE OR DELETE',
  journal: 'INSERT OR UPDATE OR DELETE',
  account: 'UPDATE',
  message: 'INSERT',
  outbox: 'UPDATE',
};

/**
 * Records in the database which node wrote what of that. A node is identified by the name of its connections, so each
 * must connect with its `urlOf`.
 */
export class WriteAudit {
  readonly #databaseUrl: string;
  readonly #client: pg.Client;

  private constructor(databaseUrl: string, client: pg.Client) {
    this.#databaseUrl = databaseUrl;
    this.#client = client;
  }

  /** The database has its tables already. */
  static async of(databaseUrl: string): Promise<WriteAudit> {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query(`
      CREATE TABLE write_audit (node text, at timestamptz, what text);
      CREATE FUNCTION record_write() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO write_audit
          VALUES (current_setting('application_name'), clock_timestamp(), TG_OP || ' ' || TG_TABLE_NAME);
        RETURN NULL;
      END $$`);
    for (const [table, writes] of Object.entries(OWNERS_WRITES)) {
      await client.query(
        `CREATE TRIGGER record_write AFTER ${writes} ON ${table} FOR EACH ROW EXECUTE FUNCTION record_write()`,
      );
    }
    return new WriteAudit(databaseUrl, client);
  }

  /** The database, with the node's name on every connection. */
  urlOf(node: string): string {
    const url = new URL(this.#databaseUrl);
    url.searchParams.set('application_name', node);
    return url.href;
  }

  /** This moment by the database's clock. */
  async now(): Promise<Date> {
    const { rows } = await this.#client.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    return rows[0]?.now ?? new Date(0);
  }

  /** How often the node made each kind of write since then. */
  async writesOf(node: string, since: Date): Promise<Record<string, number>> {
    const { rows } = await this.#client.query<{ what: string; count: number }>(
      'SELECT what, count(*)::integer AS count FROM write_audit WHERE node = $1 AND at >= $2 GROUP BY what',
      [node, since],
    );
    return Object.fromEntries(rows.map(({ what, count }) => [what, count]));
  }

  /** Whether the database accepts a write of this owner under this epoch. */
  async hasLease(accountId: string, owner: string, epoch: string): Promise<boolean> {
    const { rowCount } = await this.#client.query('SELECT 1 FROM lease_held($1, $2, $3::bigint)', [
      accountId,
      owner,
      epoch,
    ]);
    return rowCount === 1;
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}
