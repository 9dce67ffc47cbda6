import { DBOSExecutor } from '@dbos-inc/dbos-sdk/internal/dbos-executor';
import sql from 'sql-template-tag';
import type { Statements } from '../storage/postgres.ts';
import { withStorage } from '../storage/stores/storage-errors.ts';

/**
 * The one file that reaches into DBOS (5.3.0, pinned): what a dead process had begun goes on elsewhere.
 *
 * DBOS resumes only what the same executor left. `recoverPendingWorkflows` puts an executor's workflows into DBOS's
 * internal queue, which every process polls once a second, in one statement: called twice, or by two processes at once,
 * each workflow is queued once, and one that a survivor runs by now no longer names the dead executor. It is to be
 * repeated, not done once: a workflow that was just being dequeued when its new executor died, or a database that
 * restarted in between, leaves PENDING rows behind again.
 */
export class DbosTakeover {
  readonly #postgres: Statements;

  constructor(postgres: Statements) {
    this.#postgres = postgres;
  }

  /** Executors that have workflows under way. @throws {StorageUnavailableError} */
  async busyExecutors(): Promise<string[]> {
    const rows = await withStorage('looking for turns under way', () =>
      this.#postgres.query<{ executor_id: string }>(sql`
        SELECT DISTINCT executor_id FROM dbos.workflow_status WHERE status = 'PENDING' AND executor_id IS NOT NULL`),
    );
    return rows.map((row) => row.executor_id);
  }

  /** Queues what these executors had under way, for any process. @returns how many workflows */
  async takeOver(executorIds: string[]): Promise<number> {
    const handles = await DBOSExecutor.globalInstance?.recoverPendingWorkflows(executorIds);
    return handles?.length ?? 0;
  }

  /** Queues what this process has under way for the others and takes nothing more from the queue itself. */
  async handOver(ownExecutorId: string): Promise<number> {
    await DBOSExecutor.globalInstance?.deactivateEventReceivers();
    return this.takeOver([ownExecutorId]);
  }
}
