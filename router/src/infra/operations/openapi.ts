import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import { packageVersion } from '../../config/package-version.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { problemSchema, rateLimitSchema } from './problem.ts';
import { isKnown, type ResponseDoc, requestOf } from './response.ts';

type Document = ReturnType<typeof createDocument>;

const RATE_LIMITED: ResponseDoc = {
  description:
    'The key has used its requests of this second or minute; `Retry-After` says when to try again.',
  contentType: 'application/problem+json',
  schema: rateLimitSchema,
};

/** Beside the named ones, for every operation. */
const OTHER_PROBLEMS =
  'Any other problem: 403 for a page of another site or a foreign Host, 500 for a fault of wa2ai, 503 while the database is unavailable.';

const OWN_TAGS = { Health: 'For monitoring.' };

interface DocumentOptions {
  /** Whether callers must send a key. */
  hasKey: boolean;
  /** What the tags of the endpoints mean, by name, in the order in which the document shows them. */
  tags: Readonly<Record<string, string>>;
}

/**
 * The OpenAPI 3.1 description of the endpoints, generated from the schemas that validate their requests. Schemas with an
 * id (`meta({id})`) become components.
 * @throws {TypeError} an endpoint has a tag that is not described
 */
export function openApiDocument(endpoints: readonly Endpoint[], options: DocumentOptions): Document {
  const tags = { ...options.tags, ...OWN_TAGS };
  const unknown = endpoints.find(({ tag }) => !Object.hasOwn(tags, tag));
  if (unknown) throw new TypeError(`no feature describes the tag "${unknown.tag}"`);
  const paths: ZodOpenApiPathsObject = {};
  for (const definition of endpoints) {
    paths[definition.path] = {
      ...paths[definition.path],
      [definition.method]: operationOf(definition, options.hasKey),
    };
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'wa2ai',
        version: packageVersion(),
        license: { name: 'MIT', identifier: 'MIT' },
        description:
          'Connects WhatsApp accounts to AI agents. Every error is `{success: false, error, code, docs, details?}`.',
      },
      // Relative to the address of this document.
      servers: [{ url: './' }],
      tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
      paths,
      components: {
        securitySchemes: {
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
          bearer: { type: 'http', scheme: 'bearer' },
        },
      },
    },
    { allowEmptySchema: { custom: true, transform: true } },
  );
}

/** `GET /openapi.json`: describes the given endpoints and itself. Generated, written and compressed at the first request. */
export function openApiEndpoint(others: readonly Endpoint[], options: DocumentOptions): Endpoint {
  let document: Promise<StaticBody> | undefined;
  const own: Endpoint = endpoint({
    method: 'get',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    tag: 'Health',
    summary: 'Description of this API',
    scopes: 'public',
    responses: {
      200: { description: 'OpenAPI 3.1.', schema: z.looseObject({ openapi: z.string() }) },
      304: UNCHANGED,
    },
    handle: async (call) => {
      document ??= staticBody(
        JSON.stringify(openApiDocument([...others, own], options)),
        'application/json; charset=utf-8',
      );
      const body = await document;
      return { status: 200, stream: (response) => sendStatic(requestOf(call), response, body) };
    },
  });
  return own;
}

function operationOf(definition: Endpoint, hasKey: boolean): ZodOpenApiOperationObject {
  const { operationId, tag, summary, body, bodyType, form } = definition;
  const { scopes } = definition;
  const needsKey = hasKey && scopes !== 'public';
  return {
    operationId,
    tags: [tag],
    summary,
    ...describedBy(definition),
    requestParams: {
      path: paramsOf(definition.path, definition.params),
      ...(definition.query && { query: definition.query as z.ZodObject }),
      ...headersOf({
        ...definition.headers,
        ...tagsOf(definition).headers,
        ...(definition.creates && { 'Idempotency-Key': REPEATED }),
      }),
    },
    ...(body && {
      requestBody: {
        required: !definition.isBodyOptional,
        content: {
          ...(!form?.isOnly && { [bodyType ?? 'application/json']: { schema: body, ...exampleOf(body) } }),
          ...(form && { 'multipart/form-data': { schema: body } }),
        },
      },
    }),
    responses: responsesOf(definition, needsKey),
    security: securityOf(scopes, hasKey),
  };
}

function describedBy({ description, scopes, honours }: Endpoint) {
  const names = (all: readonly string[]) => all.map((each) => `\`${each}\``);
  const needed = typeof scopes === 'string' ? [] : [`Scope: ${names(scopes).join(' and ')}.`];
  const restricted =
    scopes === 'public'
      ? []
      : [
          honours.length === 0
            ? 'Not for keys with restrictions.'
            : `Honours the restrictions of keys to ${names(honours).join(', ')}.`,
        ];
  const text = [...(description === undefined ? [] : [description]), [...needed, ...restricted].join(' ')]
    .filter((part) => part !== '')
    .join('\n\n');
  return text === '' ? {} : { description: text };
}

/** OpenAPI 3.1 names the roles of a key; `{}`: a call without a key is possible too. */
function securityOf(scopes: Endpoint['scopes'], hasKey: boolean): Array<Record<string, string[]>> {
  if (scopes === 'public') return [];
  const roles = scopes === 'any-key' ? [] : scopes;
  const keys: Array<Record<string, string[]>> = [{ apiKey: [...roles] }, { bearer: [...roles] }];
  return hasKey ? keys : [{}, ...keys];
}

/** The example of a body's `meta`. zod leaves it out of the schema of a body that it transforms. */
function exampleOf(body: z.ZodType): { example?: unknown } {
  const { examples } = body.meta() ?? {};
  return Array.isArray(examples) ? { example: examples[0] } : {};
}

function responsesOf(definition: Endpoint, needsKey: boolean): ZodOpenApiOperationObject['responses'] {
  const { body, query, responses } = definition;
  const tags = tagsOf(definition);
  const problems = {
    ...((body || query) && { 400: 'The request is invalid; `details` names the fields.' }),
    ...(needsKey && { 401: 'The key is missing, wrong, expired or revoked.' }),
    ...(definition.scopes !== 'public' && {
      403: 'The key lacks a scope, or is restricted to other chats, routes or accounts.',
    }),
    ...(body && {
      413: `The body is larger than ${definition.scopes === 'public' ? '8 kB' : '1 MB'}.`,
      415: 'The body is not JSON.',
    }),
  };
  const entries = [
    ...Object.entries(problems).map(([status, description]) => [status, problemDoc(description)] as const),
    ...(definition.scopes === 'public' ? [] : [['429', RATE_LIMITED] as const]),
    ...Object.entries({ ...(definition.creates && CONFLICT), ...tags.responses, ...responses }),
    ['default', problemDoc(OTHER_PROBLEMS)] as const,
  ];
  return Object.fromEntries(
    entries.map(([status, doc]) => [status, { ...responseOf(doc), ...(/^2/.test(status) && tags.sent) }]),
  );
}

function problemDoc(description: string): ResponseDoc {
  return { description, schema: problemSchema };
}

function responseOf({ description, contentType, schema }: ResponseDoc) {
  const type = contentType ?? (schema && 'application/json');
  if (!type) return { description };
  return { description, content: { [type]: schema ? { schema } : {} } };
}

function paramsOf(path: string, descriptions: Record<string, string> = {}): z.ZodObject {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return z.object(
    Object.fromEntries(names.map((name) => [name, z.string().describe(descriptions[name] ?? '')])),
  );
}

function headersOf(headers: Record<string, string>): { header?: z.ZodObject } {
  if (Object.keys(headers).length === 0) return {};
  const entries = Object.entries(headers).map(
    ([name, description]) => [name, z.string().optional().describe(description)] as const,
  );
  return { header: z.object(Object.fromEntries(entries)) };
}

const CONFLICT = { 409: problemDoc('The Idempotency-Key was used for something else.') };
const REPEATED =
  'Makes a repeat safe for a day: the same key with the same body returns the response of the first call, without what is shown once, and creates nothing.';

const UNCHANGED: ResponseDoc = { description: 'The client has it: `If-None-Match` names its `ETag`.' };

/** What requests, responses and problems have in operations with an `ETag`. */
function tagsOf({ etag, method }: Endpoint): {
  headers: Record<string, string>;
  responses: Record<number, ResponseDoc>;
  /** Of responses with the object. */
  sent: object;
} {
  if (!etag) return { headers: {}, responses: {}, sent: {} };
  const what =
    etag === true ? 'The version of what `data` shows' : `The version of ${named(etag)} of \`data\``;
  const sent = {
    headers: { ETag: { description: `${what}, for \`If-Match\`.`, schema: { type: 'string' } } },
  };
  if (method !== 'get') {
    const ifMatch =
      '`ETag` of the version that the caller has seen, several of them, or `*`: if the object has another one, nothing is stored and the call ends with 412 `PRECONDITION_FAILED`.';
    const failed = problemDoc('It was changed meanwhile: `If-Match` does not have its `ETag`.');
    return {
      headers: { 'If-Match': ifMatch },
      responses: { 412: failed },
      sent: method === 'delete' ? {} : sent,
    };
  }
  if (etag !== true) return { headers: {}, responses: {}, sent };
  const ifNoneMatch =
    '`ETag` of the version that the caller has: if it is still the same, the response is 304.';
  return { headers: { 'If-None-Match': ifNoneMatch }, responses: { 304: UNCHANGED }, sent };
}

function named(fields: readonly string[]): string {
  return fields.map((each) => `\`${each}\``).join(', ');
}

/** Below this, compressing saves nothing that matters. */
const MIN_GZIP_BYTES = 1_024;

const compressed = promisify(gzip);

/** Bytes that are the same for every caller as long as the process runs, ready to be sent. */
export interface StaticBody {
  bytes: Buffer;
  /** The same, compressed; the preferred one first. */
  encoded: ReadonlyArray<{ name: 'br' | 'gzip'; bytes: Buffer }>;
  /** By which a client asks whether they have changed, in quotes. */
  etag: string;
  /** `Content-Type`. */
  type: string;
}

/** @param encoded absent: the bytes are compressed here, once */
export async function staticBody(
  given: Buffer | string,
  type: string,
  encoded?: StaticBody['encoded'],
): Promise<StaticBody> {
  const bytes = Buffer.from(given);
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  if (encoded) return { bytes, encoded, etag, type };
  const small = bytes.length < MIN_GZIP_BYTES ? bytes : await compressed(bytes);
  return {
    ...{ bytes, etag, type },
    encoded: small.length < bytes.length ? [{ name: 'gzip', bytes: small }] : [],
  };
}

/**
 * Sends the bytes, in an encoding that the client reads, or 304 when the client has them. Clients may keep them and ask
 * each time, unless `headers` say otherwise.
 */
export function sendStatic(
  request: Request,
  response: Response,
  body: StaticBody,
  headers: Record<string, string> = {},
): void {
  const encoding = body.encoded.find(({ name }) => request.acceptsEncodings(name) === name);
  // Weak: the encodings have the same content and not the same bytes (RFC 9110, 8.8.1).
  const etag = `W/${body.etag}`;
  response.set({ 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding', ETag: etag, ...headers });
  if (isKnown(request.get('if-none-match'), body.etag)) {
    response.status(304).end();
    return;
  }
  const bytes = encoding?.bytes ?? body.bytes;
  // Not `set`, which would add a charset.
  response.setHeader('Content-Type', body.type);
  response.setHeader('Content-Length', bytes.length);
  if (encoding) response.setHeader('Content-Encoding', encoding.name);
  response.status(200).end(request.method === 'HEAD' ? undefined : bytes);
}
