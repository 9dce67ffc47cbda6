import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { Caller } from '../../../core/access/caller.ts';

/** What a handler receives: the parts of the request that its endpoint declares, validated. */
export interface Call<Body, Query> {
  params: Record<string, string>;
  query: Query;
  body: Body;
  caller: Caller;
  request: Request;
}

/** What a handler returns; at most one of json, html, text, png and stream. */
export interface ApiResponse {
  status: number;
  headers?: Record<string, string>;
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
