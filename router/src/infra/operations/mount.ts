import {
  json as jsonBody,
  type Request,
  type RequestHandler,
  type Response,
  Router,
  raw as rawBody,
  text as textBody,
  urlencoded,
} from 'express';
import { type Admission, type Caller, RESTRICTIONS } from '../../core/access/caller.ts';
import { say } from '../../core/phrases.ts';
import type { RestAudit } from './audit.ts';
import type { Endpoint } from './endpoint.ts';
import {
  isForm,
  isYaml,
  MAX_YAML_BYTES,
  type Renamed,
  readForm,
  readYaml,
  validate,
  withNewNames,
} from './form.ts';
import { MAX_PUBLIC_BODY_BYTES } from './guard.ts';
import { HttpProblem, mistakeAt } from './problem.ts';
import { idempotencyKeyOf, type RepeatedCalls } from './repeated-calls.ts';
import { type ApiResponse, etagOf, type IfMatch, ifMatchOf, isKnown } from './response.ts';

/** Of a path or a method that does not exist. */
const KNOWN_CALLER: Admission = { scopes: 'any-key', honours: RESTRICTIONS };

/** Largest body that is read, in bytes: 1 MB. */
export const MAX_BODY_BYTES = 1_048_576;

/**
 * A router with the endpoints, matched in their order. A known path with another method is 405, an unknown path 404.
 * @param audit records the calls; a change is recorded before its response is sent
 * @param repeated carries out calls with an `Idempotency-Key`
 * @param guardOf returns the handler that sets the caller, or refuses a request by the operation in `response.locals`, without
 *   one by the given admission; it runs before the body is read
 */
export function mount(
  endpoints: readonly Endpoint[],
  guardOf: (otherwise: Admission) => RequestHandler,
  audit: Pick<RestAudit, 'record'>,
  repeated: Pick<RepeatedCalls, 'run'>,
): Router {
  const router = Router({ caseSensitive: true });
  const byPath = new Map<string, Endpoint[]>();
  for (const each of endpoints) byPath.set(each.path, [...(byPath.get(each.path) ?? []), each]);
  for (const [path, definitions] of byPath) {
    const route = router.route(path.replace(/\{(\w+)\}/g, ':$1'));
    const isPublic = definitions.some(({ scopes }) => scopes === 'public');
    route.all(operationOf(definitions), guardOf(isPublic ? { scopes: 'public' } : KNOWN_CALLER));
    for (const definition of definitions) {
      route[definition.method](
        ...refuserOf(definition, audit),
        ...parserOf(definition),
        handlerOf(definition, audit, repeated),
      );
    }
    const allowed = definitions.map(({ method }) => method.toUpperCase()).join(', ');
    route.all((_request, response) => {
      response.set('Allow', allowed);
      throw new HttpProblem(405, 'METHOD_NOT_ALLOWED', say('problem.method', { methods: allowed }));
    });
  }
  router.use(guardOf(KNOWN_CALLER), () => {
    throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-path'));
  });
  return router;
}

/** Writes the response of an operation that shows refusals itself. */
function refuserOf({ refuse }: Endpoint, audit: Pick<RestAudit, 'record'>): RequestHandler[] {
  if (!refuse) return [];
  return [
    async (request, response, next) => {
      const { refusal: problem, caller } = response.locals;
      if (!problem) return next();
      const result = await refuse({ caller, request, problem });
      await audit.record(request, response, { outcome: problem.code });
      write(response, result);
    },
  ];
}

function parserOf({ body, bodyType, admit, form, takesYaml, ...definition }: Endpoint): RequestHandler[] {
  if (!body) return [];
  const isForAnybody = definition.scopes === 'public' && !admit;
  const limit = isForAnybody ? MAX_PUBLIC_BODY_BYTES : (definition.maxBodyBytes ?? MAX_BODY_BYTES);
  const admission: RequestHandler = async (request, _response, next) => {
    await admit?.(request.params as Record<string, string>);
    next();
  };
  const plain = bodyType
    ? urlencoded({ limit, extended: false })
    : jsonBody({ limit, strict: false, type: () => true });
  const usual = takesYaml ? yamlOr(plain, Math.min(limit, MAX_YAML_BYTES)) : plain;
  return [...(admit ? [admission] : []), form ? formOr(usual, form) : usual];
}

/** Reads a body that is YAML; `other` reads every other one. */
function yamlOr(other: RequestHandler, limit: number): RequestHandler {
  const readText = textBody({ limit, type: () => true });
  return (request, response, next) => {
    if (!isYaml(request)) return other(request, response, next);
    readText(request, response, (error?: unknown) => {
      if (error) return next(error);
      readYaml(typeof request.body === 'string' ? request.body : '').then((value) => {
        request.body = value;
        next();
      }, next);
    });
  };
}

/** Reads a body that is a form with files; `other` reads every other one. */
function formOr(other: RequestHandler, { maxBytes, read }: NonNullable<Endpoint['form']>): RequestHandler {
  const readBytes = rawBody({ limit: maxBytes, type: () => true });
  return (request, response, next) => {
    if (!isForm(request)) return other(request, response, next);
    readBytes(request, response, (error?: unknown) => {
      if (error) return next(error);
      const bytes: Uint8Array = Buffer.isBuffer(request.body) ? request.body : new Uint8Array();
      readForm(bytes, request.get('content-type') ?? '').then((parts) => {
        request.body = read(parts);
        next();
      }, next);
    });
  };
}

/** Notes the operation and the object of a request before it may be refused, for the audit log. */
function operationOf(definitions: readonly Endpoint[]): RequestHandler {
  return (request, response, next) => {
    const method = request.method === 'HEAD' ? 'get' : request.method.toLowerCase();
    response.locals.operation = definitions.find((definition) => definition.method === method);
    response.locals.objectId = request.params.id ?? request.params.name;
    next();
  };
}

function handlerOf(
  definition: Endpoint,
  audit: Pick<RestAudit, 'record'>,
  repeated: Pick<RepeatedCalls, 'run'>,
): RequestHandler {
  return async (request: Request, response: Response) => {
    const { body, query, renamed } = fieldsOf(definition, request);
    const params = request.params as Record<string, string>;
    const caller: Caller = response.locals.caller;
    const ifMatch = definition.etag && ifMatchOf(request.get('if-match'), definition.etag);
    const handle = async (repeatId?: string) =>
      definition.handle({
        params,
        query,
        body,
        caller,
        header: (name) => request.get(name),
        ...(repeatId !== undefined && { repeatId }),
        ...(ifMatch && { ifMatch }),
        // Most handlers do not wait for anything, and a signal costs as much as all else here.
        get signal() {
          return goneSignal(response);
        },
        request,
      });
    const key = definition.creates && idempotencyKeyOf(request.get('idempotency-key'));
    const handled = await (key === undefined
      ? handle()
      : repeated.run({ caller, key, definition, given: { params, body } }, handle));
    const result = tagged(definition, request, withWarnings(handled, renamed), ifMatch);
    await audit.record(request, response, {
      outcome: outcomeOf(result),
      object: result.object,
      ...(result.caller && { caller: result.caller }),
    });
    write(response, result);
  };
}

/** The response with the tag of its object; without its body for a client that has it. */
function tagged(
  { etag: what, method }: Endpoint,
  request: Request,
  result: ApiResponse,
  ifMatch: IfMatch | undefined,
): ApiResponse {
  const { data } = (result.json ?? {}) as { data?: unknown };
  if (!what || data === undefined || method === 'delete') return result;
  if (method === 'get') ifMatch?.(data);
  const etag = etagOf(data, what);
  const headers = { ...result.headers, etag };
  if (method === 'get' && what === true && isKnown(request.get('if-none-match'), etag)) {
    return { status: 304, headers, ...(result.object !== undefined && { object: result.object }) };
  }
  return { ...result, headers };
}

/** Aborts when the connection of the response has closed. */
function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  if (response.destroyed) gone.abort();
  else response.once('close', () => gone.abort());
  return gone.signal;
}

function outcomeOf({ status }: ApiResponse): string {
  if (status < 400) return 'ok';
  return status === 401 ? 'UNAUTHORIZED' : `HTTP_${status}`;
}

/**
 * Body and query of a request as their schemas parse them, and the earlier names that they had.
 * @throws {HttpProblem} 400
 */
export function fieldsOf(
  { isBodyOptional, oldNames = {}, body: ofBody, query: ofQuery }: Endpoint,
  given: { body?: unknown; query: object },
): { body: unknown; query: unknown; renamed: readonly Renamed[] } {
  const sent = given.body === undefined && isBodyOptional ? {} : given.body;
  const inBody = typeof oldNames === 'function' ? oldNames(sent) : withNewNames(sent, oldNames);
  const inQuery = withNewNames({ ...given.query }, typeof oldNames === 'function' ? {} : oldNames);
  return {
    body: ofBody && validate(ofBody, inBody.value, 'body'),
    query: ofQuery && validate(ofQuery, inQuery.value, 'query'),
    renamed: [...(ofBody ? inBody.renamed : []), ...(ofQuery ? inQuery.renamed : [])],
  };
}

/** The JSON response with a warning for each earlier name of a field. */
export function withWarnings(result: ApiResponse, renamed: readonly Renamed[]): ApiResponse {
  if (renamed.length === 0 || result.json === undefined) return result;
  const { warnings = [] } = result.json as { warnings?: readonly object[] };
  const added = renamed.map(({ from, to }) => ({
    code: 'OLD_NAME',
    ...mistakeAt(from, say('field.old-name', { name: to })),
  }));
  return { ...result, json: { ...(result.json as object), warnings: [...warnings, ...added] } };
}

function write(response: Response, { status, headers, html, png, text, json, stream }: ApiResponse): void {
  if (stream) {
    stream(response);
    return;
  }
  response.status(status).set(headers ?? {});
  const location = headers?.location;
  if (typeof location === 'string' && location.startsWith('/')) {
    response.set('location', relativePath(response.req, location));
  }
  if (html !== undefined) response.type('html').send(html);
  else if (png !== undefined) response.type('png').send(png);
  else if (text !== undefined) response.send(text);
  else if (json !== undefined) response.json(json);
  else response.end();
}

/**
 * The way from the address of a request to that of wa2ai, `../` or `./`: a reference that begins with it stays inside of wa2ai
 * when a proxy has removed a prefix from the path.
 */
export function homeOf({ path }: Pick<Request, 'path'>): string {
  return '../'.repeat(Math.max(0, path.split('/').length - 2)) || './';
}

/** A path of wa2ai, `/api/routes`, as a reference that is relative to the address of the request. */
export function relativePath(request: Pick<Request, 'path'>, path: string): string {
  return `${homeOf(request)}${path.slice(1)}`;
}

/**
 * The address under which the caller reached wa2ai, without a slash at its end: the public URL, with its path, when the request
 * names its host; else scheme and host as the caller, or a proxy that ends TLS, says them.
 */
export function baseUrlOf(request: Pick<Request, 'get'>, publicUrl: string | undefined): string {
  const named = request.get('host') ?? '';
  const host = /^[\w.:[\]-]{1,255}$/.test(named) ? named : 'localhost';
  if (publicUrl !== undefined && new URL(publicUrl).host === host) return publicUrl;
  const proto = request.get('x-forwarded-proto') === 'https' ? 'https' : 'http';
  return `${proto}://${host}`;
}

const HERE = 'http://wa2ai.invalid';

/** The path, if it is one of wa2ai itself; otherwise the other one. A browser must not be sent to another site. */
export function ownPath(path: string | undefined, otherwise: string): string {
  // Browsers read `//host` and `/\host` as another host, and ignore tabs and line ends.
  if (path === undefined || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path)) return otherwise;
  return URL.canParse(path, HERE) && new URL(path, HERE).origin === HERE ? path : otherwise;
}
