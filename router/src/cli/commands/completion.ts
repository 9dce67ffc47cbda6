import { Argument, type Command } from 'commander';
import type { Cli } from '../cli.ts';

/** `wa2ai completion`: the words of all commands for a shell. */
export function addCompletion(parent: Command, cli: Cli): void {
  parent
    .command('completion')
    .description('print the completion for a shell: source <(wa2ai completion bash)')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { completionFor } = await import('../completion/completion-for.ts');
      cli.host.write(completionFor(shell, parent));
    });
}
