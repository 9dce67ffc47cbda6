import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliUsageError } from '../exit-code.ts';
import { relativeTime } from '../output/times.ts';
import { moodOf } from './account-text.ts';
import { textOfFile } from './route-file.ts';
import { asking, change, part, showList, textOf } from './show-list.ts';

/** `wa2ai accounts`: WhatsApp accounts. */
export function addAccounts(parent: Command, cli: Cli): void {
  const accounts = parent.command('accounts').description('list, add and remove WhatsApp accounts');
  accounts
    .command('list')
    .description('list accounts with their states and what to do next')
    .action(() =>
      showList(
        cli,
        '/api/accounts',
        {},
        {
          ACCOUNT: ({ accountId }) => textOf(accountId),
          STATE: ({ state }) => cli.colours.state(String(state), moodOf(String(state))),
          PHONE: ({ phone }) => textOf(phone),
          SINCE: ({ since }) => relativeTime(String(since), cli.host.now()),
          NEXT: ({ nextAction, state, retryAt }) =>
            state === 'restricted' && retryAt
              ? `Limited until ${String(retryAt).slice(0, 16).replace('T', ' ')} UTC. ${textOf(nextAction)}`
              : textOf(nextAction),
        },
      ),
    );
  accounts
    .command('add')
    .description('add an account; pair it next')
    .argument('<account>', 'a name such as sales')
    .option('--proxy <file>', 'file with the URL of its proxy, as in accounts proxy; - for standard input')
    .action((accountId: string, { proxy }: { proxy?: string }) =>
      change(cli, 'POST', '/api/accounts', {
        accountId,
        ...(proxy !== undefined && { proxy: proxyIn(proxy) }),
      }),
    );
  asking(accounts.command('remove'))
    .description('unlink an account and delete everything stored for it')
    .argument('<account>', 'id of the account')
    .action(async (id: string) => {
      const effect = `Account "${id}" will be unlinked and deleted with its routes, chats and messages. It cannot be undone.`;
      await cli.confirm(effect, id);
      await change(cli, 'DELETE', `/api/accounts/${part(id)}`);
    });
  asking(accounts.command('proxy'))
    .description('connect an account through a proxy, or directly again')
    .argument('<account>', 'id of the account')
    .argument(
      '[file]',
      'file with the URL, such as socks5://user:password@proxy.example:1080; - for standard input',
    )
    .option('--remove', 'remove the proxy: the account connects directly')
    .action(async (id: string, file: string | undefined, { remove }: { remove?: boolean }) => {
      if ((file === undefined) !== (remove === true)) {
        throw new CliUsageError('name either a file with the URL of the proxy, or --remove');
      }
      if (remove) await cli.confirm(`Account "${id}" will connect from the address of this machine.`);
      const proxy = file === undefined ? null : proxyIn(file);
      await change(cli, 'PUT', `/api/accounts/${part(id)}`, { proxy });
    });
  accounts
    .command('restart')
    .description('connect an account again, from any state')
    .argument('<account>', 'id of the account')
    .action((id: string) => change(cli, 'POST', `/api/accounts/${part(id)}/restart`));
  asking(accounts.command('logout'))
    .description('unlink an account at WhatsApp and start pairing')
    .argument('<account>', 'id of the account')
    .action(async (id: string) => {
      await cli.confirm(`Account "${id}" will be unlinked; nobody gets answers until it is paired again.`);
      await change(cli, 'POST', `/api/accounts/${part(id)}/logout`);
    });
}

/** From a file, so that the password is not in the arguments, which other users of the machine can read. */
function proxyIn(file: string): { url: string } {
  return { url: textOfFile(file).trim() };
}
