import { writtenForms } from '../chat-id.ts';
import type { ApiKey } from '../ports/api-key-store.ts';
import { contains, SCOPES, type Scope } from './scopes.ts';

/** A browser that is signed in, as a user or with the admin key. */
interface CallerSession {
  id: string;
  /** Absent: signed in with the admin key. */
  user?: { name: string; role: Role };
}

/**
 * Who a request comes from: a program with the admin key or with a key of the API, a browser that is signed in, this
 * machine (neither an admin key nor users), the user of the service (over its Unix socket), or nobody known. `refusal` says
 * why what a stranger sent does not suffice: its key, a request that would be one of this machine if no proxy forwarded it,
 * two session cookies.
 */
export type Caller =
  | { kind: 'admin-key' | 'loopback' | 'local-socket' }
  | { kind: 'session'; session: CallerSession }
  | { kind: 'key'; key: ApiKey }
  | { kind: 'stranger'; refusal?: StrangerRefusal };

type StrangerRefusal = 'unknown' | 'expired' | 'forwarded' | 'two-sessions';

/** Marks the requests that wa2ai sends. One that arrives here does not count as a call of this machine. */
export const OWN_REQUEST_HEADER = 'x-wa2ai-sender';

/** What the caller may do. Only keys and users have less than every scope. */
export function scopesOf(caller: Caller): readonly Scope[] {
  if (caller.kind === 'stranger') return [];
  if (caller.kind === 'key') return caller.key.scopes;
  const user = caller.kind === 'session' ? caller.session.user : undefined;
  return user ? scopesOfRole(user.role) : SCOPES;
}

/** Whether the caller has the scope. */
export function mayDo(caller: Caller, scope: Scope): boolean {
  return contains(scopesOf(caller), scope);
}

/** Canonical channelIds of the only chats that the caller may use; undefined: all. */
export function allowedChats(caller: Caller): readonly string[] | undefined {
  return caller.kind === 'key' ? caller.key.chats : undefined;
}

/** Ids of the only routes that the caller may use; undefined: all. */
export function allowedRoutes(caller: Caller): readonly string[] | undefined {
  return caller.kind === 'key' ? caller.key.routes : undefined;
}

/** Ids of the only accounts that the caller may use; undefined: all. */
export function allowedAccounts(caller: Caller): readonly string[] | undefined {
  return caller.kind === 'key' ? caller.key.accounts : undefined;
}

/** Whether the caller may use the account. */
export function mayUseAccount(caller: Caller, accountId: string): boolean {
  return allowedAccounts(caller)?.includes(accountId) ?? true;
}

/** Owner of the tasks of all callers that are neither a key nor a user. */
export const ADMIN_OWNER = 'admin';

/** Who owns the tasks that the caller opens: its key, the user of its session, or the admins together. */
export function taskOwnerOf(caller: Caller): string {
  if (caller.kind === 'key') return caller.key.id;
  const user = caller.kind === 'session' ? caller.session.user : undefined;
  return user ? `${USER_OWNER}${userKeyOf(user.name)}` : ADMIN_OWNER;
}

/** Begins the owner of the tasks of a user; the name follows. */
export const USER_OWNER = 'user:';

/** Whose tasks the caller sees: its own, and a user who may do everything also those of the admins. */
export function taskOwnersOf(caller: Caller): readonly string[] {
  const own = taskOwnerOf(caller);
  const isOwner = caller.kind === 'session' && mayDo(caller, 'admin');
  return own !== ADMIN_OWNER && isOwner ? [own, ADMIN_OWNER] : [own];
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
 * Whether the caller may use the chat, of its account: a key that names a person's number may use the chat by the person's LID
 * too.
 * @throws what `aliasesOf` throws
 */
export async function mayUseChat(caller: Caller, chat: NamedChat, aliasesOf: AliasesOf): Promise<boolean> {
  if (!mayUseAccount(caller, chat.accountId)) return false;
  const allowed = allowedChats(caller);
  const isAllowed = (channelIds: string[]) => writtenForms(channelIds).some((id) => allowed?.includes(id));
  if (allowed === undefined || isAllowed([chat.channelId])) return true;
  const aliases = await aliasesOf(chat.accountId, chat.channelId);
  return isAllowed(aliases);
}

/** What a user of the console may do, the strongest first. */
export const ROLES = ['owner', 'operator', 'viewer'] as const;

export type Role = (typeof ROLES)[number];

/** The only place that says which scopes a role has. An operator cannot change who may do what: keys, users, the audit log. */
const SCOPES_OF: Record<Role, readonly Scope[]> = {
  owner: SCOPES,
  operator: SCOPES.filter((scope) => scope !== 'admin'),
  viewer: ['routes:read', 'messages:read', 'accounts:read'],
};

/** The scopes of a user with this role. */
export function scopesOfRole(role: Role): readonly Scope[] {
  return SCOPES_OF[role];
}

/** What makes a name of a user unique: names that differ only in case are one name. */
export function userKeyOf(name: string): string {
  return name.toLowerCase();
}

/** What a key can be restricted to; the names of the fields of a key. */
export const RESTRICTIONS = ['chats', 'routes', 'accounts'] as const;

export type Restriction = (typeof RESTRICTIONS)[number];

/**
 * Whom an operation of any protocol lets in. Every operation states it; a caller that it does not name is refused.
 * `scopes`: what the caller needs, all of them. `any-key`: any caller that is known. `public`: everybody; such an operation must
 * not depend on its caller.
 * `honours`: the restrictions of keys that the operation obeys: with a key that has one of them it shows and changes only what
 * belongs to the named chats, routes or accounts, or to none. A key with any other restriction is refused.
 */
export type Admission =
  | { scopes: 'public'; honours?: undefined }
  | { scopes: 'any-key' | readonly [Scope, ...Scope[]]; honours: readonly Restriction[] };

/** Of an operation that not everybody reaches. */
export type CallerAdmission = Exclude<Admission, { scopes: 'public' }>;

/** Why a caller is refused. */
type Refusal =
  | { kind: 'unknown-caller'; why: 'none' | StrangerRefusal }
  | { kind: 'scope'; scope: Scope }
  | { kind: 'restriction'; restriction: Restriction };

/** Whether the operation lets the caller in, whatever kind of caller it is; undefined: it does. */
export function refusalOf(caller: Caller, { scopes, honours }: Admission): Refusal | undefined {
  if (scopes === 'public') return undefined;
  if (caller.kind === 'stranger') return { kind: 'unknown-caller', why: caller.refusal ?? 'none' };
  const missing = scopes === 'any-key' ? undefined : scopes.find((scope) => !mayDo(caller, scope));
  if (missing !== undefined) return { kind: 'scope', scope: missing };
  if (caller.kind !== 'key') return undefined;
  const restriction = RESTRICTIONS.find((each) => caller.key[each] !== undefined && !honours.includes(each));
  return restriction && { kind: 'restriction', restriction };
}
