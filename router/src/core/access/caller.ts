import type { ApiKey } from '../ports/api-key-store.ts';
import { contains, type Scope } from './scopes.ts';

/**
 * Who a request comes from: a program with the admin key or with a key of the API, a logged-in browser, this machine (no
 * admin key configured), the user of the service (over its socket file), or nobody known. `refusal` says why the key that a stranger sent is refused.
 */
export type Caller =
  | { kind: 'admin-key' | 'session' | 'loopback' | 'local-socket' }
  | { kind: 'key'; key: ApiKey }
  | { kind: 'stranger'; refusal?: 'unknown' | 'expired' };

/** Whether the caller has the scope. All but keys and strangers have every scope. */
export function mayDo(caller: Caller, scope: Scope): boolean {
  if (caller.kind === 'stranger') return false;
  return caller.kind !== 'key' || contains(caller.key.scopes, scope);
}

/** Canonical channelIds of the only chats that the caller may use; undefined: all. */
export function allowedChats(caller: Caller): readonly string[] | undefined {
  return caller.kind === 'key' ? caller.key.chats : undefined;
}

/** Ids of the only routes that the caller may use; undefined: all. */
export function allowedRoutes(caller: Caller): readonly string[] | undefined {
  return caller.kind === 'key' ? caller.key.routes : undefined;
}

/** A chat as a caller names it. */
export interface NamedChat {
  accountId: string;
  /** In canonical form, or `*` for every chat. */
  channelId: string;
}

/** The other canonical channelIds of the person of a chat. */
export type AliasesOf = (accountId: string, channelId: string) => Promise<string[]>;

/**
 * Whether the caller may use the chat: a key that names a person's number may use the chat by the person's LID too.
 * @throws what `aliasesOf` throws
 */
export async function mayUseChat(caller: Caller, chat: NamedChat, aliasesOf: AliasesOf): Promise<boolean> {
  const allowed = allowedChats(caller);
  if (allowed === undefined || allowed.includes(chat.channelId)) return true;
  const aliases = await aliasesOf(chat.accountId, chat.channelId);
  return aliases.some((alias) => allowed.includes(alias));
}
