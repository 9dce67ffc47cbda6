import { baseUrl } from '../../api/base-url.ts';
import { Problem } from '../../api/problem.ts';
import type { Schema } from './schema-text.ts';

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Content {
  schema?: Schema;
  example?: unknown;
}

interface Described {
  operationId: string;
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, Content> };
  responses: Record<string, { description?: string; content?: Record<string, Content> }>;
  security?: Array<Record<string, string[]>>;
}

/** One operation with its method and path. */
export interface Operation extends Described {
  method: string;
  path: string;
}

/** The OpenAPI document of the service, with its operations in the order of their tags. */
export interface ApiDocument {
  version: string;
  tags: Array<{ name: string; description?: string }>;
  operations: Operation[];
  schemas: Record<string, Schema>;
}

/** Loads the document. @throws {Problem} the service does not answer */
export async function loadDocument(): Promise<ApiDocument> {
  const response = await fetch(new URL('openapi.json', baseUrl), { credentials: 'same-origin' });
  if (!response.ok) throw new Problem(response.status, 'HTTP', `The service answered ${response.status}.`);
  const document = (await response.json()) as {
    info: { version: string };
    tags: ApiDocument['tags'];
    paths: Record<string, Record<string, Described>>;
    components?: { schemas?: Record<string, Schema> };
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      ...described,
      method: method.toUpperCase(),
      path,
    })),
  );
  return {
    version: document.info.version,
    tags: document.tags,
    operations,
    schemas: document.components?.schemas ?? {},
  };
}

/** The scopes that an operation needs; undefined: none, and no login either. */
export function scopesOf({ security = [] }: Operation): readonly string[] | undefined {
  if (security.length === 0) return undefined;
  return security.flatMap((each) => each.apiKey ?? []);
}

/** Whether a schema, a parameter or a summary has all these words. */
export function fits({ method, path, summary = '', operationId }: Operation, wanted: string): boolean {
  const text = `${method} ${path} ${summary} ${operationId}`.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
