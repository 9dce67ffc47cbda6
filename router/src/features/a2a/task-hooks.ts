import type { Sql } from 'sql-template-tag';
import sql from 'sql-template-tag';
import type { Statements } from '../../infra/db/postgres.ts';
import { storableId } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/** Context of the encrypted token and credentials of receivers; it never changes. */
export const TASK_HOOK_CONTEXT = 'served_task_hook.secret';

/** Where the updates of a served task are sent. */
export interface NewTaskHook {
  taskId: string;
  /** Of the program, or made for it; unique within the task. */
  id: string;
  url: string;
  /** Sent with each update, so that the receiver recognizes its task: a secret. */
  token?: string;
  /** Of the receiver, as `Authorization: <scheme> <credentials>`: a secret. */
  authentication?: { scheme: string; credentials: string };
  /** The version of A2A that the program speaks. */
  version: '1.0' | '0.3';
}

/** A stored hook; `sent` is the number of the last update that the receiver has got. */
export interface TaskHook extends NewTaskHook {
  sent: number;
  /** A hook that is deleted and set again has another time. */
  createdAt: Date;
}

/**
 * Hooks of served tasks; they go with their task.
 * @throws {StorageUnavailableError} from every method: nothing was changed
 */
export interface TaskHooks {
  /** The same id replaces the hook; what was sent stays sent. */
  put(hook: NewTaskHook): Promise<TaskHook>;
  get(taskId: string, id: string): Promise<TaskHook | undefined>;
  /** By id. */
  list(taskId: string): Promise<TaskHook[]>;
  /** @returns whether there was one */
  delete(taskId: string, id: string): Promise<boolean>;
  /** The number of sent updates never falls. */
  markSent(taskId: string, id: string, number: number): Promise<void>;
  /** Hooks that have not got all updates for longer than this: perhaps nobody sends them. Oldest first. */
  behind(forMs: number, limit: number): Promise<Array<Pick<TaskHook, 'taskId' | 'id' | 'createdAt'>>>;
}

interface HookRow extends Omit<TaskHook, 'token' | 'authentication'> {
  secret: string;
}

/** Hooks of served tasks in PostgreSQL. Token and credentials are encrypted. */
export class PostgresTaskHooks implements TaskHooks {
  readonly #postgres: Pick<Statements, 'query' | 'execute' | 'secrets'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute' | 'secrets'>) {
    this.#postgres = postgres;
  }

  async put(hook: NewTaskHook): Promise<TaskHook> {
    const { taskId, id, url, version, token, authentication } = hook;
    const secret = this.#postgres.secrets.sealText(
      JSON.stringify({ token, authentication }),
      TASK_HOOK_CONTEXT,
    );
    const [row] = await withStorage('storing a hook of a task', () =>
      this.#postgres.query<Pick<TaskHook, 'sent' | 'createdAt'>>(sql`
        INSERT INTO served_task_hook (task_id, id, url, secret, version)
        VALUES (${taskId}, ${storableId(id)}, ${url}, ${secret}, ${version})
        ON CONFLICT (task_id, id) DO UPDATE SET url = excluded.url, secret = excluded.secret, version = excluded.version
        RETURNING sent, created_at AS "createdAt"`),
    );
    if (!row) throw new Error('a stored hook has no row');
    return { ...hook, ...row };
  }

  async get(taskId: string, id: string): Promise<TaskHook | undefined> {
    const [hook] = await this.#read(sql`task_id = ${taskId} AND id = ${storableId(id)}`);
    return hook;
  }

  list(taskId: string): Promise<TaskHook[]> {
    return this.#read(sql`task_id = ${taskId}`);
  }

  async delete(taskId: string, id: string): Promise<boolean> {
    const count = await withStorage('deleting a hook of a task', () =>
      this.#postgres.execute(sql`
        DELETE FROM served_task_hook WHERE task_id = ${taskId} AND id = ${storableId(id)}`),
    );
    return count > 0;
  }

  async markSent(taskId: string, id: string, number: number): Promise<void> {
    await withStorage('recording a sent update of a task', () =>
      this.#postgres.execute(sql`
        UPDATE served_task_hook SET sent = greatest(sent, ${number}::integer)
        WHERE task_id = ${taskId} AND id = ${storableId(id)}`),
    );
  }

  async behind(forMs: number, limit: number): Promise<Array<Pick<TaskHook, 'taskId' | 'id' | 'createdAt'>>> {
    return await withStorage('looking for updates that nobody sends', () =>
      this.#postgres.query<Pick<TaskHook, 'taskId' | 'id' | 'createdAt'>>(sql`
        SELECT h.task_id AS "taskId", h.id, h.created_at AS "createdAt" FROM served_task_hook h JOIN served_task t ON t.id = h.task_id
        WHERE h.sent < t.version AND t.updated_at < now() - ${forMs}::bigint * interval '1 millisecond'
        ORDER BY t.updated_at, h.task_id, h.id LIMIT ${limit}`),
    );
  }

  async #read(condition: Sql): Promise<TaskHook[]> {
    const rows = await withStorage('reading the hooks of a task', () =>
      this.#postgres.query<HookRow>(sql`
        SELECT task_id AS "taskId", id, url, version, sent, secret, created_at AS "createdAt" FROM served_task_hook
        WHERE ${condition} ORDER BY id`),
    );
    return rows.map(({ secret, ...hook }) => ({
      ...hook,
      ...(JSON.parse(this.#postgres.secrets.openText(secret, TASK_HOOK_CONTEXT)) as object),
    }));
  }
}
