import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { relativeTime } from '../output/times.ts';
import { change, part, showList, textOf } from './show-list.ts';

/** `wa2ai keys`: keys of the API. */
export function addKeys(parent: Command, cli: Cli): void {
  const keys = parent.command('keys').description('list, add and revoke keys of the API');
  keys
    .command('list')
    .description('list keys with their scopes')
    .action(() =>
      showList(
        cli,
        '/api/keys',
        {},
        {
          ID: ({ id }) => textOf(id),
          NAME: ({ name }) => textOf(name),
          SCOPES: ({ scopes }) => (scopes as readonly string[]).join(' '),
          CREATED: ({ createdAt }) => relativeTime(String(createdAt), cli.host.now()),
        },
      ),
    );
  keys
    .command('add')
    .description('add a key and print it; it is shown only once')
    .argument('<name>', 'what the key is for')
    .argument('<scopes...>', 'scopes such as routes:read')
    .action(async (name: string, scopes: readonly string[]) => {
      const body = { name, scopes };
      const answer = await (await cli.api()).call<{ data: { key: string } }>('POST', '/api/keys', { body });
      cli.show(answer, () => answer.data.key);
    });
  keys
    .command('revoke')
    .description('revoke a key')
    .argument('<key>', 'id of the key')
    .action((id: string) => change(cli, 'DELETE', `/api/keys/${part(id)}`));
}
