import type { Command } from 'commander';
import type { Cli } from '../cli.ts';

/** `wa2ai simulate`: runs scenarios of the playground as tests. */
export function addSimulate(parent: Command, cli: Cli): void {
  parent
    .command('simulate')
    .description('run scenarios of the playground; ends with 1 when an assertion fails')
    .argument('<files...>', 'YAML files of scenarios')
    .option('--own', 'start a service for this command, in a temporary folder and without WhatsApp')
    .action(async (files: string[], { own }: { own?: boolean }) => {
      const { simulate } = await import('../simulate/simulate.ts');
      await simulate(cli, files, own === true);
    });
}
