import sql, { join, type Sql } from 'sql-template-tag';
import type { NodeId } from '../../core/chat-id.ts';
import type { AgentPhase, HostedAgent } from '../../core/hosting/agent-life.ts';
import type { Phrase } from '../../core/phrases.ts';
import type { AgentQuery, AgentRecord, AgentRegistry } from '../../core/ports/agent-registry.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { storableJson, storableOrNull } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/** Context of the encrypted settings, which have the variables of an agent; it never changes. */
export const HOSTED_AGENT_CONTEXT = 'hosted_agent.settings';

interface Row {
  agentId: string;
  accountId: string | null;
  routeId: string | null;
  settings: string;
  nodeId: NodeId;
  folderId: string;
  phase: AgentPhase;
  problem: string | null;
  phrase: Phrase | null;
  lastActivityMs: number;
  createdAtMs: number;
  isDeleting: boolean;
}

const COLUMNS = sql`
  id AS "agentId", account_id AS "accountId", route_id AS "routeId", settings, node AS "nodeId", folder_id AS "folderId",
  phase, problem, CASE WHEN problem IS NOT NULL THEN phrase END AS phrase, is_deleting AS "isDeleting", (extract(epoch FROM last_activity_at) * 1000)::bigint::float8 AS "lastActivityMs",
  (extract(epoch FROM created_at) * 1000)::bigint::float8 AS "createdAtMs"`;

/** Of a list without a limit: more than a node can have. */
const MAX_LISTED = 1_000_000;

/** Hosted agents in PostgreSQL. Their settings are encrypted, because their variables may be secrets. */
export class PostgresAgentRegistry implements AgentRegistry {
  readonly #postgres: Pick<Statements, 'query' | 'execute' | 'secrets' | 'changes'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute' | 'secrets' | 'changes'>) {
    this.#postgres = postgres;
  }

  async claim(agent: HostedAgent, nodeId: NodeId, folderId: string): Promise<AgentRecord> {
    const settings = this.#sealed(agent);
    const [row] = await withStorage('storing a hosted agent', () =>
      this.#postgres.query<Row>(sql`
        INSERT INTO hosted_agent AS a (id, account_id, route_id, settings, node, folder_id)
        VALUES (${agent.agentId}, ${agent.accountId ?? null}, ${agent.routeId ?? null}, ${settings}, ${nodeId}, ${folderId})
        ON CONFLICT (id) DO UPDATE SET
          settings = CASE WHEN a.node = ${nodeId} THEN excluded.settings ELSE a.settings END,
          folder_id = CASE WHEN a.node = ${nodeId} THEN excluded.folder_id ELSE a.folder_id END
        RETURNING ${COLUMNS}`),
    );
    this.#report(agent.agentId);
    return this.#recordOf(row as Row);
  }

  async move(agentId: string, from: NodeId, to: NodeId, folderId: string): Promise<boolean> {
    const count = await withStorage('moving a hosted agent', () =>
      this.#postgres.execute(sql`
        UPDATE hosted_agent SET node = ${to}, folder_id = ${folderId}, phase = 'stopped'
        WHERE id = ${agentId} AND node = ${from}`),
    );
    if (count > 0) this.#report(agentId);
    return count > 0;
  }

  async update(
    agentId: string,
    nodeId: NodeId,
    { phase, lastActivityMs, problem, phrase }: Parameters<AgentRegistry['update']>[2],
  ): Promise<void> {
    await withStorage('storing the phase of a hosted agent', () =>
      this.#postgres.execute(sql`
        UPDATE hosted_agent SET phase = ${phase}, problem = ${storableOrNull(problem)}, phrase = ${storableJson(phrase)}::jsonb,
          last_activity_at = to_timestamp(${lastActivityMs}::float8 / 1000)
        WHERE id = ${agentId} AND node = ${nodeId}`),
    );
    this.#report(agentId, phase);
  }

  async get(agentId: string): Promise<AgentRecord | undefined> {
    const [record] = await this.#read(sql`id = ${agentId}`);
    return record;
  }

  list({ nodeId, routeId, after, limit }: AgentQuery = {}): Promise<AgentRecord[]> {
    const conditions = [
      sql`true`,
      ...(nodeId === undefined ? [] : [sql`node = ${nodeId}`]),
      ...(routeId === undefined ? [] : [sql`route_id = ${routeId}`]),
      ...(after === undefined ? [] : [sql`id > ${after}`]),
    ];
    return this.#read(join(conditions, ' AND '), limit);
  }

  async markDeleting(agentId: string): Promise<boolean> {
    const count = await withStorage('marking a hosted agent as being deleted', () =>
      this.#postgres.execute(sql`UPDATE hosted_agent SET is_deleting = true WHERE id = ${agentId}`),
    );
    if (count > 0) this.#report(agentId);
    return count > 0;
  }

  async delete(agentId: string): Promise<void> {
    await withStorage('deleting a hosted agent', () =>
      this.#postgres.execute(sql`DELETE FROM hosted_agent WHERE id = ${agentId}`),
    );
    this.#report(agentId);
  }

  #report(id: string, phase?: AgentPhase): void {
    this.#postgres.changes.report({ type: 'agent', id, phase });
  }

  async #read(condition: Sql, limit = MAX_LISTED): Promise<AgentRecord[]> {
    const rows = await withStorage('reading hosted agents', () =>
      this.#postgres.query<Row>(
        sql`SELECT ${COLUMNS} FROM hosted_agent WHERE ${condition} ORDER BY id LIMIT ${limit}`,
      ),
    );
    return rows.map((row) => this.#recordOf(row));
  }

  #sealed({ agentId: _, accountId: __, routeId: ___, ...settings }: HostedAgent): string {
    return this.#postgres.secrets.sealText(storableJson(settings), HOSTED_AGENT_CONTEXT);
  }

  #recordOf(row: Row): AgentRecord {
    const { agentId, accountId, routeId, settings, problem, phrase, ...rest } = row;
    const opened = this.#postgres.secrets.openText(settings, HOSTED_AGENT_CONTEXT);
    const agent = {
      ...{ agentId, ...(JSON.parse(opened) as Pick<HostedAgent, 'spec' | 'idleMs'>) },
      ...(accountId !== null && { accountId }),
      ...(routeId !== null && { routeId }),
    };
    return { ...rest, agent, ...(problem !== null && { problem }), ...(phrase && { phrase }) };
  }
}
