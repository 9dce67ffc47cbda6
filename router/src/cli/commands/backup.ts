import type { Command } from 'commander';
import type { BackupCommand } from '../../features/backup/backup-commands.ts';
import type { Cli } from '../cli.ts';
import { backupDeps } from '../service/backup-deps.ts';

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
