import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { absoluteTime } from '../output/times.ts';
import { change, paged, showList, textOf, type View } from './show-list.ts';

/** `wa2ai messages`: messages received and sent, newest first. */
export function addMessages(parent: Command, cli: Cli): void {
  paged(parent.command('messages'))
    .description('list messages received and sent, newest first')
    .option('--account <account>', 'only this account')
    .option('--chat <chat>', 'only this chat: a phone number, a JID or a group id')
    .action(({ account, chat }: { account?: string; chat?: string }) =>
      showList(
        cli,
        '/api/messages',
        { accountId: account, channelId: chat },
        {
          ID: ({ id }) => textOf(id),
          TIME: (item) => timeOf(item),
          CHAT: ({ channelId }) => textOf(channelId),
          STATE: ({ direction, state }) => `${direction === 'outgoing' ? 'sent' : 'received'}: ${state}`,
          TEXT: ({ text }) => textOf(text),
        },
      ),
    );
}

/** `wa2ai send`: a text to a chat. */
export function addSend(parent: Command, cli: Cli): void {
  parent
    .command('send')
    .description('send a text to a chat')
    .argument('<chat>', 'a phone number, a JID or a group id')
    .argument('<text>', 'the text')
    .option('--account <account>', 'id of the account')
    .action((to: string, text: string, { account }: { account?: string }) =>
      change(cli, 'POST', '/api/messages', {
        to,
        text,
        ...(account !== undefined && { accountId: account }),
      }),
    );
}

function timeOf({ receivedAt, queuedAt }: View): string | undefined {
  const time = receivedAt ?? queuedAt;
  return typeof time === 'string' ? absoluteTime(time) : undefined;
}
