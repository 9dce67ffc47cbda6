import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliUsageError, EXIT } from '../exit-code.ts';
import { fields } from '../output/table.ts';
import { bodyOfFile } from './route-file.ts';
import { type Explanation, explanationText } from './route-text.ts';
import { addRouteVersions } from './route-versions.ts';
import { asking, change, findNamed, part, showList, showOne, textOf } from './show-list.ts';

const ROUTE = 'its name, its id, or the start of its id';

/** What the probe of a route found, as the API shows it. */
interface Probe {
  kind?: string;
  isProbed: boolean;
  findings: ReadonlyArray<{ code: string; message: string }>;
  about?: { version?: string; capabilities: readonly string[] };
  milliseconds: number;
}

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
    .argument('<route>', ROUTE)
    .action(async (route: string) => showOne(cli, await pathOf(route)));
  routes
    .command('add')
    .description('add a route from a file with JSON or YAML, or - for standard input')
    .argument('<file>', 'the body of POST /api/routes')
    .action(async (file: string) => change(cli, 'POST', '/api/routes', await bodyOfFile(file)));
  routes
    .command('edit')
    .description('change fields of a route from a file with JSON or YAML, or - for standard input')
    .argument('<route>', ROUTE)
    .argument('<file>', 'the body of PATCH /api/routes/ID')
    .action(async (route: string, file: string) => {
      const body = await bodyOfFile(file);
      await change(cli, 'PATCH', await pathOf(route), body);
    });
  asking(routes.command('remove'))
    .description('remove a route')
    .argument('<route>', ROUTE)
    .action(async (route: string) => {
      const { id, name } = await findNamed(cli, '/api/routes', route);
      const path = `/api/routes/${part(id)}`;
      const { etag } = await (await cli.api()).answer('GET', path, { accept: [404] });
      await cli.confirm(`Route "${name}" (${id}) will be deleted; wa2ai routes rollback restores it.`);
      await change(cli, 'DELETE', path, undefined, etag);
    });
  routes
    .command('test')
    .description('probe the agent of a route, or with --file of a route that is not stored')
    .argument('[route]', ROUTE)
    .option('--file <file>', 'the body of POST /api/routes, or - for standard input')
    .action(async (route: string | undefined, { file }: { file?: string }) => {
      if ((route === undefined) === (file === undefined)) throw new CliUsageError('name a route, or --file');
      const path = route === undefined ? '/api/routes/test' : `${await pathOf(route)}/test`;
      const request = file === undefined ? {} : { body: await bodyOfFile(file) };
      const answer = await (await cli.api()).call<{ data: Probe }>('POST', path, request);
      cli.show(answer, () => probeText(answer.data));
      if (answer.data.findings.length > 0) cli.exitCode = EXIT.failed;
    });
  routes
    .command('explain')
    .description('show which route answers a message, and why')
    .argument('<chat>', 'a phone number, a JID or a group id')
    .argument('<text>', 'text of the message')
    .option('--account <account>', 'id of the account')
    .action(async (channelId: string, text: string, { account }: { account?: string }) => {
      const body = { channelId, text, ...(account !== undefined && { accountId: account }) };
      const api = await cli.api();
      const answer = await api.call<{ data: Explanation }>('POST', '/api/routes/explain', { body });
      cli.show(answer, () => explanationText(answer.data));
    });
  addRouteVersions(routes, cli);

  async function pathOf(route: string): Promise<string> {
    return `/api/routes/${part((await findNamed(cli, '/api/routes', route)).id)}`;
  }
}

function probeText({ kind, isProbed, findings, about, milliseconds }: Probe): string {
  const result = findings.length > 0 ? 'failed' : isProbed ? 'the agent answers' : 'cannot be probed';
  return [
    fields([
      ['kind', kind ?? 'unknown: its config cannot be used'],
      ['probe', `${result}, ${milliseconds} ms`],
      ['version', textOf(about?.version)],
      ['capabilities', textOf(about?.capabilities.join(', '))],
    ]),
    ...findings.map(({ code, message }) => `${code}: ${textOf(message)}`),
  ].join('\n');
}
