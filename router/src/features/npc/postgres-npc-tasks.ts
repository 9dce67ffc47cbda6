import sql, { type Sql } from 'sql-template-tag';
import type { Statements } from '../../infra/db/postgres.ts';
import { StatementBatch } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import type { NpcErrorBody } from './json-rpc.ts';
import type {
  NewNpcTask,
  NpcTask,
  NpcTaskEnd,
  NpcTaskPage,
  NpcTaskQuery,
  NpcTaskStatus,
  NpcTasks,
} from './npc-tasks.ts';

/** Tasks that one statement opens. */
const MAX_OPENED = 16;
/** Tasks that one statement ends. */
const MAX_ENDED = 16;

interface TaskRow {
  id: bigint;
  taskId: string;
  owner: string;
  type: string;
  params: Record<string, unknown>;
  idempotencyKey: string | null;
  status: NpcTaskStatus;
  progress: number | null;
  result: Record<string, unknown> | null;
  error: NpcErrorBody | null;
  version: number;
  attempts: number;
  createdAt: Date;
  updatedAt: Date;
}

const COLUMNS = sql`id, task_id AS "taskId", owner, type, params, idempotency_key AS "idempotencyKey", status, progress,
  result, error, version, attempts, created_at AS "createdAt", updated_at AS "updatedAt"`;

const ENDED_COLUMNS = sql`t.id, t.task_id AS "taskId", t.owner, t.type, t.params, t.idempotency_key AS "idempotencyKey", t.status,
  t.progress, t.result, t.error, t.version, t.attempts, t.created_at AS "createdAt", t.updated_at AS "updatedAt"`;

/** Tasks of the NPC server in PostgreSQL. A trigger notifies all nodes of each new version (prisma/functions/npc.sql). */
export class PostgresNpcTasks implements NpcTasks {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;
  readonly #opening = new StatementBatch<NewNpcTask, Date | undefined>(
    (tasks) => this.#open(tasks),
    MAX_OPENED,
  );
  readonly #ending = new StatementBatch<{ taskId: string; end: NpcTaskEnd }, boolean>(
    (ends) => this.#finish(ends),
    MAX_ENDED,
  );
  #onEnd: (task: NpcTask) => void = () => undefined;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  /** The listener gets each task that this process ends, when its end is stored. */
  onEnd(listener: (task: NpcTask) => void): void {
    this.#onEnd = listener;
  }

  async open(task: NewNpcTask): Promise<{ outcome: 'opened' | 'known' | 'conflict'; task: NpcTask }> {
    const { taskId, owner, type, params, idempotencyKey } = task;
    const openedAt = await this.#opening.add(task);
    if (openedAt) {
      const [createdAtMs, updatedAtMs] = [openedAt.getTime(), openedAt.getTime()];
      const keyed = { ...(idempotencyKey !== undefined && { idempotencyKey }) };
      const opened = {
        taskId,
        owner,
        type,
        params,
        ...keyed,
        status: 'pending' as const,
        version: 1,
        attempts: 0,
      };
      return { outcome: 'opened', task: { ...opened, createdAtMs, updatedAtMs } };
    }
    const [known] = await this.#rows<TaskRow & { isSame: boolean }>(
      'reading an NPC task',
      sql`
        SELECT ${COLUMNS}, type = ${type} AND params = ${JSON.stringify(params)}::jsonb AS "isSame" FROM npc_task
        WHERE owner = ${owner} AND idempotency_key = ${idempotencyKey ?? null}`,
    );
    if (!known) throw new Error('the NPC task of a used key is gone');
    return { outcome: known.isSame ? 'known' : 'conflict', task: taskOf(known) };
  }

  /** @returns when each task was stored; undefined: its owner had used its idempotency key before */
  async #open(tasks: readonly NewNpcTask[]): Promise<Array<Date | undefined>> {
    const rows = tasks.map(({ taskId, owner, type, params, idempotencyKey }) => ({
      task_id: taskId,
      owner,
      type,
      params,
      idempotency_key: idempotencyKey,
    }));
    const opened = await this.#rows<{ taskId: string; createdAt: Date }>(
      'opening NPC tasks',
      sql`
        INSERT INTO npc_task (task_id, owner, type, params, idempotency_key)
        SELECT * FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
          AS task (task_id text, owner text, type text, params jsonb, idempotency_key text)
        ON CONFLICT (owner, idempotency_key) DO NOTHING
        RETURNING task_id AS "taskId", created_at AS "createdAt"`,
    );
    const times = new Map(opened.map(({ taskId, createdAt }) => [taskId, createdAt]));
    return tasks.map(({ taskId }) => times.get(taskId));
  }

  async find(taskId: string): Promise<NpcTask | undefined> {
    return (await this.findAll([taskId]))[0];
  }

  async findAll(taskIds: readonly string[]): Promise<NpcTask[]> {
    const rows = await this.#rows(
      'reading NPC tasks',
      sql`SELECT ${COLUMNS} FROM npc_task WHERE task_id = ANY (${[...taskIds]}::text[])`,
    );
    return rows.map(taskOf);
  }

  async list(owners: readonly string[], { type, status, before, limit }: NpcTaskQuery): Promise<NpcTaskPage> {
    const mine = sql`owner = ANY (${[...owners]}::text[]) AND (${type ?? null}::text IS NULL OR type = ${type ?? null})
      AND (${status ?? null}::text IS NULL OR status = ${status ?? null})`;
    const rows = await this.#rows<TaskRow & { total: bigint }>(
      'listing NPC tasks',
      sql`
        SELECT ${COLUMNS}, (SELECT count(*) FROM npc_task WHERE ${mine}) AS total FROM npc_task
        WHERE ${mine} AND (${before ?? null}::bigint IS NULL OR id < ${before ?? null}::bigint)
        ORDER BY id DESC LIMIT ${limit + 1}`,
    );
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const total = rows[0] ? Number(rows[0].total) : await this.#count(mine);
    return {
      tasks: page.map(taskOf),
      total,
      ...(rows.length > limit && last && { next: String(last.id) }),
    };
  }

  async begin(taskId: string): Promise<boolean> {
    const rows = await this.#rows<{ status: NpcTaskStatus }>(
      'beginning an NPC task',
      sql`
        UPDATE npc_task SET status = 'processing', version = version + 1, updated_at = now()
        WHERE task_id = ${taskId} AND status IN ('pending', 'processing') RETURNING status`,
    );
    return rows.length > 0;
  }

  async progress(taskId: string, percent: number): Promise<void> {
    await this.#execute(
      'storing the progress of an NPC task',
      sql`
        UPDATE npc_task SET progress = ${percent}, version = version + 1, updated_at = now()
        WHERE task_id = ${taskId} AND status IN ('pending', 'processing') AND coalesce(progress, -1) < ${percent}::integer`,
    );
  }

  async countAttempt(taskId: string): Promise<void> {
    await this.#execute(
      'counting a request of an NPC task',
      sql`UPDATE npc_task SET attempts = attempts + 1 WHERE task_id = ${taskId}`,
    );
  }

  async finish(taskId: string, end: NpcTaskEnd): Promise<boolean> {
    return await this.#ending.add({ taskId, end });
  }

  /** @returns whether this call ended each task */
  async #finish(ends: ReadonlyArray<{ taskId: string; end: NpcTaskEnd }>): Promise<boolean[]> {
    // The first end of a task counts.
    const first = new Map([...ends].reverse().map((each) => [each.taskId, each]));
    const rows = [...first.values()].map(({ taskId, end }) => ({ task_id: taskId, ...end }));
    const ended = await this.#rows(
      'ending NPC tasks',
      sql`
        UPDATE npc_task t SET status = e.status, result = e.result, error = e.error,
          progress = CASE WHEN e.status = 'completed' THEN 100 ELSE t.progress END,
          version = t.version + 1, updated_at = now()
        FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
          AS e (task_id text, status text, result jsonb, error jsonb)
        WHERE t.task_id = e.task_id AND t.status IN ('pending', 'processing')
        RETURNING ${ENDED_COLUMNS}`,
    );
    for (const row of ended) this.#onEnd(taskOf(row));
    const changed = new Set(ended.map(({ taskId }) => taskId));
    return ends.map((each) => first.get(each.taskId) === each && changed.has(each.taskId));
  }

  async notBegun(olderThanMs: number, limit: number): Promise<NpcTask[]> {
    const rows = await this.#rows(
      'looking for open NPC tasks',
      sql`
        SELECT ${COLUMNS} FROM npc_task
        WHERE status = 'pending' AND created_at <= now() - ${olderThanMs}::double precision * interval '1 millisecond'
        ORDER BY id LIMIT ${limit}`,
    );
    return rows.map(taskOf);
  }

  async #count(where: Sql): Promise<number> {
    const [row] = await this.#rows<{ total: bigint }>(
      'counting NPC tasks',
      sql`SELECT count(*) AS total FROM npc_task WHERE ${where}`,
    );
    return Number(row?.total ?? 0);
  }

  #rows<Row = TaskRow>(what: string, statement: Sql): Promise<Row[]> {
    return withStorage(what, () => this.#postgres.query<Row>(statement));
  }

  #execute(what: string, statement: Sql): Promise<number> {
    return withStorage(what, () => this.#postgres.execute(statement));
  }
}

function taskOf({
  id: _id,
  idempotencyKey,
  progress,
  result,
  error,
  createdAt,
  updatedAt,
  ...row
}: TaskRow): NpcTask {
  const { taskId, owner, type, params, status, version, attempts } = row;
  return {
    taskId,
    owner,
    type,
    params,
    ...(idempotencyKey !== null && { idempotencyKey }),
    status,
    ...(progress !== null && { progress }),
    ...(result !== null && { result }),
    ...(error !== null && { error }),
    version,
    attempts,
    createdAtMs: createdAt.getTime(),
    updatedAtMs: updatedAt.getTime(),
  };
}
