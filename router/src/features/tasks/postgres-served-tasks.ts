import sql, { empty, type Sql } from 'sql-template-tag';
import { cleanText } from '../../core/text.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { storableId, storableJson, storableOrNull } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import type {
  CallerMessage,
  NewServedTask,
  NewUpdate,
  ServedArtifact,
  ServedRequest,
  ServedState,
  ServedTask,
  ServedTaskQuery,
  ServedTasks,
  ServedUpdate,
} from './served-tasks.ts';

interface TaskRow {
  id: string;
  contextId: string;
  owner: string;
  state: ServedState;
  request: ServedRequest | null;
  messages: Array<Omit<CallerMessage, 'at'> & { at: string }>;
  createdAt: Date;
  updates: Array<{
    number: number;
    key: string;
    state: ServedState;
    text: string | null;
    artifact: ServedArtifact | null;
    at: string;
  }>;
}

const COLUMNS = sql`t.id, t.context_id AS "contextId", t.owner, t.state, t.request, t.messages, t.created_at AS "createdAt",
  coalesce((SELECT json_agg(json_build_object('number', u.number, 'key', u.key, 'state', u.state, 'text', u.text,
    'artifact', u.artifact, 'at', u.at) ORDER BY u.number)
    FROM served_task_update u WHERE u.task_id = t.id), '[]') AS updates`;

/** Tasks for programs in PostgreSQL; prisma/functions/served-tasks.sql has what changes several tables. */
export class PostgresServedTasks implements ServedTasks {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  open(task: NewServedTask): Promise<{ outcome: 'opened' | 'known'; task: ServedTask }>;
  open(
    task: NewServedTask,
    maxOpen: number | undefined,
  ): Promise<{ outcome: 'opened' | 'known'; task: ServedTask } | { outcome: 'full' }>;
  async open(
    task: NewServedTask,
    maxOpen?: number,
  ): Promise<{ outcome: 'opened' | 'known'; task: ServedTask } | { outcome: 'full' }> {
    const messageId = storableId(task.message.messageId);
    const messages = [{ messageId, text: cleanText(task.message.text), at: new Date().toISOString() }];
    return withStorage('storing a task', async () => {
      const rows = await this.#postgres.execute(sql`
        INSERT INTO served_task (id, context_id, owner, account_id, request, messages, message_id)
        SELECT ${task.id}, ${storableId(task.contextId)}, ${task.owner}, ${task.request?.accountId ?? null},
          ${storableJson(task.request as unknown)}::jsonb, ${storableJson(messages)}::jsonb, ${messageId}
        WHERE ${maxOpen ?? null}::integer IS NULL OR ${maxOpen ?? null}::integer > (SELECT count(*) FROM served_task o
          WHERE o.owner = ${task.owner} AND o.state NOT IN ('completed', 'failed', 'canceled', 'rejected'))
        ON CONFLICT (owner, message_id) DO NOTHING`);
      const [row] = await this.#postgres.query<TaskRow>(sql`
        SELECT ${COLUMNS} FROM served_task t WHERE t.owner = ${task.owner} AND t.message_id = ${messageId}`);
      if (!row) return { outcome: 'full' };
      return { outcome: rows > 0 ? 'opened' : 'known', task: taskOf(row) };
    });
  }

  async get(id: string, owners?: readonly string[]): Promise<ServedTask | undefined> {
    const [row] = await this.#read(
      sql`t.id = ${storableId(id)} ${owners === undefined ? empty : sql`AND t.owner = ANY (${[...owners]}::text[])`}`,
    );
    return row;
  }

  async list(
    owners: readonly string[],
    query: ServedTaskQuery,
  ): Promise<{ tasks: ServedTask[]; total: number }> {
    const { contextId, state, since, after, limit } = query;
    const all = sql`ANY (${[...owners]}::text[])`;
    const matching = sql`t.owner = ${all}
      ${contextId === undefined ? empty : sql`AND t.context_id = ${storableId(contextId)}`}
      ${state === undefined ? empty : sql`AND t.state = ${state}`}
      ${since === undefined ? empty : sql`AND t.updated_at > ${since}::timestamptz`}`;
    const following =
      after === undefined
        ? empty
        : sql`AND (t.updated_at, t.id) < (SELECT a.updated_at, a.id FROM served_task a WHERE a.id = ${storableId(after)} AND a.owner = ${all})`;
    const tasks = await this.#read(
      sql`${matching} ${following} ORDER BY t.updated_at DESC, t.id DESC LIMIT ${limit}`,
    );
    const [count] = await withStorage('counting tasks', () =>
      this.#postgres.query<{ total: number }>(sql`
        SELECT count(*)::integer AS total FROM served_task t WHERE ${matching}`),
    );
    return { tasks, total: count?.total ?? 0 };
  }

  async update(id: string, { key, state, text, artifact }: NewUpdate): Promise<boolean> {
    const [row] = await withStorage('storing an update of a task', () =>
      this.#postgres.query<{ stored: boolean }>(sql`
        SELECT served_task_update(${id}, ${storableId(key)}, ${state}, ${storableOrNull(text)},
          ${storableJson(artifact as unknown)}::jsonb) AS stored`),
    );
    return row?.stored ?? false;
  }

  async resume(id: string, message: Omit<CallerMessage, 'at'>, request: ServedRequest): Promise<boolean> {
    const messageId = storableId(message.messageId);
    const said = [{ messageId, text: cleanText(message.text), at: new Date().toISOString() }];
    const [row] = await withStorage('storing an update of a task', () =>
      this.#postgres.query<{ stored: boolean }>(sql`
        SELECT served_task_resume(${id}, ${storableJson(said)}::jsonb, ${storableJson(request)}::jsonb,
          ${request.accountId}, ${storableId(`input ${messageId}`)}) AS stored`),
    );
    return row?.stored ?? false;
  }

  async versions(ids: readonly string[]): Promise<Map<string, number>> {
    if (ids.length === 0) return new Map();
    const rows = await withStorage('reading the versions of tasks', () =>
      this.#postgres.query<{ id: string; version: number }>(sql`
        SELECT id, version FROM served_task WHERE id = ANY (${[...ids]}::text[])`),
    );
    return new Map(rows.map(({ id, version }) => [id, version]));
  }

  async waiting(forMs: number, limit: number): Promise<Array<{ id: string; round: number }>> {
    return await withStorage('looking for tasks that nobody does', () =>
      this.#postgres.query<{ id: string; round: number }>(sql`
        SELECT id, jsonb_array_length(messages) AS round FROM served_task
        WHERE state = 'submitted' AND request IS NOT NULL
          AND updated_at < now() - ${forMs}::bigint * interval '1 millisecond'
        ORDER BY updated_at LIMIT ${limit}`),
    );
  }

  async #read(condition: Sql): Promise<ServedTask[]> {
    const rows = await withStorage('reading tasks', () =>
      this.#postgres.query<TaskRow>(sql`SELECT ${COLUMNS} FROM served_task t WHERE ${condition}`),
    );
    return rows.map(taskOf);
  }
}

function taskOf({ request, messages, updates, ...row }: TaskRow): ServedTask {
  return {
    ...row,
    ...(request && { request }),
    messages: messages.map(({ at, ...message }) => ({ ...message, at: new Date(at) })),
    updates: updates.map(
      ({ text, artifact, at, ...update }): ServedUpdate => ({
        ...update,
        at: new Date(at),
        ...(text !== null && { text }),
        ...(artifact && { artifact }),
      }),
    ),
  };
}
