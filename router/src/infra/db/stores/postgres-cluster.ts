import sql from 'sql-template-tag';
import type { AccountView, Cluster, ClusterView, NewAccount, NodeView } from '../../../core/ports/cluster.ts';
import { accountProxyContext } from '../encryption/secret-cipher.ts';
import type { Statements } from '../postgres.ts';
import { type Columns, withoutNulls } from './rows.ts';
import { withStorage } from './storage-errors.ts';

/** This process, as others see it. */
interface OwnNode {
  nodeId: string;
  lockKey: number;
  host: string;
  version: string;
}

type AccountColumns = Columns<AccountView['record']> &
  Pick<AccountView, 'accountId' | 'changedAtMs' | 'availability'> & {
    provider: string;
    owner: string | null;
    epoch: string | null;
  };

interface Row {
  nodes: NodeView[];
  accounts: AccountColumns[];
}

/** The nodes and accounts in PostgreSQL; one statement updates this node's row and reads all others. */
export class PostgresCluster implements Cluster {
  readonly #postgres: Statements;
  readonly #own: OwnNode;
  readonly #ttlMs: number;
  readonly #startedAt = new Date();
  #url = '';

  /** @param ttlMs a node that has not updated its row for this long counts as hung */
  constructor(postgres: Statements, own: OwnNode, ttlMs: number) {
    this.#postgres = postgres;
    this.#own = own;
    this.#ttlMs = ttlMs;
  }

  join(url: string): void {
    this.#url = url;
  }

  /** Writes only what others would not know otherwise, and at least once a second. */
  async beat(own: { turns: number; isDraining: boolean }): Promise<ClusterView> {
    const { nodeId, lockKey, host, version } = this.#own;
    const [row] = await withStorage('reading the other nodes', () =>
      this.#postgres.query<Row>(sql`
        WITH beat AS (
          INSERT INTO node AS n (id, lock_key, host, url, version, turns, is_draining, started_at, seen_at)
          VALUES (${nodeId}, ${lockKey}::integer, ${host}, ${this.#url}, ${version}, ${own.turns}::integer,
                  ${own.isDraining}, ${this.#startedAt}, clock_timestamp())
          ON CONFLICT (id) DO UPDATE SET lock_key = excluded.lock_key, host = excluded.host, url = excluded.url,
            version = excluded.version, turns = excluded.turns, is_draining = excluded.is_draining,
            started_at = excluded.started_at, seen_at = excluded.seen_at
          -- seen in the future: before the server's clock was set back
          WHERE n.seen_at NOT BETWEEN clock_timestamp() - interval '1 second' AND clock_timestamp()
            OR n.started_at <> excluded.started_at
            OR (n.turns, n.is_draining, n.url, n.lock_key) <> (excluded.turns, excluded.is_draining, excluded.url, excluded.lock_key)
        ), locked AS MATERIALIZED (
          SELECT lock_key FROM node_lock
        ), seen AS MATERIALIZED (
          SELECT n.*, EXISTS (SELECT 1 FROM locked l WHERE l.lock_key = n.lock_key::bigint & 4294967295) AS has_lock,
                 n.seen_at BETWEEN clock_timestamp() - ${this.#ttlMs}::integer * interval '1 millisecond'
                   AND clock_timestamp() + ${this.#ttlMs}::integer * interval '1 millisecond' AS is_fresh
          FROM node n
        )
        SELECT
          (SELECT coalesce(jsonb_agg(jsonb_build_object(
              'nodeId', id, 'host', host, 'url', url, 'version', version, 'turns', turns, 'isDraining', is_draining,
              'startedAtMs', (extract(epoch FROM started_at) * 1000)::bigint,
              'seenAtMs', (extract(epoch FROM seen_at) * 1000)::bigint,
              'isAlive', has_lock AND is_fresh) ORDER BY id), '[]') FROM seen) AS nodes,
          (SELECT coalesce(jsonb_agg(jsonb_build_object(
              'accountId', a.id, 'provider', a.provider, 'state', a.state, 'reason', a.reason,
              'phrase', CASE WHEN a.said ->> 'reason' = a.reason THEN a.said -> 'phrase' END, 'phone', a.phone, 'lid', a.lid,
              'pushName', a.push_name, 'changedAtMs', (extract(epoch FROM a.updated_at) * 1000)::bigint,
              'owner', l.owner, 'epoch', l.epoch::text,
              'availability', CASE
                WHEN l.owner IS NULL OR l.owner = '' OR l.until <= clock_timestamp() THEN 'free'
                WHEN EXISTS (SELECT 1 FROM seen s WHERE s.id = l.owner AND s.has_lock) THEN 'owned'
                ELSE 'dead-owner' END) ORDER BY a.id), '[]')
            FROM account a LEFT JOIN account_lease l ON l.account_id = a.id
            WHERE a.deleting_at IS NULL) AS accounts`),
    );
    if (!row) throw new TypeError('a SELECT without FROM returns one row');
    return { nodes: row.nodes, accounts: row.accounts.map(accountView) };
  }

  async leave(): Promise<void> {
    await withStorage('removing this node from the list', () =>
      this.#postgres.execute(sql`
        DELETE FROM node WHERE id = ${this.#own.nodeId}`),
    );
  }

  async addAccount(accountId: string, { provider, proxyUrl }: NewAccount = {}): Promise<'added' | 'known'> {
    // In one statement: a node may start the account as soon as it exists.
    const proxy =
      proxyUrl === undefined
        ? null
        : this.#postgres.secrets.sealText(proxyUrl, accountProxyContext(accountId));
    const added = await withStorage('adding a WhatsApp account', () =>
      this.#postgres.execute(sql`
        INSERT INTO account (id, provider, proxy, updated_at) VALUES (${accountId}, ${provider ?? 'baileys'}, ${proxy}, now())
        ON CONFLICT (id) DO NOTHING`),
    );
    return added > 0 ? 'added' : 'known';
  }
}

function accountView(row: AccountColumns): AccountView {
  const { accountId, changedAtMs, provider, owner, epoch, availability, ...record } = row;
  return {
    accountId,
    ...(provider === 'playground' && { provider: 'playground' as const }),
    record: withoutNulls(record),
    changedAtMs,
    ...(owner && epoch && { owner: { nodeId: owner, epoch: BigInt(epoch) } }),
    availability,
  };
}
