import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { table } from '../output/table.ts';
import { oneLine } from '../output/visible-text.ts';
import type { Query } from '../service/api.ts';

/** A thing as the API shows it. */
export type View = Readonly<Record<string, unknown>>;

interface Page {
  data: readonly View[];
  next?: string | null;
}

/**
 * Prints a list of the API as a table, or as it is with `--json`.
 * @param columns heading and value of each column
 */
export async function showList(
  cli: Cli,
  path: string,
  query: Query,
  columns: Readonly<Record<string, (item: View) => string | undefined>>,
): Promise<void> {
  const api = await cli.api();
  const page = await api.call<Page>('GET', path, { query: { ...query, ...cli.page } });
  cli.show(page, () => {
    if (page.data.length === 0) return 'There are none.';
    const rows = page.data.map((item) => Object.values(columns).map((value) => value(item) ?? ''));
    const shown = table(Object.keys(columns), rows, cli.host.columns);
    return page.next ? `${shown}\n\nThere are more: --cursor ${page.next}` : shown;
  });
}

/** Adds the options of a list that comes in pages. */
export function paged(command: Command): Command {
  return command
    .option('--limit <number>', 'entries of a page')
    .option('--cursor <cursor>', 'where the page starts, as the page before it says');
}

/** Prints one thing of the API. */
export async function showOne(cli: Cli, path: string, query: Query = {}): Promise<void> {
  const answer = await (await cli.api()).call<{ data: unknown }>('GET', path, { query });
  cli.show(answer, () => JSON.stringify(answer.data, null, 2));
}

/** Calls the API and prints the sentence of its answer. */
export async function change(cli: Cli, method: string, path: string, body?: unknown): Promise<void> {
  const api = await cli.api();
  const answer = await api.call<{ message?: string } | undefined>(
    method,
    path,
    body === undefined ? {} : { body },
  );
  cli.show(answer ?? { success: true }, () => answer?.message ?? 'Done.');
}

/** The text of a field, safe for one line; undefined when there is none. */
export function textOf(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : oneLine(String(value));
}

/** A part of a path. */
export function part(text: string): string {
  return encodeURIComponent(text);
}
