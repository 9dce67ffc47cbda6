import {
  type AliasesOf,
  allowedChats,
  allowedRoutes,
  type Caller,
  mayUseChat,
  type NamedChat,
} from '../../../core/access/caller.ts';
import { HttpProblem } from './problem.ts';

/** @throws {HttpProblem} 403: the caller's key is restricted to other chats */
export async function refuseOtherChat(caller: Caller, chat: NamedChat, aliasesOf: AliasesOf): Promise<void> {
  if (!(await mayUseChat(caller, chat, aliasesOf))) throw chatNotAllowed('The key may not use this chat.');
}

/**
 * For a call that concerns every chat unless it names one.
 * @throws {HttpProblem} 403: the caller's key is restricted to some chats
 */
export function refuseAllChats(caller: Caller): void {
  if (allowedChats(caller)) throw chatNotAllowed('The key may use some chats only: name one as channelId.');
}

/** @throws {HttpProblem} 403: the caller's key is restricted to other routes, or, without an id, to any */
export function refuseOtherRoute(caller: Caller, routeId: string | undefined): void {
  const allowed = allowedRoutes(caller);
  if (allowed === undefined || (routeId !== undefined && allowed.includes(routeId))) return;
  throw new HttpProblem(
    403,
    'ROUTE_NOT_ALLOWED',
    routeId === undefined
      ? 'The key may use some routes only, which excludes this call.'
      : 'The key may not use this route.',
  );
}

/**
 * For a call that concerns every route.
 * @throws {HttpProblem} 403: the caller's key is restricted to some routes or chats
 */
export function refuseRestricted(caller: Caller): void {
  refuseOtherRoute(caller, undefined);
  if (allowedChats(caller)) {
    throw chatNotAllowed('The key may use some chats only, which excludes this call.');
  }
}

function chatNotAllowed(sentence: string): HttpProblem {
  return new HttpProblem(403, 'CHAT_NOT_ALLOWED', sentence);
}
