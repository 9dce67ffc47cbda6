import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliError, CliUsageError } from '../exit-code.ts';
import { relativeTime } from '../output/times.ts';
import { textOfFile } from './route-file.ts';
import { changesText, type RouteChange } from './route-text.ts';
import { asking, paged, part, showList, textOf } from './show-list.ts';

interface Changed {
  message: string;
  data: { version: number; changes: readonly RouteChange[]; unchanged?: number };
  warnings?: ReadonlyArray<{ code: string; field?: string; message: string }>;
}

/** The commands of `wa2ai routes` that concern the whole table: as a file, and its versions. */
export function addRouteVersions(routes: Command, cli: Cli): void {
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
      const answer = await (await cli.api()).call<Changed>('POST', '/api/routes/apply', { query, text });
      show(cli, answer);
    });
  paged(routes.command('history'))
    .description('list the versions of the routes, or show what one changed')
    .argument('[version]', 'number of a version')
    .action(async (version: string | undefined) => {
      if (version !== undefined) {
        const api = await cli.api();
        const answer = await api.call<Changed>('GET', `/api/routes/history/${part(version)}`);
        cli.show(answer, () => changesText(answer.data.changes));
        return;
      }
      await showList(
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
      const answer = await (await cli.api()).call<Changed>('POST', '/api/routes/rollback', {
        query: dryRun ? { dryRun } : {},
        body: { version: Number(version) },
      });
      show(cli, answer);
    });
}

function show(cli: Cli, answer: Changed): void {
  const { message, data, warnings = [] } = answer;
  cli.show(answer, () =>
    [
      changesText(data.changes),
      ...warnings.map(
        ({ code, field, message: text }) => `Warning ${code}: ${textOf(field ?? '')} ${textOf(text)}`,
      ),
      `${message} Version ${data.version}.`,
    ].join('\n'),
  );
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
