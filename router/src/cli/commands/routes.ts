import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliUsageError } from '../exit-code.ts';
import { change, part, showList, showOne, textOf } from './show-list.ts';

/** `wa2ai routes`: which agent answers which chat. */
export function addRoutes(parent: Command, cli: Cli): void {
  const routes = parent.command('routes').description('list and change which agent answers which chat');
  routes
    .command('list')
    .description('list routes')
    .action(() =>
      showList(
        cli,
        '/api/routes',
        {},
        {
          ID: ({ id }) => textOf(id),
          NAME: ({ name }) => textOf(name),
          CHAT: ({ channelId }) => textOf(channelId),
          AGENT: ({ agentEndpoint }) => textOf(agentEndpoint),
          PRIORITY: ({ priority }) => textOf(priority),
          ENABLED: ({ enabled }) => (enabled === false ? 'no' : 'yes'),
        },
      ),
    );
  routes
    .command('show')
    .description('show a route with all its settings')
    .argument('<route>', 'id of the route')
    .action((id: string) => showOne(cli, `/api/routes/${part(id)}`));
  routes
    .command('add')
    .description('add a route from a file with JSON, or - for standard input')
    .argument('<file>', 'the body of POST /api/routes')
    .action((file: string) => change(cli, 'POST', '/api/routes', bodyOf(file)));
  routes
    .command('edit')
    .description('change fields of a route from a file with JSON, or - for standard input')
    .argument('<route>', 'id of the route')
    .argument('<file>', 'the body of PATCH /api/routes/ID')
    .action((id: string, file: string) => change(cli, 'PATCH', `/api/routes/${part(id)}`, bodyOf(file)));
  routes
    .command('remove')
    .description('remove a route')
    .argument('<route>', 'id of the route')
    .action((id: string) => change(cli, 'DELETE', `/api/routes/${part(id)}`));
  routes
    .command('explain')
    .description('show which route answers a message, and why')
    .argument('<chat>', 'a phone number, a JID or a group id')
    .argument('<text>', 'text of the message')
    .option('--account <account>', 'id of the account')
    .action(async (channelId: string, text: string, { account }: { account?: string }) => {
      const body = { channelId, text, ...(account !== undefined && { accountId: account }) };
      const answer = await (await cli.api()).call('POST', '/api/routes/explain', { body });
      cli.show(answer, () => JSON.stringify((answer as { data: unknown }).data, null, 2));
    });
}

/** @throws {CliUsageError} the file cannot be read, or is not JSON */
function bodyOf(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch {
    throw new CliUsageError(`the file cannot be read: ${file}`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new CliUsageError(`the file is not JSON: ${file}`);
  }
}
