import { type Command, Option } from 'commander';
import type { Cli } from '../cli.ts';
import { relativeTime } from '../output/times.ts';
import { change, chatOf, paged, part, showList, showOne, textOf, type View } from './show-list.ts';

interface ListOptions {
  search?: string;
  account?: string;
  tag?: string;
  unanswered?: true;
  paused?: true;
  locked?: true;
  failed?: true;
  access?: string;
}

/** `wa2ai chats`: chats with people and groups. */
export function addChats(parent: Command, cli: Cli): void {
  const chats = parent.command('chats').description('list, pause, resume, approve and tag chats');
  const one = (name: string, description: string) =>
    chats.command(name).description(description).argument('<chat>', 'id of the chat, +number or JID');
  paged(chats.command('list'))
    .description('list chats, the last active one first')
    .option('--search <text>', 'only chats with this text in a name, a number or a tag')
    .option('--account <account>', 'only this account')
    .option('--tag <tag>', 'only chats with this tag')
    .option('--unanswered', 'only chats with messages whose turn has not ended')
    .option('--paused', 'only chats that are paused')
    .option('--locked', 'only chats that the owner has locked on the phone')
    .option('--failed', 'only chats with open dead letters')
    .addOption(
      new Option('--access <access>', 'only strangers in this state').choices([
        'pending',
        'approved',
        'refused',
      ]),
    )
    .action(({ search, account, tag, unanswered, paused, locked, failed, access }: ListOptions) =>
      showList(
        cli,
        '/api/chats',
        { text: search, accountId: account, tag, unanswered, paused, locked, failed, access },
        {
          ID: ({ id }) => textOf(id),
          CHAT: (chat) => chatOf(chat),
          NAME: ({ name }) => textOf(name),
          ACTIVE: ({ activeAt }) => relativeTime(String(activeAt), cli.host.now()),
          UNANSWERED: ({ unanswered }) => textOf(unanswered),
          STATE: (chat) => stateOf(chat),
        },
      ),
    );
  one('show', 'show a chat').action((id: string) => showOne(cli, `/api/chats/${part(id)}`));
  one('pause', 'store messages of a chat without answering them')
    .option('--minutes <number>', 'resume after this time')
    .option('--reason <text>', 'why, for other operators')
    .addOption(
      new Option('--mode <mode>', 'listen-only, or approve: each answer waits for the owner').choices([
        'listen-only',
        'approve',
      ]),
    )
    .action((id: string, { minutes, reason, mode }: { minutes?: string; reason?: string; mode?: string }) =>
      change(cli, 'POST', `/api/chats/${part(id)}/pause`, {
        ...(minutes !== undefined && { minutes: Number(minutes) }),
        ...(reason !== undefined && { reason }),
        ...(mode !== undefined && { mode }),
      }),
    );
  one('resume', 'answer messages of a chat again')
    .option('--answer-missed', 'answer also the messages that got no answer because of the pause')
    .action((id: string, { answerMissed }: { answerMissed?: true }) =>
      change(cli, 'POST', `/api/chats/${part(id)}/resume`, answerMissed ? { answerMissed } : {}),
    );
  one('approve', 'allow a stranger to get answers').action((id: string) =>
    change(cli, 'POST', `/api/chats/${part(id)}/approve`),
  );
  one('refuse', 'give a stranger no answers').action((id: string) =>
    change(cli, 'POST', `/api/chats/${part(id)}/refuse`),
  );
  one('tag', 'set the tags of a chat; without tags it has none')
    .argument('[tags...]', 'all tags of the chat')
    .action((id: string, tags: readonly string[]) =>
      change(cli, 'PUT', `/api/chats/${part(id)}/tags`, { tags }),
    );
  one('export', 'print a chat as JSON lines').action(async (id: string) => {
    cli.host.write(await (await cli.api()).text('GET', `/api/chats/${part(id)}/export`));
  });
}

function stateOf({ pause, failed, isLocked }: View): string {
  if (pause !== undefined) return 'paused';
  if (isLocked !== undefined && Number(failed) === 0) return 'locked';
  return Number(failed) > 0 ? `${failed} failed` : '';
}
