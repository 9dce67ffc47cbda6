import { readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { z } from 'zod';
import { coveringRoute } from '../../core/routing/covering-route.ts';
import type { versionView } from '../../features/routes/route-history-api.ts';
import type { routeView } from '../../features/routes/route-schemas.ts';
import { MAX_YAML_BYTES, parseYaml } from '../../infra/operations/form.ts';
import type { Cli } from '../cli.ts';
import { CliError, CliUsageError, EXIT } from '../exit-code.ts';
import { fields, oneLine, relativeTime } from '../output/table.ts';
import {
  asking,
  type Changed,
  change,
  changedText,
  findAddress,
  findNamed,
  linesOf,
  paged,
  part,
  showList,
  showOne,
  textOf,
  type View,
} from './lists.ts';

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
    .description('list routes in the order in which they are checked')
    .action(async () => {
      const kinds = await (await cli.api()).call<Kinds>('GET', '/api/agent-kinds');
      let inOrder: ReadonlyArray<z.output<typeof routeView>> = [];
      await showList<typeof routeView>(
        cli,
        '/api/routes',
        { order: 'checked' },
        {
          ID: ({ id }) => textOf(id),
          NAME: ({ name }) => textOf(name),
          ACCOUNT: ({ accountId }) =>
            inOrder.some((other) => other.accountId !== accountId) ? textOf(accountId) : undefined,
          CHAT: ({ channelId }) => textOf(channelId),
          WHEN: (route) => conditionsOf(route),
          KIND: (route) => kindOf(route, kinds),
          AGENT: ({ agentEndpoint }) => textOf(agentEndpoint),
          STATE: (route) => {
            const covering = coveringRoute(route, inOrder);
            if (!route.enabled) return 'off';
            return covering && `covered by ${textOf(covering.name ?? covering.id)}`;
          },
        },
        async (all) => {
          inOrder = all;
        },
      );
    });
  routes
    .command('show')
    .description('show a route with all its settings')
    .argument('<route>', ROUTE)
    .action(async (route: string) => showOne(cli, await pathOf(route)));
  routes
    .command('add')
    .description(
      'add a route to the agent at an address, or from a file with JSON or YAML, or - for standard input',
    )
    .argument('<address or file>', 'http://localhost:8000, or a file with the body of POST /api/routes')
    .option(
      '--chat <chat>',
      'of an address: a number, a JID, a group id or a name; default: * for every chat',
    )
    .option('--name <name>', 'of an address: name of the route')
    .option('--account <account>', 'of an address: only messages of this account')
    .action(async (from: string, options: NewRouteOptions) => {
      if (/^https?:\/\//i.test(from)) return addFound(cli, from, options);
      if (Object.keys(options).length > 0) {
        throw new CliUsageError('--chat, --name and --account go with an address; a file has these fields');
      }
      return change(cli, 'POST', '/api/routes', await bodyOfFile(from));
    });
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
    .argument('<chat>', 'a phone number, a JID, a group id or a name')
    .argument('<text>', 'text of the message')
    .option('--account <account>', 'id of the account')
    .action(async (chat: string, text: string, { account }: { account?: string }) => {
      const body = { ...(await findAddress(cli, chat, account)), text };
      const api = await cli.api();
      const answer = await api.call<{ data: Explanation }>('POST', '/api/routes/explain', { body });
      cli.show(answer, () => explanationText(answer.data));
    });
  addRouteVersions(routes, cli);

  async function pathOf(route: string): Promise<string> {
    return `/api/routes/${part((await findNamed(cli, '/api/routes', route)).id)}`;
  }
}

interface NewRouteOptions {
  chat?: string;
  name?: string;
  account?: string;
}

/** What answers at an address, as the API shows it. */
interface Found {
  kind: string;
  answer: string;
  latencyMs: number;
  version?: string;
  capabilities: readonly string[];
  route?: Record<string, unknown>;
}

/** Finds out what answers at an address, and adds a route to it. */
async function addFound(
  cli: Cli,
  agentEndpoint: string,
  { chat, name, account }: NewRouteOptions,
): Promise<void> {
  const api = await cli.api();
  const { data } = await api.call<{ data: Found }>('POST', '/api/routes/inspect', {
    body: { agentEndpoint },
  });
  if (!data.route) {
    throw new CliError(
      `The agent at ${agentEndpoint} speaks ${data.kind} (${oneLine(data.answer)}), and a route to it needs settings that it does not tell. Write them into a file: wa2ai agent inspect ${agentEndpoint} shows what is known.`,
    );
  }
  const body = {
    ...data.route,
    ...(account !== undefined && { accountId: account }),
    ...(chat !== undefined && (await findAddress(cli, chat, account))),
    ...(name !== undefined && { name }),
  };
  const { body: answer, coveredBy } = await api.answer<Changed & { data: View }>('POST', '/api/routes', {
    body,
  });
  cli.show(answer, () =>
    [
      fields([
        ['kind', data.kind],
        ['version', textOf(data.version)],
        ['capabilities', textOf(data.capabilities.join(', '))],
        ['chat', textOf(answer.data.channelId)],
        ['id', textOf(answer.data.id)],
      ]),
      changedText(answer, coveredBy),
    ].join('\n'),
  );
}

interface Kinds {
  data: { kinds: ReadonlyArray<{ name: string }> };
}

/** The agent kind of a route: the one whose settings its config has. */
function kindOf({ config, damage }: View, { data: { kinds } }: Kinds): string {
  if (damage !== undefined) return 'damaged';
  return kinds.find(({ name }) => name in (config as object))?.name ?? '';
}

/** What a route asks of a message, in short: `text /^order/, hours, days`. */
function conditionsOf({ regexFilter, config }: View): string {
  const { when = {} } = config as { when?: object };
  return [
    ...(regexFilter === undefined ? [] : [`text /${oneLine(String(regexFilter))}/`]),
    ...Object.keys(when).map(oneLine),
  ].join(', ');
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

interface ChangedTable extends Changed {
  data: { version: number; changes: readonly RouteChange[]; unchanged?: number };
}

/** The commands of `wa2ai routes` that concern the whole table: as a file, and its versions. */
function addRouteVersions(routes: Command, cli: Cli): void {
  routes
    .command('export')
    .description('write all routes to a file, or to standard output, as YAML or with --json as JSON')
    .argument('[file]', 'the file; default: standard output')
    .option('--account <account>', 'only routes of this account')
    .option('--environment <environment>', 'only routes of this environment, lab or prod')
    .action(async (file: string | undefined, { account, environment }: Record<string, string>) => {
      const query = { format: cli.isJson ? 'json' : 'yaml', accountId: account, environment };
      const text = await (await cli.api()).text('GET', '/api/routes/export', { query });
      if (file === undefined || file === '-') {
        cli.host.write(text.endsWith('\n') ? text : `${text}\n`);
        return;
      }
      writeOrThrow(file, text);
      cli.show({ success: true, file }, () => `Routes written to ${file}.`);
    });
  asking(routes.command('apply'))
    .description('make the routes as a file says, or with --dry-run say what would change')
    .argument('<file>', 'YAML or JSON as export writes it, or - for standard input')
    .option('--dry-run', 'change nothing')
    .option('--prune', 'delete routes that the file does not have')
    .action(async (file: string, { dryRun, prune }: { dryRun?: boolean; prune?: boolean }) => {
      const query = { ...(dryRun && { dryRun }), ...(prune && { prune }) };
      if (prune && !dryRun) await cli.confirm('Routes that the file does not have will be deleted.');
      const text = { type: 'application/yaml', content: textOfFile(file) };
      const answer = await (await cli.api()).call<ChangedTable>('POST', '/api/routes/apply', { query, text });
      show(cli, answer);
    });
  paged(routes.command('history'))
    .description('list the versions of the routes, or show what one changed')
    .argument('[version]', 'number of a version')
    .action(async (version: string | undefined) => {
      if (version !== undefined) {
        const api = await cli.api();
        const answer = await api.call<ChangedTable>('GET', `/api/routes/history/${part(version)}`);
        cli.show(answer, () => changesText(answer.data.changes));
        return;
      }
      await showList<typeof versionView>(
        cli,
        '/api/routes/history',
        {},
        {
          VERSION: ({ version: number }) => textOf(number),
          MADE: ({ at }) => relativeTime(String(at), cli.host.now()),
          ACTION: ({ action, restored }) =>
            restored === undefined ? textOf(action) : `${textOf(action)} to ${textOf(restored)}`,
          CALLER: ({ caller }) => textOf(caller),
          CHANGES: ({ created, changed, deleted }) =>
            `+${textOf(created)} ~${textOf(changed)} -${textOf(deleted)}`,
        },
      );
    });
  asking(routes.command('rollback'))
    .description('restore the routes of a version, or with --dry-run say what would change')
    .argument('<version>', 'number of the version; 0: before the first one')
    .option('--dry-run', 'change nothing')
    .action(async (version: string, { dryRun }: { dryRun?: boolean }) => {
      if (!/^\d{1,9}$/.test(version)) throw new CliUsageError('the version must be a number');
      if (!dryRun)
        await cli.confirm(
          `Routes added after version ${version} will be deleted, and changed ones replaced.`,
        );
      const answer = await (await cli.api()).call<ChangedTable>('POST', '/api/routes/rollback', {
        query: dryRun ? { dryRun } : {},
        body: { version: Number(version) },
      });
      show(cli, answer);
    });
}

function show(cli: Cli, answer: ChangedTable): void {
  const { changes, version } = answer.data;
  cli.show(answer, () => [changesText(changes), `${changedText(answer)} Version ${version}.`].join('\n'));
}

/** @throws {CliError} the file cannot be written */
function writeOrThrow(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError(`Cannot write ${file}: ${why}.`, undefined, { cause: error });
  }
}

/** A change of a route as the API shows it. */
interface RouteChange {
  change: 'created' | 'changed' | 'deleted';
  routeId?: string;
  name?: string;
  channelId: string;
  fields: ReadonlyArray<{ field: string; before?: unknown; after?: unknown }>;
}

const MARKS = { created: '+', changed: '~', deleted: '-' } as const;

/** Changes of routes, a line for each route and one for each field; of a deleted route, no fields. */
function changesText(changes: readonly RouteChange[]): string {
  if (changes.length === 0) return 'Nothing changes.';
  return changes
    .flatMap(({ change, routeId, name, channelId, fields }) => [
      `${MARKS[change]} ${change} ${textOf(name ?? routeId ?? 'route')} (${textOf(channelId)})`,
      ...(change === 'deleted' ? [] : fields.map((field) => `    ${fieldText(field)}`)),
    ])
    .join('\n');
}

function fieldText({ field, before, after }: RouteChange['fields'][number]): string {
  const name = textOf(field);
  if (before === undefined) return `${name}: ${valueText(after)}`;
  return `${name}: ${valueText(before)} -> ${after === undefined ? '(removed)' : valueText(after)}`;
}

function valueText(value: unknown): string {
  return textOf(typeof value === 'string' ? value : JSON.stringify(value)) ?? '';
}

/** An explanation as the API shows it. */
interface Explanation {
  decision: 'route' | 'none';
  outcome: 'answer' | 'no-answer';
  sentence: string;
  trace: ReadonlyArray<{
    routeId: string;
    name?: string;
    priority: number;
    outcome: string;
    sentence: string;
    conditions?: ReadonlyArray<{ condition: string; holds: boolean; sentence: string }>;
  }>;
  policies?: ReadonlyArray<{ policy: string; outcome: string; reason?: string; sentence: string }>;
  call?: View;
}

/** An explanation for people: the decision, then rule by rule, then policy by policy. */
function explanationText({ decision, outcome, sentence, trace, policies = [], call }: Explanation): string {
  const rules = trace.flatMap(({ routeId, name, priority, outcome, sentence: why, conditions = [] }) => [
    `${outcome === 'chosen' ? '*' : ' '} ${textOf(name ?? routeId)} (priority ${priority}): ${textOf(why)}`,
    ...conditions.map(
      ({ condition, holds, sentence: fact }) =>
        `      ${holds ? 'yes' : 'no '} ${condition}: ${textOf(fact)}`,
    ),
  ]);
  const decided = policies
    .filter(({ outcome }) => outcome !== 'not-reached')
    .map(({ policy, outcome, reason, sentence: why }) => {
      const end = outcome === 'ends' ? ` [ends${reason ? `: ${reason}` : ''}]` : '';
      return `  ${policy}: ${textOf(why)}${end}`;
    });
  return [
    `${decision === 'route' && outcome === 'no-answer' ? 'No answer: ' : ''}${textOf(sentence)}`,
    ...(rules.length > 0 ? ['', 'Rules, in the order in which they are checked:', ...rules] : []),
    ...(decided.length > 0 ? ['', 'Policies:', ...decided] : []),
    ...(call ? ['', 'Request to the agent:', ...linesOf(call).map((line) => `  ${line}`)] : []),
  ].join('\n');
}

/**
 * The text of a file.
 * @param file its path, or - for standard input
 * @throws {CliUsageError} it cannot be read
 */
export function textOfFile(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch {
    throw new CliUsageError(`the file cannot be read: ${file}`);
  }
}

/**
 * The body of a call, from a file with JSON, or with YAML that the API would read too.
 * @throws {CliUsageError} it cannot be read, or is neither
 */
async function bodyOfFile(file: string): Promise<unknown> {
  const text = textOfFile(file);
  try {
    return JSON.parse(text);
  } catch {
    const parsed = await parseYaml(text, MAX_YAML_BYTES);
    if ('value' in parsed) return parsed.value;
    throw new CliUsageError(`the file is neither JSON nor YAML: ${file}: ${parsed.message}`);
  }
}
