import type { Request } from 'express';
import type { z } from 'zod';

/** Who a request comes from: a program with the key, a logged-in browser, this machine (no key configured), or nobody known. */
export type Caller = 'key' | 'session' | 'loopback' | 'stranger';

/** What a handler receives: the parts of the request that its endpoint declares, validated. */
export interface Call<Body, Query> {
  params: Record<string, string>;
  query: Query;
  body: Body;
  caller: Caller;
  request: Request;
}

/** What a handler returns; at most one of json, html, text and png. */
export interface ApiResponse {
  status: number;
  headers?: Record<string, string>;
  json?: unknown;
  html?: string;
  text?: string;
  png?: Buffer;
}

/** One possible response, for the description of the API. */
export interface ResponseDoc {
  description: string;
  /** Default: application/json when there is a schema. */
  contentType?: string;
  schema?: z.ZodType;
}
