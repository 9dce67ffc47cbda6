import type { Express, Request, Response } from 'express';
import { json as jsonBody, urlencoded } from 'express';
import type { z } from 'zod';
import type { Caller } from './guard.ts';
import { HttpProblem } from './problem.ts';
import { validate } from './validate.ts';

/** Largest body that is read, in bytes: 1 MB. */
export const MAX_BODY_BYTES = 1_048_576;

/** What a handler gets: the parts of the request that its endpoint declares, validated. */
export interface Call<Body, Query> {
  params: Record<string, string>;
  query: Query;
  body: Body;
  caller: Caller;
  request: Request;
}

/** What a handler answers; exactly one of json, html, text and png. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  json?: unknown;
  html?: string;
  text?: string;
  png?: Buffer;
}

/** One possible answer, for the description of the API. */
export interface AnswerDoc {
  description: string;
  /** Default: application/json when there is a schema. */
  contentType?: string;
  schema?: z.ZodType;
}

/**
 * One operation of the REST API: what mounts it is what describes it, so that both agree.
 * `path` is written as `/api/routes/{id}`.
 */
export interface Endpoint<Body = unknown, Query = unknown> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  path: string;
  tag: string;
  summary: string;
  /** No key is asked for, even when one is configured. */
  isPublic?: boolean;
  /** Absent: a body is ignored. */
  body?: z.ZodType<Body>;
  /** Default: application/json. */
  bodyType?: 'application/x-www-form-urlencoded';
  /** A request without any body counts as `{}`. */
  isBodyOptional?: boolean;
  /** Absent: any query is ignored. */
  query?: z.ZodType<Query>;
  /** Request headers that the handler reads, by lower-case name, with their meaning. */
  headers?: Record<string, string>;
  answers: Record<number, AnswerDoc>;
  handle(call: Call<Body, Query>): Promise<Answer> | Answer;
}

/** Types a handler by its schemas and forgets them for the list. */
export function endpoint<Body = unknown, Query = unknown>(definition: Endpoint<Body, Query>): Endpoint {
  return definition as Endpoint;
}

const readJson = jsonBody({ limit: MAX_BODY_BYTES, strict: false, type: () => true });
const readForm = urlencoded({ limit: 10_000, extended: false });

/** Mounts the endpoints in their order; a known path with another method answers 405. */
export function mount(app: Express, endpoints: readonly Endpoint[]): void {
  for (const definition of endpoints) {
    const path = definition.path.replace(/\{(\w+)\}/g, ':$1');
    const parsers = definition.body ? [definition.bodyType ? readForm : readJson] : [];
    app[definition.method](path, ...parsers, async (request: Request, response: Response) => {
      const body = definition.body && validate(definition.body, bodyOf(definition, request), 'body');
      const query = definition.query && validate(definition.query, { ...request.query }, 'query');
      const params = request.params as Record<string, string>;
      const caller: Caller = response.locals.caller;
      send(response, await definition.handle({ params, query, body, caller, request }));
    });
  }
  app.use((request) => {
    const allowed = endpoints
      .filter(({ path }) => pathMatches(path, request.path))
      .map(({ method }) => method);
    if (allowed.length === 0) throw new HttpProblem(404, 'NOT_FOUND', 'There is nothing at this address.');
    const list = allowed.map((method) => method.toUpperCase()).join(', ');
    throw new HttpProblem(405, 'METHOD_NOT_ALLOWED', `This address takes ${list} only.`);
  });
}

function bodyOf(definition: Endpoint, request: Request): unknown {
  return request.body === undefined && definition.isBodyOptional ? {} : request.body;
}

/** Whether a path is one of the template's: `/api/routes/{id}` takes `/api/routes/7`. */
export function pathMatches(template: string, path: string): boolean {
  const wanted = template.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length && wanted.every((part, i) => part.startsWith('{') || part === given[i])
  );
}

function send(response: Response, answer: Answer): void {
  response.status(answer.status).set(answer.headers ?? {});
  if (answer.html !== undefined) response.type('html').send(answer.html);
  else if (answer.png !== undefined) response.type('png').send(answer.png);
  else if (answer.text !== undefined) response.send(answer.text);
  else if (answer.json !== undefined) response.json(answer.json);
  else response.end();
}
