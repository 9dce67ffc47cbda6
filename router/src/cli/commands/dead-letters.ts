import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliUsageError } from '../exit-code.ts';
import { relativeTime } from '../output/times.ts';
import { asking, change, chatOf, paged, part, showList, textOf } from './show-list.ts';

/** `wa2ai dead-letters`: messages and replies that were given up. */
export function addDeadLetters(parent: Command, cli: Cli): void {
  const letters = parent.command('dead-letters').description('list, replay and close what was given up');
  paged(letters.command('list'))
    .description('list messages and replies that were given up')
    .action(() =>
      showList(
        cli,
        '/api/dead-letters',
        {},
        {
          ID: ({ id }) => textOf(id),
          FAILED: ({ failedAt }) => relativeTime(String(failedAt), cli.host.now()),
          CHAT: (letter) => chatOf(letter),
          REASON: ({ reason }) => textOf(reason),
          TEXT: ({ text }) => textOf(text),
        },
      ),
    );
  asking(letters.command('replay'))
    .description('work on a dead letter again, or on all of them with --all')
    .argument('[id]', 'id of the dead letter')
    .option('--all', 'every open dead letter')
    .action(async (id: string | undefined, { all }: { all?: boolean }) => {
      if ((id === undefined) === (all !== true)) throw new CliUsageError('name a dead letter, or --all');
      if (all) await cli.confirm('Every open dead letter will be worked on; people may get late answers.');
      return id === undefined
        ? change(cli, 'POST', '/api/dead-letters/replay', {})
        : change(cli, 'POST', `/api/dead-letters/${part(id)}/replay`);
    });
  letters
    .command('close')
    .description('mark a dead letter as done without replaying it')
    .argument('<id>', 'id of the dead letter')
    .action((id: string) => change(cli, 'POST', `/api/dead-letters/${part(id)}/close`));
}
