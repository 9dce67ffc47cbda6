// Writes the types of the REST API for the console: console/src/api/generated/api.ts, from the OpenAPI document of the
// compiled service. The file is not in the repository, so that it cannot differ from the service.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readIfThere, root } from './steps.mjs';

const target = join(root, 'console', 'src', 'api', 'generated', 'api.ts');

/** Resolves when the types are those of dist/router. */
export async function writeConsoleTypes() {
  const text = typesOf(await openApiDocument());
  if (readIfThere(target) === text) return;
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}

/** The description of the API, without a running service: its handlers are made and never called. */
async function openApiDocument() {
  const load = (path) => import(pathToFileURL(join(root, 'dist', 'router', 'src', path)).href);
  const { operationsOf, tagsOf } = await load('features.js');
  const { openApiDocument: documentOf } = await load('infra/operations/openapi.js');
  const { agentKinds } = await load('infra/agents/agent-kinds.js');
  const config = { accountId: 'default', environment: 'lab', host: '127.0.0.1' };
  const given = { agentKinds, config };
  const app = new Proxy(given, { get: (known, name) => known[name] ?? neverCalled });
  return documentOf(operationsOf(app), { hasKey: true, tags: tagsOf() });
}

const neverCalled = new Proxy(() => undefined, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => '' : neverCalled),
  apply: () => neverCalled,
  construct: () => neverCalled,
});

/** @param document an OpenAPI 3.1 document; returns TypeScript: `Schemas` and `Operations` */
export function typesOf({ paths, components }) {
  const schemas = Object.entries(components.schemas ?? {}).map(
    ([name, schema]) => `  ${JSON.stringify(name)}: ${typeOf(schema)};`,
  );
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const ofPlace = (place) => (operation.parameters ?? []).filter((each) => each.in === place);
      const content = operation.requestBody?.content ?? {};
      const body = content['application/json']?.schema;
      return [
        `  ${JSON.stringify(`${method.toUpperCase()} ${path}`)}: {`,
        `    path: ${paramsType(ofPlace('path'))};`,
        `    query: ${paramsType(ofPlace('query'))};`,
        `    body: ${body ? typeOf(body) : 'undefined'};`,
        `    response: ${responseType(operation.responses)};`,
        '  };',
      ].join('\n');
    }),
  );
  return [
    '// Written by scripts/console-types.mjs from the OpenAPI document of the service.',
    `export interface Schemas {\n${schemas.join('\n')}\n}`,
    `export interface Operations {\n${operations.join('\n')}\n}`,
    '',
  ].join('\n');
}

function paramsType(params) {
  const fields = params.map(
    ({ name, required, schema }) => `${JSON.stringify(name)}${required ? '' : '?'}: ${typeOf(schema)}`,
  );
  return fields.length === 0 ? 'Record<never, never>' : `{ ${fields.join('; ')} }`;
}

function responseType(responses) {
  const types = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content }]) => content?.['application/json']?.schema)
    .filter((schema) => schema !== undefined)
    .map(typeOf);
  return types.length === 0 ? 'undefined' : [...new Set(types)].join(' | ');
}

/** The TypeScript type of a JSON schema. What the types cannot say, such as a pattern, is left out. */
function typeOf(schema) {
  if (schema === undefined || schema === true) return 'unknown';
  if (schema === false || schema.not !== undefined) return 'never';
  if (schema.$ref) return `Schemas[${JSON.stringify(schema.$ref.split('/').at(-1))}]`;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return `(${[...new Set(either.map(typeOf))].join(' | ')})`;
  if (schema.allOf) return `(${schema.allOf.map(typeOf).join(' & ')})`;
  if (Array.isArray(schema.type)) {
    return `(${schema.type.map((type) => typeOf({ ...schema, type })).join(' | ')})`;
  }
  if (schema.type === 'object') return objectType(schema);
  if (schema.type === 'array') return arrayType(schema);
  return (
    { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' }[
      schema.type
    ] ?? 'unknown'
  );
}

function arrayType({ prefixItems, items }) {
  return prefixItems ? `[${prefixItems.map(typeOf).join(', ')}]` : `Array<${typeOf(items)}>`;
}

function objectType({ properties = {}, required = [], additionalProperties }) {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? '' : '?';
    return `${JSON.stringify(name)}${mark}: ${typeOf(schema)}`;
  });
  if (fields.length === 0) {
    return additionalProperties === false
      ? 'Record<never, never>'
      : `Record<string, ${typeOf(additionalProperties)}>`;
  }
  const others = additionalProperties ? ' & { [name: string]: unknown }' : '';
  return `{ ${fields.join('; ')} }${others}`;
}
