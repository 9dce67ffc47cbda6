import type { Command } from 'commander';
import type { z } from 'zod';
import type { keyView } from '../../features/access/keys-api.ts';
import type { auditEntryView } from '../../features/audit/feature.ts';
import type { AuditCheckpoint, VerifyReport } from '../../features/audit/verify-audit.ts';
import type { agentView } from '../../features/hosting/feature.ts';
import type { deadLetterView } from '../../infra/operations/log-schemas.ts';
import type { Cli } from '../cli.ts';
import { CliError, CliUsageError, EXIT } from '../exit-code.ts';
import { absoluteTime, oneLine, relativeTime, shortTime, table, visible } from '../output/table.ts';
import type { Api, Query } from '../service/api.ts';
import type { StreamEvent } from '../service/follow-events.ts';

/** Longest id that a list shows whole in a terminal, and shortest start of a longer one. */
const LONG_ID = 20;
const SHORT_ID = 8;

/** As many chats with a name as a person would look through. */
const MAX_NAMED = 50;

/** A thing as the API shows it. */
export type View = Readonly<Record<string, unknown>>;

interface Page<Item = View> {
  data: readonly Item[];
  next?: string | null;
}

/**
 * Prints a list of the API as a table, or as it is with `--json`. `Entry` is the view of its entries, as the operation describes
 * them: a column of a field that they do not have is an error of types.
 * @param columns heading and value of each column; one that is empty in all rows is left out
 * @param prepare reads what columns need besides the entries
 */
export async function showList<Entry extends z.ZodType>(
  cli: Cli,
  path: string,
  query: Query,
  columns: Readonly<Record<string, (entry: z.output<Entry>) => string | undefined>>,
  prepare?: (entries: ReadonlyArray<z.output<Entry>>) => Promise<void>,
): Promise<void> {
  const api = await cli.api();
  const page = await api.call<Page<z.output<Entry>>>('GET', path, { query: { ...query, ...cli.page } });
  if (!cli.isJson) await prepare?.(page.data);
  cli.show(page, () => {
    if (page.data.length === 0) return 'There are none.';
    const all = page.data.map((item) => Object.values(columns).map((value) => value(item) ?? ''));
    const isFilled = (_: unknown, column: number) => all.some((row) => row[column] !== '');
    const rows = all.map((row) => row.filter(isFilled));
    if (cli.host.columns !== undefined) shortenIds(rows);
    const shown = table(Object.keys(columns).filter(isFilled), rows, cli.host.columns);
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
    const names = found.map(({ id, name }) => (name === id ? id : `${id} (${name})`));
    throw new CliError(`Several are named "${oneLine(text)}". Use an id: ${names.join(', ')}.`);
  }
  return first ?? { id: text, name: oneLine(text) };
}

/**
 * The id or the address of the chat that a person names by one of both, or by the name of the person or the group, or a part of it.
 * @throws {CliError} no chat or several have this name
 */
export async function findChat(cli: Cli, text: string): Promise<string> {
  if (isAddress(text)) return text;
  const { named, others } = await chatsWith(cli, text);
  return String(onlyChat(named.length > 0 ? named : others, text, 'id').id);
}

/** Where a chat is, as calls name it. */
export interface ChatAddress {
  channelId: string;
  accountId?: string;
}

/**
 * The chat that a person names by its address, or by the whole name of the person or the group. A part of a name is not enough:
 * what is meant for Ana must not reach Anabel.
 * @param accountId of the chat, if the person names it
 * @throws {CliError} no chat or several have this name
 */
export async function findAddress(cli: Cli, text: string, accountId?: string): Promise<ChatAddress> {
  if (isAddress(text) || text === '*') {
    return { channelId: text, ...(accountId !== undefined && { accountId }) };
  }
  const { named } = await chatsWith(cli, text, accountId);
  const chat = onlyChat(named, text, 'channelId');
  return { channelId: String(chat.channelId), accountId: String(chat.accountId) };
}

/** Whether commands read the text as an id or an address, and not as a name. */
export function isAddress(text: string): boolean {
  return /^\+?[\d\s()-]+$/.test(text) || text.includes('@');
}

/** Chats that have this name, and some of the others with the text in their name, number or tags. */
async function chatsWith(
  cli: Cli,
  text: string,
  accountId?: string,
): Promise<{ named: View[]; others: View[] }> {
  const api = await cli.api();
  const [named, others]: [View[], View[]] = [[], []];
  let cursor: string | null | undefined;
  do {
    // A page may be empty although there are further ones.
    const query = { text, accountId, limit: 500, cursor: cursor ?? undefined };
    const page: Page = await api.call('GET', '/api/chats', { query });
    for (const chat of page.data) {
      if (String(chat.name).toLowerCase() === text.toLowerCase()) named.push(chat);
      else if (others.length < MAX_NAMED) others.push(chat);
    }
    cursor = page.next;
  } while (cursor);
  return { named, others };
}

/** @param by the field by which the person may name one of several */
function onlyChat(found: readonly View[], text: string, by: 'id' | 'channelId'): View {
  const [first, ...others] = found;
  if (!first) throw new CliError(`No chat has the name "${oneLine(text)}". wa2ai chats list shows all.`);
  if (others.length === 0) return first;
  const names = found
    .slice(0, MAX_NAMED)
    .map((chat) => `${textOf(chat[by])} (${textOf(chat.name) ?? chatOf(chat)})`);
  const what = by === 'id' ? 'id' : 'address';
  throw new CliError(`Several chats are named "${oneLine(text)}". Use an ${what}: ${names.join(', ')}.`);
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

/** Prints one thing of the API, a line for each field. */
export async function showOne(cli: Cli, path: string, query: Query = {}): Promise<void> {
  const answer = await (await cli.api()).call<{ data: unknown }>('GET', path, { query });
  cli.show(answer, () => linesOf(answer.data).join('\n'));
}

/** A value as lines of `name: value`, as YAML has them; what is inside another value is indented. */
export function linesOf(value: unknown): string[] {
  return Object.entries(value ?? {}).flatMap(([key, inner]) => {
    const name = Array.isArray(value) ? '-' : `${oneLine(key)}:`;
    const isEmpty = typeof inner === 'object' && Object.keys(inner ?? {}).length === 0;
    if (typeof inner !== 'object' || isEmpty) return [`${name} ${isEmpty ? 'none' : oneLine(String(inner))}`];
    return [name, ...linesOf(inner).map((line) => `  ${line}`)];
  });
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
  const { body: answer, coveredBy } = await api.answer<Changed | undefined>(method, path, {
    ...(body !== undefined && { body }),
    ...(ifMatch !== undefined && { headers: { 'if-match': ifMatch } }),
  });
  cli.show(answer ?? { success: true }, () => changedText(answer ?? {}, coveredBy));
}

/** The answer to a change. */
export interface Changed {
  message?: string;
  warnings?: ReadonlyArray<{ code: string; field?: string; message: string }>;
}

/**
 * The sentence of an answer, after a line for each warning.
 * @param coveredBy id of the route that takes each message of a stored one
 */
export function changedText({ message = 'Done.', warnings = [] }: Changed, coveredBy?: string): string {
  if (coveredBy !== undefined) {
    const covered = `The route gets no message: ${oneLine(coveredBy)} is checked before it and takes each of them.`;
    return changedText({ message, warnings: [...warnings, { code: 'COVERED', message: covered }] });
  }
  const lines = warnings.map(({ code, field, message: text }) =>
    [`Warning ${code}:`, textOf(field), textOf(text)].filter(Boolean).join(' '),
  );
  return [...lines, message].join('\n');
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

/** `wa2ai dead-letters`: messages and replies that were given up. */
export function addDeadLetters(parent: Command, cli: Cli): void {
  const letters = parent.command('dead-letters').description('list, replay and close what was given up');
  paged(letters.command('list'))
    .description('list messages and replies that were given up')
    .action(() =>
      showList<typeof deadLetterView>(
        cli,
        '/api/dead-letters',
        {},
        {
          ID: ({ id }) => textOf(id),
          FAILED: ({ failedAt }) => relativeTime(String(failedAt), cli.host.now()),
          CHAT: (letter) => chatOf(letter),
          NAME: ({ pushName }) => textOf(pushName),
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

/** `wa2ai audit`: the audit log. */
export function addAudit(parent: Command, cli: Cli): void {
  const audit = parent.command('audit').description('read and check the audit log');
  paged(audit.command('list'))
    .description('list calls to wa2ai, newest first')
    .action(() =>
      showList<typeof auditEntryView>(
        cli,
        '/api/audit',
        {},
        {
          SEQ: ({ seq }) => textOf(seq),
          TIME: ({ at }) => columnTime(cli, String(at)),
          CALLER: ({ caller, keyId }) => textOf(keyId ?? caller),
          ACTION: ({ action }) => textOf(action),
          OBJECT: ({ object }) => textOf(object),
          OUTCOME: ({ outcome }) => textOf(outcome),
        },
      ),
    );
  audit
    .command('verify')
    .description('check that no entry of the audit log was changed or removed')
    .argument('[address]', 'URL of the running wa2ai; the same as --url')
    .option(
      '--earlier <seq:hash>',
      'the end of the log at an earlier check, which the log must still contain',
    )
    .action(async (address: string | undefined, { earlier }: { earlier?: string }) => {
      const checkpoint = checkpointOf(earlier);
      const { verifyAudit } = await import('../../features/audit/verify-audit.ts');
      const api = await cli.api(address);
      const report = await verifyAudit({
        read: (path) => api.call('GET', path),
        ...(checkpoint && { earlier: checkpoint }),
      });
      if (!report.isIntact) cli.exitCode = EXIT.failed;
      cli.show(report, () => sentenceOf(report));
    });
}

function checkpointOf(text: string | undefined): AuditCheckpoint | undefined {
  if (text === undefined) return undefined;
  const [, seq, hash] = /^(\d{1,18}):([0-9a-f]{64})$/i.exec(text) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: BigInt(seq), hash: hash.toLowerCase() };
  throw new CliUsageError('--earlier must be SEQ:HASH, as an earlier check printed it');
}

function sentenceOf({ isIntact, problem, entries, head, anchorSeq }: VerifyReport): string {
  if (!isIntact) return `The audit log is not intact. ${problem}`;
  const removed = anchorSeq === '0' ? '' : ` Retention removed entries 1 to ${anchorSeq}.`;
  const count = `${entries} ${entries === 1 ? 'entry' : 'entries'}`;
  return `The audit log is intact: ${count}.${removed}\nEnd: ${head.seq}:${head.hash}`;
}

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
      showList<typeof keyView>(
        cli,
        '/api/keys',
        {},
        {
          ID: ({ id }) => textOf(id),
          NAME: ({ name }) => textOf(name),
          SCOPES: ({ scopes }) => scopes.join(' '),
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
    .option('--chat <chat...>', 'only these chats: phone numbers, JIDs, group ids or names')
    .option('--route <route...>', 'only these routes, by name or id')
    .option('--account <account...>', 'only these accounts')
    .option('--expires <time>', 'refuse the key from this time on, such as 2027-01-31T12:00:00Z')
    .action(async (name: string, scopes: readonly string[], only: NewKeyOptions) => {
      const { account: accounts, expires: expiresAt } = only;
      const [chats, routes] = await Promise.all([
        only.chat && Promise.all(only.chat.map(async (chat) => (await findAddress(cli, chat)).channelId)),
        only.route &&
          Promise.all(only.route.map(async (route) => (await findNamed(cli, '/api/routes', route)).id)),
      ]);
      const body = { name, scopes, chats, routes, accounts, expiresAt };
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
function restrictionsOf(key: z.output<typeof keyView>): string {
  return (['accounts', 'chats', 'routes'] as const)
    .flatMap((each) => (key[each] ?? []).map((id) => `${each.slice(0, -1)} ${id}`))
    .join(', ');
}

/** Messages with which `--follow` begins. */
const BEFORE = 10;

interface MessagesOptions {
  account?: string;
  chat?: string;
  direction: string;
  text?: string;
  state?: string;
  follow?: boolean;
}

/** `wa2ai messages`: messages received and sent, newest first, or as they happen. */
export function addMessages(parent: Command, cli: Cli): void {
  paged(parent.command('messages'))
    .description('list messages received and sent, newest first, or follow them')
    .option('--account <account>', 'only this account')
    .option('--chat <chat>', 'only this chat: a phone number, a JID, a group id or a name')
    .option('--direction <direction>', 'incoming, outgoing or all', 'all')
    .option('--text <text>', 'only messages that contain this text')
    .option('--state <state>', 'only messages in this state, such as dead')
    .option('-f, --follow', `show the last ${BEFORE} messages (or --limit), then each new one, until Ctrl-C`)
    .action(async (options: MessagesOptions) => {
      if (options.follow) return followMessages(cli, options);
      const { direction, text, state } = options;
      const filter = { ...(await chatOption(cli, options)), direction, text, state };
      const names = new ChatNames(await cli.api());
      const load = (page: readonly View[]) => names.load(page);
      await showList<z.ZodType<View>>(
        cli,
        '/api/messages',
        filter,
        {
          ID: ({ id }) => textOf(id),
          TIME: (item) => columnTime(cli, storedAt(item)),
          CHAT: (item) => chatOf(item),
          NAME: (item) => names.of(item),
          STATE: ({ direction, state }) => `${direction === 'outgoing' ? '>' : '<'} ${state}`,
          TEXT: (item) => contentOf(item),
        },
        load,
      );
    });
}

/** The filter by the options `--chat` and `--account`. */
async function chatOption(cli: Cli, { chat, account }: MessagesOptions): Promise<Partial<ChatAddress>> {
  if (chat !== undefined) return findAddress(cli, chat, account);
  return account === undefined ? {} : { accountId: account };
}

/** Names of the chats of messages: who wrote is known with a message, and the chat is asked for once where nobody did. */
class ChatNames {
  readonly #api: Api;
  readonly #names = new Map<string, string | undefined>();

  constructor(api: Api) {
    this.#api = api;
  }

  /** Reads the names of the chats that these messages do not tell. */
  async load(messages: readonly View[]): Promise<void> {
    for (const { chatId, channelId, pushName, reason } of messages) {
      const isOfPerson = pushName !== undefined && !isGroup(channelId) && reason !== 'owner-message';
      if (isOfPerson) this.#names.set(String(chatId), textOf(pushName));
    }
    const unknown = messages.map(({ chatId }) => String(chatId)).filter((id) => !this.#names.has(id));
    await Promise.all([...new Set(unknown)].map((id) => this.#read(id)));
  }

  /** `Ana`; in a group `Family (Ana)`. */
  of({ chatId, channelId, pushName }: View): string | undefined {
    const name = this.#names.get(String(chatId));
    const writer = isGroup(channelId) ? textOf(pushName) : undefined;
    return name !== undefined && writer !== undefined ? `${name} (${writer})` : (name ?? writer);
  }

  /** A name is not worth a failure: the chat has its address. */
  async #read(id: string): Promise<void> {
    try {
      const { data } = await this.#api.call<{ data: View }>('GET', `/api/chats/${part(id)}`);
      this.#names.set(id, textOf(data.name));
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
    }
  }
}

function isGroup(channelId: unknown): boolean {
  return String(channelId).endsWith('@g.us');
}

async function followMessages(cli: Cli, options: MessagesOptions): Promise<void> {
  const { limit, cursor } = cli.page;
  const { account, direction, text, state } = options;
  if (cursor !== undefined || text !== undefined || state !== undefined || direction !== 'all') {
    throw new CliUsageError('--follow goes with --account, --chat and --limit only');
  }
  const before = limit === undefined ? BEFORE : Number(limit);
  if (!Number.isInteger(before) || before < 1 || before > 500) {
    throw new CliUsageError('--limit must be 1 to 500');
  }
  const { followEvents } = await import('../service/follow-events.ts');
  const api = await cli.api();
  const names = new ChatNames(api);
  const feed = new MessageFeed(api, {
    ...(await chatOption(cli, options)),
    before,
    show: async (message) => {
      if (!cli.isJson) await names.load([message]);
      cli.showLine(message, () => lineOf(cli, message, names.of(message)));
    },
  });
  await followEvents(api, '/api/events', {
    query: { types: 'message,reply', accountId: account },
    signal: cli.host.untilInterrupted(),
    sleep: cli.host.sleep,
    handle: (event) => feed.take(event),
    onBreak: (sentence) => cli.say(`wa2ai: ${sentence}`),
  });
}

/** `2026-01-31 12:00:00  5493777239922 Ana  < Where is my order?`; `<` came in, `>` goes out. */
function lineOf({ colours }: Cli, message: FeedMessage, name: string | undefined): string {
  const isSent = message.direction === 'outgoing';
  const arrow = colours.paint(isSent ? 'green' : 'bold', isSent ? '>' : '<');
  const time = colours.paint('dim', absoluteTime(storedAt(message)));
  const chat = [chatOf(message), name].filter(Boolean).join(' ');
  return `${time}  ${chat}  ${arrow} ${contentOf(message)}`;
}

function storedAt({ receivedAt, queuedAt }: View): string {
  return String(receivedAt ?? queuedAt);
}

/** A time in a table: short in a terminal, where it would be cut. */
function columnTime({ host }: Cli, time: string): string {
  return host.columns === undefined ? absoluteTime(time) : shortTime(time, host.now());
}

/** The text, after what the message has besides it: `[image] Our menu`. */
function contentOf({ kind, media, special, text }: View): string {
  const what = (media ?? special) as { kind?: string } | undefined;
  const label = what?.kind ?? (kind === 'text' ? undefined : textOf(kind));
  return [label && `[${label}]`, textOf(text)].filter(Boolean).join(' ');
}

/** `wa2ai agents`: agents that wa2ai runs. */
export function addAgents(parent: Command, cli: Cli): void {
  const agents = parent.command('agents').description('list, start and stop agents that wa2ai runs');
  const one = (name: string, description: string) =>
    agents.command(name).description(description).argument('<agent>', 'its id, or the start of it');
  agents
    .command('list')
    .description('list hosted agents with their states')
    .action(() =>
      showList<typeof agentView>(
        cli,
        '/api/agents',
        {},
        {
          AGENT: ({ id }) => textOf(id),
          STATUS: ({ status }) => textOf(status),
          ISOLATION: ({ isolation }) => (isolation === 'none' ? 'no isolation' : textOf(isolation)),
          NODE: ({ node }) => textOf(node),
          PROBLEM: ({ problem }) => textOf(problem),
        },
      ),
    );
  one('show', 'show a hosted agent').action(async (agent: string) => showOne(cli, await pathOf(agent)));
  one('start', 'start a hosted agent and wait until it answers').action(async (agent: string) =>
    change(cli, 'POST', `${await pathOf(agent)}/start`),
  );
  one('stop', 'stop a hosted agent').action(async (agent: string) =>
    change(cli, 'POST', `${await pathOf(agent)}/stop`),
  );
  one('logs', 'show the last lines that a hosted agent printed').action(async (agent: string) => {
    const path = `${await pathOf(agent)}/logs`;
    const answer = await (await cli.api()).call<{ data: ReadonlyArray<{ text: string }> }>('GET', path);
    cli.show(answer, () => answer.data.map(({ text }) => visible(text)).join('\n'));
  });

  async function pathOf(agent: string): Promise<string> {
    return `/api/agents/${part((await findNamed(cli, '/api/agents', agent)).id)}`;
  }
}

/** Messages that a feed remembers, so that none comes twice. */
const MAX_KNOWN = 50_000;
/** How far a feed looks back after a break: rows of other nodes may be stored a little later than their times say. */
const OVERLAP_MS = 60_000;
const PAGE = 200;

/** A message received or sent, as the API shows it. */
interface FeedMessage {
  id: string;
  accountId: string;
  chatId: string;
  channelId: string;
  direction: 'incoming' | 'outgoing';
  state: string;
  text: string;
  receivedAt?: string;
  queuedAt?: string;
  [field: string]: unknown;
}

interface MessageFeedOptions {
  accountId?: string | undefined;
  /** A phone number, a JID or a group id. */
  channelId?: string | undefined;
  /** Messages from before the feed with which it begins, at least 1. */
  before: number;
  show(message: FeedMessage): Promise<void>;
}

interface FeedPage {
  data: readonly FeedMessage[];
  next?: string | null;
}

/**
 * Messages received and sent as they are stored, each once. Live events say what is new. When the stream begins again, or events
 * were lost, the list of messages has what is missing.
 */
class MessageFeed {
  readonly #api: Api;
  readonly #options: MessageFeedOptions;
  /** Ids of what was shown, the oldest first. */
  readonly #known = new Set<string>();
  /** Messages with a smaller id are from before the feed. */
  #floor = 0n;
  /** When the newest message was stored; undefined: the feed has not begun. */
  #newestMs: number | undefined;

  constructor(api: Api, options: MessageFeedOptions) {
    this.#api = api;
    this.#options = options;
  }

  /** Takes an event of the stream `/api/events`. @throws {CliError} the service does not answer, or refuses the caller */
  async take(event: StreamEvent): Promise<void> {
    const data = event.data as { at: string; id?: string };
    if (event.name === 'ready' || event.name === 'reset') {
      if (this.#newestMs === undefined) await this.#begin(Date.parse(data.at));
      else await this.#catchUp(this.#newestMs);
    } else if ((event.name === 'message' || event.name === 'reply') && data.id !== undefined) {
      if (!this.#known.has(data.id)) await this.#load(data.id);
    }
  }

  async #begin(nowMs: number): Promise<void> {
    const { before } = this.#options;
    const { data } = await this.#page({ limit: before });
    if (data.length === before) this.#floor = BigInt(data.at(-1)?.id ?? 0);
    this.#newestMs = nowMs;
    for (const message of [...data].reverse()) await this.#show(message);
  }

  /** Shows what was stored meanwhile. */
  async #catchUp(newestMs: number): Promise<void> {
    const since = new Date(newestMs - OVERLAP_MS).toISOString();
    const missed: FeedMessage[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#page({ limit: PAGE, since, cursor });
      const isNew = ({ id }: FeedMessage) => BigInt(id) >= this.#floor && !this.#known.has(id);
      missed.push(...page.data.filter(isNew));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    for (const message of missed.reverse()) await this.#show(message);
  }

  async #load(id: string): Promise<void> {
    // The list, and not the message by its id: it knows every spelling of the chat.
    const { data } = await this.#page({ limit: 1, cursor: String(BigInt(id) + 1n) });
    const [message] = data;
    if (message?.id === id) await this.#show(message);
  }

  #page(query: { limit: number; since?: string; cursor?: string | undefined }): Promise<FeedPage> {
    const { accountId, channelId } = this.#options;
    return this.#api.call('GET', '/api/messages', {
      query: { direction: 'all', accountId, channelId, ...query },
    });
  }

  async #show(message: FeedMessage): Promise<void> {
    // A draft is not a message before the owner approves it.
    if (message.state === 'draft' || this.#known.has(message.id)) return;
    this.#known.add(message.id);
    const [oldest] = this.#known;
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    const storedMs = Date.parse(message.receivedAt ?? message.queuedAt ?? '');
    if (storedMs > (this.#newestMs ?? 0)) this.#newestMs = storedMs;
    await this.#options.show(message);
  }
}
