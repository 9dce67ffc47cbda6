import { Validator } from '@seriousme/openapi-schema-validator';
import type { Express } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHttpApp } from '../../../../router/src/infra/operations/server.ts';
import { ADMIN_KEY, type HttpApi, startHttpApi } from '../../../support/http-api.ts';

type Json = Record<string, unknown>;
interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  parameters?: Array<{ name: string; in: string; description?: string; schema: Json }>;
  requestBody?: { content: Record<string, { schema: Json; example?: unknown }> };
  responses: Record<string, Json>;
  security: unknown[];
}
/** One entry of an Express router. */
interface Layer {
  route?: { path: string; stack: Array<{ method?: string }> };
}
interface Document {
  openapi: string;
  servers: unknown;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json> };
}

let api: HttpApi;
let document: Document;
beforeAll(async () => {
  api = await startHttpApi({ apiKey: ADMIN_KEY });
  document = (await api.call('GET', '/openapi.json')).body;
});
afterAll(() => api.close());

function describedOperations(): string[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method} ${path}`),
  );
}

/** Reads the routes of Express, not the list that generates both. */
function mountedOperations(app: Express): string[] {
  const routers = app.router.stack.map(({ handle }) => handle as unknown as { stack?: Layer[] });
  return routers
    .flatMap(({ stack }) => stack ?? [])
    .flatMap(({ route }) => {
      if (!route) return [];
      const path = route.path.replace(/:(\w+)/g, '{$1}');
      const methods = route.stack.flatMap(({ method }) => method ?? []);
      return [...new Set(methods)].map((method) => `${method} ${path}`);
    });
}

function at(pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((value, key) => (value as Json | undefined)?.[key], document);
}

describe('GET /openapi.json', () => {
  it('describes exactly the mounted operations', () => {
    const mounted = mountedOperations(createHttpApp(api.options));
    expect(mounted.length).toBeGreaterThan(20);
    expect(describedOperations().sort()).toEqual(mounted.sort());
  });

  it('is valid OpenAPI 3.1 for an independent validator', async () => {
    const { valid, errors } = await new Validator().validate({ ...document });
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  it('is OpenAPI 3.1 whose references all resolve', () => {
    expect(document.openapi).toBe('3.1.0');
    // Relative to the document: a proxy may have removed a prefix from its path.
    expect(document.servers).toEqual([{ url: './' }]);
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#([^"]*)"/g)].map(
      ([, pointer]) => pointer,
    );
    expect(references.length).toBeGreaterThan(10);
    for (const pointer of references) expect(at(pointer as string), pointer).toBeDefined();
    expect(JSON.stringify(document)).not.toContain('$defs');
  });

  it('names each operation once and each parameter of its path', () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.values(methods).map((operation) => ({ path, operation })),
    );
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, operation } of operations) {
      const inPath = (operation.parameters ?? [])
        .filter((parameter) => parameter.in === 'path')
        .map(({ name }) => `{${name}}`);
      expect(path.match(/\{\w+\}/g) ?? []).toEqual(inPath);
      expect(operation.operationId).toMatch(/^[a-z]+[A-Za-z]*$/);
      expect(operation.tags).toHaveLength(1);
      expect(operation.summary).not.toBe('');
      expect(Object.keys(operation.responses).some((status) => Number(status) < 400)).toBe(true);
    }
  });

  it('has an example for every JSON body and for the resources', () => {
    const { schemas } = document.components;
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const [method, { requestBody }] of Object.entries(operations)) {
        const content = requestBody?.content['application/json'];
        if (content) expect(content.example, `${method} ${path}`).toBeDefined();
      }
    }
    for (const name of ['Account', 'Message', 'SentMessage', 'DeadLetter', 'Problem']) {
      expect(schemas[name]?.examples, name).toBeDefined();
    }
  });

  it('describes the fields, types and limits of a route', () => {
    const body = document.paths['/api/routes']?.post?.requestBody?.content['application/json']?.schema;
    expect(body).toEqual({ $ref: '#/components/schemas/NewRoute' });
    expect(document.components.schemas.NewRoute).toMatchObject({
      type: 'object',
      additionalProperties: false,
      required: ['channelId', 'config'],
      properties: {
        environment: { enum: ['lab', 'prod'] },
        priority: { type: 'integer', minimum: -1_000_000, maximum: 1_000_000 },
        config: { properties: { adk: { required: ['appName'] } } },
      },
    });
  });

  it('says which operations need the key', async () => {
    const keys = [{ apiKey: ['routes:read'] }, { bearer: ['routes:read'] }];
    expect(document.paths['/api/routes']?.get?.security).toEqual(keys);
    expect(document.paths['/health/live']?.get?.security).toEqual([]);
    const open = await startHttpApi();
    const withoutKey = (await open.call('GET', '/openapi.json')).body as Document;
    await open.close();
    expect(withoutKey.paths['/api/routes']?.get?.security).toEqual([{}, ...keys]);
  });

  it.each(['get', 'post', 'put', 'patch', 'delete'])(
    'describes only operations that exist: %s',
    async (method) => {
      for (const [path, operations] of Object.entries(document.paths)) {
        // It is a stream, which has no end.
        if (!operations[method] || path === '/api/events') continue;
        const headers = { 'x-api-key': ADMIN_KEY };
        const answer = await api.call(
          method.toUpperCase(),
          path.replace(/\{\w+\}/, 'x'),
          method === 'get' ? undefined : {},
          headers,
        );
        const described = Object.keys(operations[method].responses);
        expect(described, `${method} ${path} answered ${answer.status}`).toContain(String(answer.status));
      }
    },
  );
});
