import { type Caller, mayDo, type StrangerRefusal } from './caller.ts';
import type { Scope } from './scopes.ts';

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
export type Refusal =
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
