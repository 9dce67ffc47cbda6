import type { z } from 'zod';
import type { Admission } from '../../core/access/admission.ts';
import type { Tagged } from './etags.ts';
import type { FormPart } from './form.ts';
import type { ApiResponse, Call, RefusedCall, ResponseDoc } from './response.ts';

/** Tags of the API's description, in the order in which it shows them, each with its meaning. */
export const TAGS = {
  Accounts: 'WhatsApp accounts: add, pair, restart, log out, delete.',
  Pairing: 'Pages and status for linking a WhatsApp account.',
  Routes: 'Which agent answers which chat.',
  Messages: 'Messages received and sent, and sending.',
  Chats: 'Chats with people and groups: list, read, pause, resume.',
  Playground: 'Invented people who write to agents: no phone and no WhatsApp.',
  'Dead letters': 'Messages and replies that were given up: read, replay, close.',
  Tasks: 'Tasks that agents run for messages: list, progress, cancel.',
  Webhooks: 'Events sent to other programs, with a delivery log.',
  'Live events': 'What changes, as it changes.',
  Nodes: 'The processes that share this database.',
  'Hosted agents': 'Agents that wa2ai runs: add, start, stop, talk to, read files and logs, delete.',
  Keys: 'Keys of this API, with scopes and restrictions.',
  Users: 'People who sign in to the console, and their sessions.',
  Agents: 'wa2ai as an agent of other agents: the NPC face.',
  Audit: 'Who called what.',
  Settings: 'Protocols spoken to wa2ai.',
  Health: 'For monitoring.',
  Documentation: 'The documentation of this version.',
} as const;

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
  tag: keyof typeof TAGS;
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
  responses: Record<number, ResponseDoc>;
  handle(call: Call<Body, Query>): Promise<ApiResponse> | ApiResponse;
  /** Writes the response for a caller that is refused, in the form of a page or another protocol. Default: the problem itself. */
  refuse?(call: RefusedCall): Promise<ApiResponse> | ApiResponse;
}

/** Infers the types of a handler from its schemas, and erases them so that a list can contain all endpoints. */
export function endpoint<Body = unknown, Query = unknown>(definition: Endpoint<Body, Query>): Endpoint {
  return definition as Endpoint;
}
