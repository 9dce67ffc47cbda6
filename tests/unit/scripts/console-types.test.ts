import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../../support/repository.ts';

const { typesOf } = await import(pathToFileURL(join(repositoryRoot, 'scripts/console-types.mjs')).href);

const ok = (schema: unknown) => ({ 200: { content: { 'application/json': { schema } } } });

describe('the types of the API for the console', () => {
  it('have the parameters, body and response of each operation', () => {
    const text = typesOf({
      components: { schemas: { Name: { type: 'string' } } },
      paths: {
        '/api/things/{id}': {
          put: {
            parameters: [
              { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
              { name: 'limit', in: 'query', schema: { type: 'integer' } },
            ],
            requestBody: {
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Name' } } },
            },
            responses: { ...ok({ type: 'boolean' }), 400: ok({ type: 'string' })[200] },
          },
        },
      },
    });
    expect(text).toContain('"Name": string;');
    expect(text).toContain('"PUT /api/things/{id}": {');
    expect(text).toContain('path: { "id": string };');
    expect(text).toContain('query: { "limit"?: number };');
    expect(text).toContain('body: Schemas["Name"];');
    expect(text).toContain('response: boolean;');
  });

  it.each([
    [{ enum: ['a', 'b'] }, '"a" | "b"'],
    [{ const: 1 }, '1'],
    [{ type: ['string', 'null'] }, '(string | null)'],
    [{ anyOf: [{ type: 'number' }, { type: 'null' }] }, '(number | null)'],
    [{ type: 'array', items: { type: 'string' } }, 'Array<string>'],
    [{ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }, '{ "a": string }'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
    [{ type: 'object', additionalProperties: false }, 'Record<never, never>'],
    [{}, 'unknown'],
  ])('write %j as a type', (schema, type) => {
    expect(typesOf({ components: { schemas: { It: schema } }, paths: {} })).toContain(`"It": ${type};`);
  });
});
