import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliError } from '../exit-code.ts';
import { table } from '../output/table.ts';
import { oneLine } from '../output/visible-text.ts';
import type { Query } from '../service/api.ts';

/** Longest id that a list shows whole in a terminal, and shortest start of a longer one. */
const LONG_ID = 20;
const SHORT_ID = 8;

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
    if (cli.host.columns !== undefined) shortenIds(rows);
    const shown = table(Object.keys(columns), rows, cli.host.columns);
    return page.next ? `${shown}\n\nThere are more: --cursor ${page.next}` : shown;
  });
}

/** Makes long ids in the first column as short as they are still unique in the list: `findNamed` accepts them. */
function shortenIds(rows: string[][]): void {
  const ids = rows.map(([id = '']) => id);
  for (const row of rows) {
    const [id = ''] = row;
    if (id.length <= LONG_ID) continue;
    let length = SHORT_ID;
    while (ids.some((other) => other !== id && other.startsWith(id.slice(0, length)))) length += 1;
    row[0] = id.slice(0, length);
  }
}

/**
 * The thing of a list that a person names by its id, its name, or the start of its id. A text that names none of them is
 * returned as an id: the service knows further names, and says when there is no such thing.
 * @param path of the list
 * @throws {CliError} several things have this name
 */
export async function findNamed(cli: Cli, path: string, text: string): Promise<{ id: string; name: string }> {
  const { data } = await (await cli.api()).call<Page>('GET', path);
  const things = data.map(({ id, name }) => ({ id: String(id), name: textOf(name) ?? String(id) }));
  const exact = things.find(({ id }) => id === text);
  if (exact) return exact;
  const named = things.filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  const found = named.length > 0 || text.length < 4 ? named : things.filter(({ id }) => id.startsWith(text));
  const [first, ...others] = found;
  if (first && others.length > 0) {
    throw new CliError(
      `Several are named "${oneLine(text)}". Use an id: ${found.map(({ id }) => id).join(', ')}.`,
    );
  }
  return first ?? { id: text, name: oneLine(text) };
}

/** Adds `--yes` to a command that asks before it deletes or interrupts something. */
export function asking(command: Command): Command {
  return command.option('-y, --yes', 'do not ask; needed without a terminal');
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

/**
 * Calls the API and prints the sentence of its answer.
 * @param ifMatch `ETag` of what the person saw before this change
 */
export async function change(
  cli: Cli,
  method: string,
  path: string,
  body?: unknown,
  ifMatch?: string,
): Promise<void> {
  const api = await cli.api();
  const answer = await api.call<{ message?: string } | undefined>(method, path, {
    ...(body !== undefined && { body }),
    ...(ifMatch !== undefined && { headers: { 'if-match': ifMatch } }),
  });
  cli.show(answer ?? { success: true }, () => answer?.message ?? 'Done.');
}

/** The text of a field, safe for one line; undefined when there is none. */
export function textOf(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : oneLine(String(value));
}

/** The chat of a row: its address, or `@name` of a person without a number. Options that name a chat accept both. */
export function chatOf({ channelId, username }: View): string | undefined {
  const isWithoutNumber = String(channelId).endsWith('@lid');
  return textOf(username !== undefined && isWithoutNumber ? `@${String(username)}` : channelId);
}

/** A part of a path. */
export function part(text: string): string {
  return encodeURIComponent(text);
}
