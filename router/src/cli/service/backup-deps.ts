import type { BackupCommandDeps } from '../../features/backup/backup-commands.ts';
import type { Cli } from '../cli.ts';

/** What backup and restore need. Log lines are not shown: every failure is a sentence. */
export async function backupDeps(cli: Cli): Promise<BackupCommandDeps> {
  const [{ createTaskTables }, { createLogger }] = await Promise.all([
    import('../../infra/engine/create-task-tables.ts'),
    import('../../infra/logging/logger.ts'),
  ]);
  return { env: cli.host.env, log: createLogger({ level: 'silent', format: 'json' }), createTaskTables };
}
