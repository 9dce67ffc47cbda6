import type { Command } from 'commander';
import type {
  BackupCommand,
  BackupCommandDeps,
  RestoreCommand,
} from '../../features/backup/backup-commands.ts';
import type { Cli } from '../cli.ts';
import { asking } from './lists.ts';

/** `wa2ai backup`: works on the database itself, beside the service. */
export function addBackup(parent: Command, cli: Cli): void {
  parent
    .command('backup')
    .description('write an encrypted backup of everything, also while the service runs')
    .argument('<file>', 'the file, which must not exist yet')
    .option('--passphrase-file <path>', 'file with the passphrase; default: WA2AI_BACKUP_PASSPHRASE')
    .option('--verify', 'restore it into a temporary database afterwards and compare every row')
    .action(async (file: string, options: BackupCommand) => {
      const { runBackup } = await import('../../features/backup/backup-commands.ts');
      const { report, text } = await runBackup(file, options, await backupDeps(cli));
      cli.show(report, () => text);
    });
}

/** `wa2ai restore`: works on the database itself, while no node runs. */
export function addRestore(parent: Command, cli: Cli): void {
  asking(parent.command('restore'))
    .description('restore a backup into the database of the settings')
    .argument('<file>', 'the backup')
    .option('--passphrase-file <path>', 'file with the passphrase; default: WA2AI_BACKUP_PASSPHRASE')
    .option('--replace', 'replace everything that is in the database')
    .option('--drill', 'restore into a temporary database only, compare every row, remove it')
    .option('--data-key-to <path>', 'only write the data key of the backup to a new file')
    .option('--settings-to <path>', 'only write the settings of the backup to a new file')
    .action(async (file: string, options: RestoreCommand) => {
      if (options.replace && !options.drill) {
        await cli.confirm(
          'Everything in the database of the settings will be replaced. It cannot be undone.',
        );
      }
      const { runRestore } = await import('../../features/backup/backup-commands.ts');
      const { report, text } = await runRestore(file, options, await backupDeps(cli));
      cli.show(report, () => text);
    });
}

/** What backup and restore need. Log lines are not shown: every failure is a sentence. */
async function backupDeps(cli: Cli): Promise<BackupCommandDeps> {
  const [{ createTaskTables }, { createLogger }] = await Promise.all([
    import('../../infra/engine/create-task-tables.ts'),
    import('../../infra/logging/logger.ts'),
  ]);
  return { env: cli.host.env, log: createLogger({ level: 'silent', format: 'json' }), createTaskTables };
}
