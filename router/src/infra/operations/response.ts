import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { Caller } from '../../core/access/caller.ts';
import { PHRASES, say } from '../../core/phrases.ts';
import { invalid } from './form.ts';
import { HttpProblem } from './problem.ts';

/** What a handler receives: the parts of the request that its endpoint declares, validated. */
export interface Call<Body, Query> {
  params: Record<string, string>;
  query: Query;
  body: Body;
  caller: Caller;
  /** A request header that the endpoint declares, by lower-case name. */
  header(name: string): string | undefined;
  /** Of an endpoint that creates something, of a call with an `Idempotency-Key`: a UUID that its repeats have too. */
  repeatId?: string;
  /** Of an endpoint with an `etag`: to be called with `data` of the object as it is. Absent: the client sent no `If-Match`. */
  ifMatch?: IfMatch;
  /** Aborts when nobody waits for the result any more. */
  signal: AbortSignal;
  /** Absent in a call that another protocol of this process makes. */
  request?: Request;
}

/** A call whose caller is refused, and why. */
export interface RefusedCall {
  caller: Caller;
  request: Request;
  problem: HttpProblem;
}

/** The HTTP request of a call, for endpoints that no other protocol calls. */
export function requestOf({ request }: Pick<Call<unknown, unknown>, 'request'>): Request {
  if (!request) throw new TypeError('the call has no HTTP request');
  return request;
}

/** What a handler returns; at most one of json, html, text, png and stream. */
export interface ApiResponse {
  status: number;
  headers?: Record<string, string | string[]>;
  /** Whom the call turned out to come from, for the audit log: a browser that has just signed in. */
  caller?: Caller;
  /** Id of what was read, created or changed, for the audit log. Default: `id` of the path. */
  object?: string;
  json?: unknown;
  html?: string;
  text?: string;
  png?: Buffer;
  /** Writes the response, which may take long. `status` is not used. */
  stream?(response: Response): void;
}

/** One possible response, for the description of the API. */
export interface ResponseDoc {
  description: string;
  /** Default: application/json when there is a schema. */
  contentType?: string;
  schema?: z.ZodType;
}

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w.+-]+)?$/;

const UNKNOWN_TYPE = 'application/octet-stream';

/**
 * A file of a person, with the type that its sender named. It is a download: no browser shows it as a page of wa2ai, and pages
 * of wa2ai can show it as a picture.
 */
export function fileResponse(
  bytes: Uint8Array,
  { mimeType, fileName }: { mimeType: string; fileName?: string },
): ApiResponse {
  return {
    status: 200,
    stream: (response) => {
      response.statusCode = 200;
      // Not `set`, which adds the charset utf-8 to texts.
      response.setHeader('Content-Type', MEDIA_TYPE.test(mimeType) ? mimeType : UNKNOWN_TYPE);
      response.setHeader('Content-Disposition', disposition(fileName));
      response.end(bytes);
    },
  };
}

/** RFC 6266, with the name in UTF-8. */
function disposition(fileName: string | undefined): string {
  if (fileName === undefined) return 'attachment';
  const encoded = encodeURIComponent(fileName).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
}

/**
 * What the `ETag` of an operation stands for: all of `data` of its response, or these fields of it. Fields are for an object
 * that also changes by itself, such as a chat with each message: its tag is that of what calls can change, and a read has no 304.
 */
export type Tagged = true | readonly string[];

/** One tag of a list, with `W/` if it is weak (RFC 9110, 8.8.3). */
const TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/;

/** Throws 412 unless the client has this `data`, by its `If-Match`. */
export type IfMatch = (data: unknown) => void;

/** The strong entity tag of an object: equal objects have the same, whatever the order of their fields. */
export function etagOf(data: unknown, tagged: Tagged): string {
  const shown = tagged === true ? data : tagged.map((name) => (data as Record<string, unknown>)[name]);
  return `"${createHash('sha256').update(sortedJson(shown)).digest('base64url').slice(0, 22)}"`;
}

/**
 * @param header absent: the client has not sent one
 * @throws {HttpProblem} 400: it is neither `*` nor a list of entity tags
 */
export function ifMatchOf(header: string | undefined, tagged: Tagged): IfMatch | undefined {
  if (header === undefined) return undefined;
  const tags = tagsOf(header);
  if (!tags) {
    const message = PHRASES['field.entity-tags'];
    throw invalid('headers', [{ field: 'If-Match', message }]);
  }
  return (data) => {
    // Strong comparison: a tag with W/ is never the same (RFC 9110, 13.1.1).
    if (tags === '*' || tags.includes(etagOf(data, tagged))) return;
    throw new HttpProblem(412, 'PRECONDITION_FAILED', say('problem.changed-meanwhile'));
  };
}

/** Whether a client that sent this `If-None-Match` has the object. A header that cannot be read counts as none. */
export function isKnown(header: string | undefined, etag: string): boolean {
  const tags = header === undefined ? undefined : tagsOf(header);
  // Weak comparison (RFC 9110, 13.1.2).
  return tags === '*' || (tags?.some((each) => each.replace(/^W\//, '') === etag) ?? false);
}

/** Undefined: it is not a list of tags. A tag may contain commas. */
function tagsOf(header: string): '*' | string[] | undefined {
  if (header.trim() === '*') return '*';
  const tags: string[] = [];
  let rest = header.trim();
  while (rest !== '') {
    const [tag] = TAG.exec(rest) ?? [];
    if (tag === undefined) return undefined;
    tags.push(tag);
    const after = rest.slice(tag.length).trimStart();
    if (after !== '' && !after.startsWith(',')) return undefined;
    // Empty elements of a list count for nothing (RFC 9110, 5.6.1).
    rest = after.replace(/^[,\s]+/, '');
  }
  return tags.length > 0 ? tags : undefined;
}

/** JSON with the fields of each object in one order: PostgreSQL returns those of `jsonb` in another one than they were written. */
function sortedJson(value: unknown): string {
  return (
    JSON.stringify(value, (_name, each: unknown) =>
      typeof each === 'object' && each !== null && !Array.isArray(each)
        ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
        : each,
    ) ?? ''
  );
}
