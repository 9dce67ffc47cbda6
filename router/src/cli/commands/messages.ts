import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliUsageError } from '../exit-code.ts';
import { absoluteTime } from '../output/times.ts';
import type { FeedMessage } from '../service/message-feed.ts';
import { chatOf, paged, showList, textOf, type View } from './show-list.ts';

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
    .option('--chat <chat>', 'only this chat: a phone number, a JID or a group id')
    .option('--direction <direction>', 'incoming, outgoing or all', 'all')
    .option('--text <text>', 'only messages that contain this text')
    .option('--state <state>', 'only messages in this state, such as dead')
    .option('-f, --follow', `show the last ${BEFORE} messages (or --limit), then each new one, until Ctrl-C`)
    .action(async (options: MessagesOptions) => {
      if (options.follow) return followMessages(cli, options);
      const { account, chat, direction, text, state } = options;
      const filter = { accountId: account, channelId: chat, direction, text, state };
      await showList(cli, '/api/messages', filter, {
        ID: ({ id }) => textOf(id),
        TIME: (item) => timeOf(item),
        CHAT: (item) => chatOf(item),
        STATE: ({ direction, state }) => `${direction === 'outgoing' ? 'sent' : 'received'}: ${state}`,
        TEXT: (item) => contentOf(item),
      });
    });
}

async function followMessages(cli: Cli, options: MessagesOptions): Promise<void> {
  const { limit, cursor } = cli.page;
  const { account, chat, direction, text, state } = options;
  if (cursor !== undefined || text !== undefined || state !== undefined || direction !== 'all') {
    throw new CliUsageError('--follow goes with --account, --chat and --limit only');
  }
  const before = limit === undefined ? BEFORE : Number(limit);
  if (!Number.isInteger(before) || before < 1 || before > 500) {
    throw new CliUsageError('--limit must be 1 to 500');
  }
  const [{ MessageFeed }, { followEvents }] = await Promise.all([
    import('../service/message-feed.ts'),
    import('../service/follow-events.ts'),
  ]);
  const api = await cli.api();
  const feed = new MessageFeed(api, {
    accountId: account,
    channelId: chat,
    before,
    show: (message) => cli.showLine(message, () => lineOf(cli, message)),
  });
  await followEvents(api, '/api/events', {
    query: { types: 'message,reply', accountId: account },
    signal: cli.host.untilInterrupted(),
    handle: (event) => feed.take(event),
    onBreak: (sentence) => cli.say(`wa2ai: ${sentence}`),
  });
}

/** `2026-01-31 12:00:00  5493777239922  < Where is my order?`; `<` came in, `>` goes out. */
function lineOf({ colours }: Cli, message: FeedMessage): string {
  const isSent = message.direction === 'outgoing';
  const arrow = colours.paint(isSent ? 'green' : 'bold', isSent ? '>' : '<');
  const time = colours.paint('dim', timeOf(message) ?? '');
  return `${time}  ${chatOf(message)}  ${arrow} ${contentOf(message)}`;
}

function timeOf({ receivedAt, queuedAt }: View): string | undefined {
  const time = receivedAt ?? queuedAt;
  return typeof time === 'string' ? absoluteTime(time) : undefined;
}

/** The text, after what the message has besides it: `[image] Our menu`. */
function contentOf({ kind, media, special, text }: View): string {
  const what = (media ?? special) as { kind?: string } | undefined;
  const label = what?.kind ?? (kind === 'text' ? undefined : textOf(kind));
  return [label && `[${label}]`, textOf(text)].filter(Boolean).join(' ');
}
