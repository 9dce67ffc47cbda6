import {
  type AliasesOf,
  allowedAccounts,
  allowedChats,
  allowedRoutes,
  type Caller,
  mayUseAccount,
  mayUseChat,
  type NamedChat,
} from '../../core/access/caller.ts';
import { type Said, say } from '../../core/phrases.ts';
import { HttpProblem } from './problem.ts';

/** @throws {HttpProblem} 403: the caller's key is restricted to other accounts */
export function refuseOtherAccount(caller: Caller, accountId: string): void {
  if (mayUseAccount(caller, accountId)) return;
  throw new HttpProblem(403, 'ACCOUNT_NOT_ALLOWED', say('problem.account-not-allowed'));
}

/** @throws {HttpProblem} 403: the caller's key is restricted to other chats or accounts */
export async function refuseOtherChat(caller: Caller, chat: NamedChat, aliasesOf: AliasesOf): Promise<void> {
  refuseOtherAccount(caller, chat.accountId);
  if (!(await mayUseChat(caller, chat, aliasesOf))) throw chatNotAllowed(say('problem.chat-not-allowed'));
}

/** What limits a list to the chats and accounts that its caller may use. Undefined: to none. */
export interface AllowedPart {
  chats: readonly string[] | undefined;
  accounts: readonly string[] | undefined;
}

/**
 * For a list of what belongs to chats, with the filter that the caller names.
 * @param defaultAccount the account by which the filter's chat is found
 * @throws {HttpProblem} 403: the filter names what the caller's key may not use
 */
export async function allowedPart(
  caller: Caller,
  filter: { accountId?: string | undefined; channelId?: string | undefined },
  { aliasesOf, defaultAccount }: { aliasesOf: AliasesOf; defaultAccount: string },
): Promise<AllowedPart> {
  const { accountId, channelId } = filter;
  const [chats, accounts] = [allowedChats(caller), allowedAccounts(caller)];
  if (accountId !== undefined) refuseOtherAccount(caller, accountId);
  if (channelId !== undefined) {
    await refuseOtherChat(
      caller,
      { accountId: accountId ?? accounts?.[0] ?? defaultAccount, channelId },
      aliasesOf,
    );
  }
  return { chats, accounts };
}

/**
 * For a change of everything that a filter matches: it must name what the key is restricted to.
 * @throws {HttpProblem} 403
 */
export function refuseAll(
  caller: Caller,
  filter: { accountId?: string | undefined; channelId?: string | undefined },
): void {
  if (filter.channelId === undefined && allowedChats(caller)) {
    throw chatNotAllowed(say('problem.name-chat'));
  }
  if (filter.accountId === undefined && allowedAccounts(caller)) {
    throw new HttpProblem(403, 'ACCOUNT_NOT_ALLOWED', say('problem.name-account'));
  }
}

/** @throws {HttpProblem} 403: the caller's key is restricted to other routes, or, without an id, to any */
export function refuseOtherRoute(caller: Caller, routeId: string | undefined): void {
  const allowed = allowedRoutes(caller);
  if (allowed === undefined || (routeId !== undefined && allowed.includes(routeId))) return;
  throw new HttpProblem(
    403,
    'ROUTE_NOT_ALLOWED',
    routeId === undefined ? say('problem.name-route') : say('problem.route-not-allowed'),
  );
}

/** A message or dead letter as the caller sees it: a key for some routes does not see which other ones were asked or looked at. */
export function withoutOtherRoutes<Row extends object>(caller: Caller, row: Row): Row {
  const allowed = allowedRoutes(caller);
  const { routeId, trace: _trace, ...shown } = row as { routeId?: string; trace?: unknown };
  return !allowed || (routeId !== undefined && allowed.includes(routeId)) ? row : (shown as Row);
}

function chatNotAllowed(said: Said): HttpProblem {
  return new HttpProblem(403, 'CHAT_NOT_ALLOWED', said);
}
