import { z } from 'zod';
import { type AnswerDoc, type Endpoint, endpoint } from './endpoint.ts';
import { problemSchema } from './problem.ts';

type Json = Record<string, unknown>;

/** Beside the named ones, on every path. */
const OTHER_PROBLEMS =
  'What else may happen: 403 a page of another site or a foreign Host, 405 another method than those here, 500 a fault of wa2ai, 503 the database is away.';

/** Where OpenAPI documents look for named schemas. */
const COMPONENTS = '#/components/schemas/';

/**
 * The OpenAPI 3.1 description of the endpoints, made from the schemas that their handlers validate with. Schemas with an
 * id (`meta({id})`) become components.
 * @param hasKey whether callers must send the admin key
 */
export function openApiDocument(endpoints: readonly Endpoint[], options: { hasKey: boolean }): Json {
  const schemas: Record<string, unknown> = {};
  const paths: Record<string, Json> = {};
  for (const definition of endpoints) {
    paths[definition.path] = {
      ...paths[definition.path],
      [definition.method]: operationOf(definition, schemas, options.hasKey),
    };
  }
  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'wa2ai',
      version: '1',
      description:
        'Connects WhatsApp accounts to AI agents. Errors are `{success: false, error, code, details?}`.',
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
    },
  };
}

/** `GET /openapi.json`: describes the given endpoints and itself. Made when it is first asked for, not at every start. */
export function openApiEndpoint(others: readonly Endpoint[], options: { hasKey: boolean }): Endpoint {
  let document: Json | undefined;
  const own: Endpoint = endpoint({
    method: 'get',
    path: '/openapi.json',
    tag: 'Health',
    summary: 'This description',
    isPublic: true,
    answers: { 200: { description: 'OpenAPI 3.1.', contentType: 'application/json' } },
    handle: () => {
      document ??= openApiDocument([...others, own], options);
      return { status: 200, json: document };
    },
  });
  return own;
}

function operationOf(definition: Endpoint, schemas: Json, hasKey: boolean): Json {
  const { method, path, tag, summary, body, answers } = definition;
  const needsKey = hasKey && !definition.isPublic;
  const responses = Object.entries(answers).map(([status, doc]) => [status, responseOf(doc, schemas)]);
  const problems: Array<[string, string]> = [];
  if (body || definition.query)
    problems.push(['400', 'A mistake in the request; `details` names the fields.']);
  if (body) problems.push(['413', 'The body is larger than 1 MB.'], ['415', 'The body is not JSON.']);
  if (needsKey) problems.push(['401', 'The admin key is missing or wrong.']);
  const missing = problems.filter(([status]) => !(status in answers));
  return {
    operationId: operationId(method, path),
    tags: [tag],
    summary,
    parameters: parametersOf(definition, schemas),
    ...(body && {
      requestBody: {
        required: !definition.isBodyOptional,
        content: {
          [definition.bodyType ?? 'application/json']: { schema: schemaOf(body, 'input', schemas) },
        },
      },
    }),
    responses: Object.fromEntries([
      ...responses,
      ...missing.map(([status, description]) => [
        status,
        responseOf({ description, schema: problemSchema }, schemas),
      ]),
      ['default', responseOf({ description: OTHER_PROBLEMS, schema: problemSchema }, schemas)],
    ]),
    security: needsKey ? [{ apiKey: [] }, { bearer: [] }] : [],
  };
}

function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z]+/).filter(Boolean);
  if (words.length === 0) return `${method}Index`;
  return [method, ...words.map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)].join('');
}

function parametersOf(definition: Endpoint, schemas: Json): Json[] {
  const inPath = [...definition.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const query = definition.query ? schemaOf(definition.query, 'input', schemas) : {};
  const required = (query.required ?? []) as string[];
  const inQuery = Object.entries((query.properties ?? {}) as Record<string, Json>).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
  const inHeader = Object.entries(definition.headers ?? {}).map(([name, description]) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }));
  return [...inPath, ...inQuery, ...inHeader];
}

function responseOf({ description, contentType, schema }: AnswerDoc, schemas: Json): Json {
  const type = contentType ?? (schema && 'application/json');
  if (!type) return { description };
  return { description, content: { [type]: schema ? { schema: schemaOf(schema, 'output', schemas) } : {} } };
}

/** The JSON Schema; those inside it that have an id move to the components. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', schemas: Json): Json {
  const {
    $schema: _,
    $defs,
    ...own
  } = z.toJSONSchema(schema, { target: 'draft-2020-12', io, unrepresentable: 'any' });
  const { value } = withComponents({ own, defs: $defs ?? {} });
  Object.assign(schemas, value.defs);
  const { id, ...rest } = value.own as Json & { id?: string };
  if (id === undefined) return rest;
  schemas[id] = rest;
  return { $ref: `${COMPONENTS}${id}` };
}

function withComponents<T>(value: T): { value: T } {
  const text = JSON.stringify(value).replaceAll('"#/$defs/', `"${COMPONENTS}`);
  return { value: JSON.parse(text) as T };
}
