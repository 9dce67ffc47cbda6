import type { z } from 'zod';
import {
  type Admission,
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
import type { FormPart, RenamedBody } from './form.ts';
import { HttpProblem } from './problem.ts';
import type { Creates } from './repeated-calls.ts';
import type { ApiResponse, Call, RefusedCall, ResponseDoc, Tagged } from './response.ts';

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

/** The same as an entry of a list. @param hasTrace whether the caller asked for traces */
export function asListed<Row extends object>(caller: Caller, row: Row, hasTrace: boolean): Row {
  const { trace: _trace, ...rest } = row as { trace?: unknown };
  return withoutOtherRoutes(caller, hasTrace ? row : (rest as Row));
}

function chatNotAllowed(said: Said): HttpProblem {
  return new HttpProblem(403, 'CHAT_NOT_ALLOWED', said);
}

/**
 * One operation of the REST API, with whom it lets in. The server mounts it and the OpenAPI document describes it from the same
 * definition.
 */
export type Endpoint<Body = unknown, Query = unknown> = Operation<Body, Query> & Admission;

/** `path` is written as `/api/routes/{id}`. */
interface Operation<Body, Query> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  path: string;
  /** Name of the operation in generated clients, such as `listRoutes`. */
  operationId: string;
  /** Of the API's description; a feature says what it means. */
  tag: string;
  summary: string;
  description?: string;
  /** A read that programs and pages repeat all the time: the audit log does not have its successful calls. */
  isPolled?: boolean;
  /** A read that the audit log has also for sessions: what it returns is taken away as a file, or is what agents or operators wrote. */
  isAudited?: true;
  /** Its body may have many calls: the handler counts each against the limits of its key, and records it in the audit log. */
  takesBatches?: true;
  /** What each parameter of the path is, by name. */
  params?: Record<string, string>;
  /**
   * Earlier names of fields of the body and the query, accepted until the next version: the field that each means now, with `!` the
   * opposite of it; or the function that reads a body with them. `warnings` of the response names those that were used.
   */
  oldNames?: Record<string, string> | ((body: unknown) => RenamedBody);
  /** Absent: a body is ignored. */
  body?: z.ZodType<Body>;
  /** Default: application/json. */
  bodyType?: 'application/x-www-form-urlencoded';
  /** A form of a page, which cannot send headers, calls it. */
  isPageForm?: true;
  /** Largest body, in bytes; default: 1 MB. A `public` path without `admit` reads 8 kB. */
  maxBodyBytes?: number;
  /** The body may be YAML too. */
  takesYaml?: true;
  /** The body may be a form with files too: what its parts say, as `body` has it. */
  form?: {
    maxBytes: number;
    read(parts: readonly FormPart[]): unknown;
    /** Nothing but a form has what `body` wants. */
    isOnly?: true;
  };
  /** Refuses a request by the parameters of its path, before its body is read. @throws {HttpProblem} */
  admit?(params: Record<string, string>): Promise<void>;
  /** A request without a body counts as `{}`. */
  isBodyOptional?: boolean;
  /** Absent: any query is ignored. */
  query?: z.ZodType<Query>;
  /** Request headers that the handler reads, by lower-case name, with their meaning. */
  headers?: Record<string, string>;
  /**
   * It reads or changes one object, which `data` of its response shows. The response has its `ETag`, a read takes `If-None-Match`,
   * and a change `If-Match`: the handler calls `ifMatch` in the transaction of the change.
   */
  etag?: Tagged;
  /** It creates something: a call with an `Idempotency-Key` can be repeated (repeated-calls.ts). */
  creates?: Creates;
  responses: Record<number, ResponseDoc>;
  handle(call: Call<Body, Query>): Promise<ApiResponse> | ApiResponse;
  /** Writes the response for a caller that is refused, in the form of a page or another protocol. Default: the problem itself. */
  refuse?(call: RefusedCall): Promise<ApiResponse> | ApiResponse;
}

/** Infers the types of a handler from its schemas, and erases them so that a list can contain all endpoints. */
export function endpoint<Body = unknown, Query = unknown>(definition: Endpoint<Body, Query>): Endpoint {
  return definition as Endpoint;
}
