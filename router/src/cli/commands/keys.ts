import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { relativeTime } from '../output/times.ts';
import { asking, change, findNamed, part, showList, textOf } from './show-list.ts';

interface NewKeyOptions {
  chat?: readonly string[];
  route?: readonly string[];
  account?: readonly string[];
  expires?: string;
}

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
          ONLY: restrictionsOf,
          CREATED: ({ createdAt }) => relativeTime(String(createdAt), cli.host.now()),
        },
      ),
    );
  keys
    .command('add')
    .description('add a key and print it; it is shown only once')
    .argument('<name>', 'what the key is for')
    .argument('<scopes...>', 'scopes such as routes:read')
    .option('--chat <chat...>', 'only these chats: phone numbers, JIDs or group ids')
    .option('--route <route...>', 'only these routes, by name or id')
    .option('--account <account...>', 'only these accounts')
    .option('--expires <time>', 'refuse the key from this time on, such as 2027-01-31T12:00:00Z')
    .action(async (name: string, scopes: readonly string[], only: NewKeyOptions) => {
      const { chat: chats, route: routes, account: accounts, expires: expiresAt } = only;
      const ids = routes?.map(async (route) => (await findNamed(cli, '/api/routes', route)).id);
      const body = { name, scopes, chats, routes: ids && (await Promise.all(ids)), accounts, expiresAt };
      const answer = await (await cli.api()).call<{ data: { key: string } }>('POST', '/api/keys', { body });
      cli.show(answer, () => answer.data.key);
    });
  asking(keys.command('revoke'))
    .description('revoke a key')
    .argument('<key>', 'its name, its id, or the start of its id')
    .action(async (key: string) => {
      const { id, name } = await findNamed(cli, '/api/keys', key);
      await cli.confirm(`Key "${name}" (${id}) will be refused from now on. It cannot be undone.`);
      await change(cli, 'DELETE', `/api/keys/${part(id)}`);
    });
}

/** What a key is restricted to: `account default, chat 5493777239922`. */
function restrictionsOf(key: Record<string, unknown>): string {
  return (['accounts', 'chats', 'routes'] as const)
    .flatMap((each) => ((key[each] ?? []) as string[]).map((id) => `${each.slice(0, -1)} ${id}`))
    .join(', ');
}
