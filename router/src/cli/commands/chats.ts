import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { type Command, Option } from 'commander';
import type { z } from 'zod';
import type { chatView } from '../../features/chats/chats-api.ts';
import type { Cli, CliHost } from '../cli.ts';
import { CliError, CliUsageError, EXIT } from '../exit-code.ts';
import { oneLine, relativeTime } from '../output/table.ts';
import type { Api, Query } from '../service/api.ts';
import {
  asking,
  change,
  chatOf,
  findAddress,
  findChat,
  findNamed,
  paged,
  part,
  showList,
  showOne,
  textOf,
} from './lists.ts';

interface ListOptions extends Query {
  search?: string;
  account?: string;
  tag?: string;
  unanswered?: true;
  paused?: true;
  locked?: true;
  failed?: true;
  access?: string;
  route?: string;
  needs?: true;
}

/** `wa2ai chats`: chats with people and groups. */
export function addChats(parent: Command, cli: Cli): void {
  const chats = parent.command('chats').description('list, pause, resume, approve and tag chats');
  const one = (name: string, description: string) =>
    chats.command(name).description(description).argument('<chat>', 'id of the chat, +number, JID or name');
  paged(chats.command('list'))
    .description('list chats, the last active one first')
    .option('--search <text>', 'only chats with this text in a name, a number or a tag')
    .option('--account <account>', 'only this account')
    .option('--tag <tag>', 'only chats with this tag')
    .option('--unanswered', 'only chats with messages whose turn has not ended')
    .option('--paused', 'only chats that are paused')
    .option('--locked', 'only chats that the owner has locked on the phone')
    .option('--failed', 'only chats with open dead letters')
    .option('--route <route>', 'only chats whose last message this route took: its name or id')
    .option('--needs', 'only chats that wait for an operator, with the reason')
    .addOption(
      new Option('--access <access>', 'only strangers in this state').choices([
        'pending',
        'approved',
        'refused',
      ]),
    )
    .action(async (options: ListOptions) => {
      const { search: text, account: accountId, route, needs: needsYou, ...filter } = options;
      const routeId = route === undefined ? undefined : (await findNamed(cli, '/api/routes', route)).id;
      await showList<typeof chatView>(
        cli,
        '/api/chats',
        { text, accountId, routeId, needsYou, ...filter },
        {
          ID: ({ id }) => textOf(id),
          CHAT: (chat) => chatOf(chat),
          NAME: ({ name }) => textOf(name),
          ACTIVE: ({ activeAt }) => relativeTime(String(activeAt), cli.host.now()),
          UNANSWERED: ({ unanswered }) => textOf(unanswered),
          STATE: (chat) => stateOf(chat),
          NEEDS: ({ needs = [] }) => needs.join(', '),
        },
      );
    });
  one('show', 'show a chat').action(async (chat: string) => showOne(cli, await pathOf(chat)));
  one('pause', 'store messages of a chat without answering them')
    .option('--minutes <number>', 'resume after this time')
    .option('--reason <text>', 'why, for other operators')
    .addOption(
      new Option('--mode <mode>', 'listen-only, or approve: each answer waits for the owner').choices([
        'listen-only',
        'approve',
      ]),
    )
    .action(async (chat: string, { minutes, ...how }: { minutes?: string; reason?: string; mode?: string }) =>
      change(cli, 'POST', `${await pathOf(chat)}/pause`, {
        ...(minutes !== undefined && { minutes: Number(minutes) }),
        ...how,
      }),
    );
  one('resume', 'answer messages of a chat again')
    .option('--answer-missed', 'answer also the messages that got no answer because of the pause')
    .action(async (chat: string, { answerMissed }: { answerMissed?: true }) =>
      change(cli, 'POST', `${await pathOf(chat)}/resume`, answerMissed ? { answerMissed } : {}),
    );
  one('approve', 'allow a stranger to get answers').action(async (chat: string) =>
    change(cli, 'POST', `${await pathOf(chat)}/approve`),
  );
  one('refuse', 'give a stranger no answers').action(async (chat: string) =>
    change(cli, 'POST', `${await pathOf(chat)}/refuse`),
  );
  one('tag', 'set the tags of a chat; without tags it has none')
    .argument('[tags...]', 'all tags of the chat')
    .action(async (chat: string, tags: readonly string[]) =>
      change(cli, 'PUT', `${await pathOf(chat)}/tags`, { tags }),
    );
  one('export', 'print a chat as JSON lines').action(async (chat: string) => {
    cli.host.write(await (await cli.api()).text('GET', `${await pathOf(chat)}/export`));
  });

  async function pathOf(chat: string): Promise<string> {
    return `/api/chats/${part(await findChat(cli, chat))}`;
  }
}

function stateOf({ pause, failed, isLocked }: z.output<typeof chatView>): string {
  if (pause !== undefined) return 'paused';
  if (isLocked !== undefined && failed === 0) return 'locked';
  return failed > 0 ? `${failed} failed` : '';
}

const KINDS = ['image', 'video', 'audio', 'voice', 'document', 'sticker'] as const;
type Kind = (typeof KINDS)[number];

/** As what a file is sent, by the end of its name. Any other is a document. */
const KIND_OF: Readonly<Record<string, Kind>> = {
  '.jpg': 'image',
  '.jpeg': 'image',
  '.png': 'image',
  '.mp4': 'video',
  '.3gp': 'video',
  '.mp3': 'audio',
  '.m4a': 'audio',
  '.aac': 'audio',
  '.amr': 'audio',
  '.ogg': 'voice',
  '.opus': 'voice',
};

/** States of a message sent, in their order. */
const SENT_STATES = ['sent', 'acked', 'delivered', 'read'] as const;
type SentState = (typeof SENT_STATES)[number];

/** Longest wait for a state. */
const WAIT_MS = 60_000;

interface SendOptions {
  account?: string;
  wait?: SentState;
  file?: string;
  as?: Kind;
  quote?: string;
  react?: string;
  edit?: string;
  delete?: string;
  poll?: readonly string[];
  selectable?: string;
  location?: string;
  mention?: readonly string[];
  byHand?: boolean;
  idempotencyKey?: string;
}

/** `wa2ai send`: a message to a chat. */
export function addSend(parent: Command, cli: Cli): void {
  asking(parent.command('send'))
    .description('send a text, a file, a reaction, a poll or a location to a chat')
    .argument('<chat>', 'a phone number, a JID, a group id, or the whole name')
    .argument('[text]', 'the text; the caption of a file, the emoji of --react, the question of --poll')
    .option('--account <account>', 'id of the account')
    .option('--file <file>', 'a file of at most 10 MB, or its http:// or https:// address')
    .addOption(new Option('--as <kind>', 'as what the file is sent; default: by its name').choices(KINDS))
    .option('--quote <message>', 'id of the message of the chat that it answers')
    .option('--react <message>', 'id of the message that gets the emoji; without an emoji it is removed')
    .option('--edit <message>', 'id of the message sent that the text replaces')
    .option('--delete <message>', 'id of the message sent that is deleted for everyone')
    .option('--poll <options...>', 'two to twelve options of a poll')
    .option('--selectable <number>', 'how many options may be chosen; 0: any number')
    .option('--location <latitude,longitude>', 'a place; the text is its name')
    .option('--mention <people...>', 'people who are notified; the text names each as @ and digits')
    .option('--by-hand', 'a person wrote it: the agent is silent for a while')
    .option('--idempotency-key <key>', 'a repeat with the same key sends nothing')
    .addOption(
      new Option('--wait [state]', 'wait until it is sent, acked, delivered or read, at most a minute')
        .choices(SENT_STATES)
        .preset('delivered'),
    )
    .action(async (chat: string, text: string | undefined, options: SendOptions) => {
      const { fields, file } = messageOf(text, options);
      if (options.delete !== undefined) {
        await cli.confirm(`Message ${oneLine(options.delete)} will be deleted for everyone in the chat.`);
      }
      const api = await cli.api();
      const body = { ...(await findAddress(cli, chat, options.account)), ...fields };
      const key = options.idempotencyKey;
      const answer = await api.call<Sent>('POST', '/api/messages', {
        ...(file ? { form: formOf(body, file) } : { body }),
        ...(key !== undefined && { headers: { 'idempotency-key': key } }),
      });
      const { id } = answer.data;
      if (options.wait === undefined) return cli.show(answer, () => `Message ${id} is queued.`);
      const last = await untilState(api, id, options.wait, cli.host).catch((error: unknown) => {
        // Who reads only that the call failed would send it again.
        if (!(error instanceof CliError)) throw error;
        const sentence = `Message ${id} is queued, and its state cannot be read. ${error.message}`;
        throw new CliError(sentence, error.exitCode, { cause: error });
      });
      const { state, error } = last.data;
      if (!hasReached(state, options.wait)) cli.exitCode = EXIT.failed;
      cli.show(last, () => `Message ${id} is ${state}.${error === undefined ? '' : ` ${oneLine(error)}`}`);
    });
}

interface Sent {
  data: { id: string; state: string; error?: string };
}

function hasReached(state: string, wanted: SentState): boolean {
  return SENT_STATES.indexOf(state as SentState) >= SENT_STATES.indexOf(wanted);
}

/** The message when it is in this state or a later one, or is dead, or after a minute. */
async function untilState(api: Api, id: string, wanted: SentState, host: CliHost): Promise<Sent> {
  const { followEvents } = await import('../service/follow-events.ts');
  const read = () => api.call<Sent>('GET', `/api/messages/${part(id)}`);
  const ended = new AbortController();
  const signal = AbortSignal.any([host.untilInterrupted(), ended.signal]);
  const limit = setTimeout(() => ended.abort(), WAIT_MS);
  let last: Sent | undefined;
  try {
    await followEvents(api, '/api/events', {
      query: { types: 'reply,delivery' },
      signal,
      sleep: host.sleep,
      // The first event, `ready`, comes before anything that the message misses.
      handle: async ({ name, data }) => {
        if (name !== 'ready' && name !== 'reset' && (data as { id?: string }).id !== id) return;
        last = await read();
        const { state } = last.data;
        if (state === 'dead' || hasReached(state, wanted)) ended.abort();
      },
      onBreak: () => undefined,
    });
  } finally {
    clearTimeout(limit);
  }
  return last ?? read();
}

/** A file of this machine. */
interface LocalFile {
  kind: Kind;
  name: string;
  bytes: Buffer;
}

/** What is sent, to any chat. @throws {CliUsageError} nothing is, or the options are wrong */
function messageOf(
  text: string | undefined,
  options: SendOptions,
): { fields: Record<string, unknown>; file?: LocalFile } {
  const { file, quote, mention, byHand } = options;
  const isLocal = file !== undefined && !/^https?:\/\//i.test(file);
  const fields = {
    ...(quote !== undefined && { quote }),
    ...(mention && { mentions: mention }),
    ...(byHand && { byHand: true }),
    ...contentOf(text, isLocal ? { ...options, file: undefined } : options, isLocal),
  };
  return isLocal ? { fields, file: localFile(file, options.as ?? kindOf(file)) } : { fields };
}

/** The fields that say what the message is. @throws {CliUsageError} none does, or one is wrong */
function contentOf(
  text: string | undefined,
  options: SendOptions,
  hasFile: boolean,
): Record<string, unknown> {
  const { file, as, react, edit, poll, selectable, location } = options;
  const caption = text === undefined ? {} : { text };
  if (as !== undefined && file === undefined && !hasFile) throw new CliUsageError('--as goes with --file');
  if (selectable !== undefined && !poll) throw new CliUsageError('--selectable goes with --poll');
  const contents: Array<Record<string, unknown>> = [];
  if (file !== undefined)
    contents.push({ [as ?? kindOf(new URL(file).pathname)]: { url: file }, ...caption });
  if (hasFile) contents.push(caption);
  if (react !== undefined) contents.push({ react: { to: react, emoji: text ?? '' } });
  if (edit !== undefined) contents.push({ edit, ...caption });
  if (options.delete !== undefined) contents.push({ delete: options.delete });
  if (poll) contents.push({ poll: pollOf(text, poll, selectable) });
  if (location !== undefined)
    contents.push({ location: { ...placeOf(location), ...(text && { name: text }) } });
  const [content, other] = contents;
  if (other) throw new CliUsageError('name one of --file, --react, --edit, --delete, --poll and --location');
  if (content) return content;
  if (text === undefined) throw new CliUsageError('the text is missing');
  return caption;
}

function pollOf(question: string | undefined, options: readonly string[], selectable: string | undefined) {
  if (question === undefined) throw new CliUsageError('the question of the poll is missing');
  return { question, options, ...(selectable !== undefined && { selectable: Number(selectable) }) };
}

function placeOf(text: string) {
  const [latitude, longitude, ...more] = text.split(',').map(Number);
  if (more.length > 0 || !Number.isFinite(latitude) || !Number.isFinite(longitude)) {
    throw new CliUsageError('--location must be LATITUDE,LONGITUDE, such as -27.47,-58.83');
  }
  return { latitude, longitude };
}

function kindOf(name: string): Kind {
  return KIND_OF[extname(name).toLowerCase()] ?? 'document';
}

function localFile(path: string, kind: Kind): LocalFile {
  try {
    return { kind, name: basename(path), bytes: readFileSync(path) };
  } catch {
    throw new CliUsageError(`the file cannot be read: ${path}`);
  }
}

function formOf(fields: Record<string, unknown>, { kind, name, bytes }: LocalFile): FormData {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) {
    for (const each of Array.isArray(value) ? value : [value]) form.append(field, String(each));
  }
  form.append(kind, new Blob([Uint8Array.from(bytes)]), name);
  return form;
}
