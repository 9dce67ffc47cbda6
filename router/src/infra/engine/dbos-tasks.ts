import type pg from 'pg';
import sql from 'sql-template-tag';
import { isRetryable, StorageUnavailableError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { say } from '../../core/phrases.ts';
import type {
  DurableTasks,
  TaskFunctions,
  TaskKind,
  TaskResult,
  TaskStart,
  TaskStatus,
  TaskSteps,
} from '../../core/tasks.ts';
import { createPostgresPool } from '../db/connections/postgres-client.ts';
import type { Statements } from '../db/postgres.ts';
import { withStorage } from '../db/stores/storage-errors.ts';

/** Changes when the steps of a kind of task change: tasks of another version are not continued by this one. */
const TASKS_VERSION = 'tasks-1';
const POOL = {
  name: 'wa2ai tasks',
  size: 4,
  connectTimeoutMs: 10_000,
  // A hung process keeps no rows locked for longer.
  settings: "SET idle_in_transaction_session_timeout TO '60s'",
};
/** Attempts of one step that fails with disposition `retry`; the wait starts at a second and doubles up to an hour. */
const MAX_STEP_ATTEMPTS = 20;
const STEP_RETRY_SECONDS = 1;
/** A task that runs during many crashes is still continued. */
const MAX_RECOVERIES = 1_000;
const RUNNING = ['PENDING', 'ENQUEUED', 'DELAYED'];

interface DbosTasksDeps {
  databaseUrl: string;
  postgres: Statements;
  /** Stable name of this node: it continues its own tasks after a restart. */
  nodeId: string;
  functions: Partial<TaskFunctions>;
  /** Runs work that nodes must not run concurrently: DBOS creates its tables without a lock. */
  exclusively(work: () => Promise<void>): Promise<void>;
  log: Logger;
}

type Dbos = typeof import('@dbos-inc/dbos-sdk').DBOS;

/**
 * Durable tasks on DBOS (5.3.0, pinned), one workflow with real steps per task. The only importer of DBOS.
 *
 * DBOS is loaded and launched when there is a task: by the first `start`, or by `resume` for an unfinished one. Launched,
 * it polls its queues and schedules about once a second even when it has nothing to do.
 */
export class DbosTasks implements DurableTasks {
  readonly #deps: DbosTasksDeps;
  #pool: pg.Pool | undefined;
  #launching: Promise<Dbos> | undefined;
  readonly #workflows = new Map<string, (input: never) => Promise<unknown>>();
  readonly #stopping = new AbortController();

  constructor(deps: DbosTasksDeps) {
    this.#deps = deps;
  }

  async start({ kind, id, input }: TaskStart): Promise<void> {
    const dbos = await this.#launched();
    const workflow = this.#workflows.get(kind) as (input: TaskStart['input']) => Promise<unknown>;
    await withEngine('starting a task', () => dbos.startWorkflow(workflow, { workflowID: id })(input));
    this.#deps.log.info({ task: kind, taskId: id }, 'task started');
  }

  async status(id: string): Promise<TaskStatus | undefined> {
    if (!this.#launching && !(await this.#hasTables())) return undefined;
    const dbos = await this.#launched();
    const found = await withEngine('reading a task', () => dbos.getWorkflowStatus(id));
    if (!found || !this.#workflows.has(found.workflowName)) return undefined;
    const kind = found.workflowName as TaskKind;
    if (RUNNING.includes(found.status)) return { kind, state: 'running' };
    if (found.status === 'SUCCESS')
      return { kind, state: 'done', result: found.output as TaskResult<TaskKind> };
    const { error } = found;
    return {
      kind,
      state: 'failed',
      error: error instanceof Error ? error.message : 'The task was cancelled.',
    };
  }

  /**
   * Continues unfinished tasks of this node's earlier process and of dead nodes. Idempotent; call it at the start and
   * when a node has died. Never rejects.
   */
  async resume(isGone: (nodeId: string) => boolean): Promise<void> {
    const { nodeId, log } = this.#deps;
    try {
      const nodes = await this.#nodesWithTasks();
      const gone = nodes.filter((node) => node !== nodeId && isGone(node));
      // A launch continues this node's own tasks.
      if (gone.length > 0 || nodes.includes(nodeId)) await this.#launched();
      if (gone.length === 0) return;
      // Not exported by the package's root. Queues the tasks in one statement, each once, however many nodes call it.
      const { DBOSExecutor } = await import('@dbos-inc/dbos-sdk/internal/dbos-executor');
      const tasks = await DBOSExecutor.globalInstance?.recoverPendingWorkflows(gone);
      if (tasks?.length) log.warn({ nodes: gone, tasks: tasks.length }, 'taking over tasks of dead nodes');
    } catch (error) {
      log.warn({ err: error }, 'cannot continue tasks, retrying');
    }
  }

  /** Disconnects; a task that runs continues after the next start, or on another node. Idempotent. */
  async stop(): Promise<void> {
    const launching = this.#launching;
    this.#launching = undefined;
    this.#stopping.abort();
    const dbos = await launching?.catch(() => undefined);
    await dbos?.shutdown({ deregister: true });
    await this.#pool?.end();
    this.#pool = undefined;
  }

  /** @throws {StorageUnavailableError} */
  #launched(): Promise<Dbos> {
    this.#launching ??= this.#launch().catch((error: unknown) => {
      this.#launching = undefined;
      throw error;
    });
    return this.#launching;
  }

  async #launch(): Promise<Dbos> {
    const { databaseUrl, nodeId, functions, exclusively, log } = this.#deps;
    const { DBOS } = await import('@dbos-inc/dbos-sdk');
    for (const [kind, run] of Object.entries(functions)) {
      const workflow = (input: never) =>
        (run as (steps: TaskSteps, input: never) => Promise<unknown>)(
          stepsOf(DBOS, this.#stopping.signal),
          input,
        );
      const options = { name: kind, maxRecoveryAttempts: MAX_RECOVERIES };
      this.#workflows.set(kind, DBOS.registerWorkflow(workflow, options));
    }
    const pool = createPostgresPool(databaseUrl, POOL);
    DBOS.setConfig({
      name: 'wa2ai',
      systemDatabaseUrl: databaseUrl,
      systemDatabasePool: pool,
      executorID: nodeId,
      applicationVersion: TASKS_VERSION,
      notificationCoalesceMs: 1_000,
      logger: dbosLogger(log.child({ mod: 'dbos' })),
    });
    try {
      await exclusively(() => DBOS.launch());
    } catch (error) {
      await DBOS.shutdown({ deregister: true }).catch(() => undefined);
      await pool.end();
      const reason = error instanceof Error ? error.message : String(error);
      throw new StorageUnavailableError(
        {
          ...say('storage.rights'),
          sentence: `Durable tasks cannot use their tables (schema "dbos"): ${reason}. Grant the database user CREATE on the database, or all rights on that schema and its tables.`,
        },
        { cause: error },
      );
    }
    this.#pool = pool;
    return DBOS;
  }

  async #hasTables(): Promise<boolean> {
    const [row] = await withStorage('looking for tasks', () =>
      this.#deps.postgres.query<{ has: boolean }>(sql`
        SELECT to_regclass('dbos.workflow_status') IS NOT NULL AS has`),
    );
    return row?.has ?? false;
  }

  async #nodesWithTasks(): Promise<string[]> {
    if (!(await this.#hasTables())) return [];
    const rows = await withStorage('looking for tasks', () =>
      this.#deps.postgres.query<{ executor_id: string }>(sql`
        SELECT DISTINCT executor_id FROM dbos.workflow_status
        WHERE status = ANY (${RUNNING}) AND application_version = ${TASKS_VERSION} AND executor_id IS NOT NULL`),
    );
    return rows.map((row) => row.executor_id);
  }
}

function stepsOf(dbos: Dbos, stopping: AbortSignal): TaskSteps {
  return {
    stopping,
    run: (name, work) =>
      dbos.runStep(() => unlessStopped(work, stopping), {
        name,
        retriesAllowed: true,
        maxAttempts: MAX_STEP_ATTEMPTS,
        intervalSeconds: STEP_RETRY_SECONDS,
        shouldRetry: isRetryable,
      }),
  };
}

/** A step that the stop of the process ended never settles: DBOS would store a rejection as the end of the task. */
async function unlessStopped<T>(work: () => Promise<T>, stopping: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (stopping.aborted) return await new Promise<never>(() => undefined);
    throw error;
  }
}

/** @throws {StorageUnavailableError} */
async function withEngine<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const sentence = `The database did not answer while ${what}. Try again.`;
    throw new StorageUnavailableError({ ...say('storage.unavailable'), sentence }, { cause: error });
  }
}

/** DBOS logs through the service's logger, at debug and below: an operator acts on wa2ai's own lines. */
function dbosLogger(log: Logger) {
  const text = (entry: unknown) => (entry instanceof Error ? entry.message : String(entry));
  return {
    info: (entry: unknown) => log.trace({}, text(entry)),
    debug: (entry: unknown) => log.trace({}, text(entry)),
    warn: (entry: unknown) => log.debug({}, text(entry)),
    error: (entry: unknown) => log.debug({}, text(entry)),
  };
}
