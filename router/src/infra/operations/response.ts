import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { Caller } from '../../core/access/caller.ts';
import type { IfMatch } from './etags.ts';
import type { HttpProblem } from './problem.ts';

/** What a handler receives: the parts of the request that its endpoint declares, validated. */
export interface Call<Body, Query> {
  params: Record<string, string>;
  query: Query;
  body: Body;
  caller: Caller;
  /** A request header that the endpoint declares, by lower-case name. */
  header(name: string): string | undefined;
  /** Of an endpoint with an `etag`: to be called with `data` of the object as it is. Absent: the client sent no `If-Match`. */
  ifMatch?: IfMatch;
  /** Aborts when nobody waits for the result any more. */
  signal: AbortSignal;
  /** Absent in a call that another face of this process makes. */
  request?: Request;
}

/** A call whose caller is refused, and why. */
export interface RefusedCall {
  caller: Caller;
  request: Request;
  problem: HttpProblem;
}

/** The HTTP request of a call, for endpoints that no other face calls. */
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
