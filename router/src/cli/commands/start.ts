import type { Command } from 'commander';

/** `wa2ai start`: the service in this terminal until it is stopped. */
export function addStart(parent: Command): void {
  parent
    .command('start')
    .description('run the service in this terminal, with the settings of .env and the environment')
    .action(async () => {
      // It takes over signals, output and the exit code.
      await import('../../main.ts');
    });
}
