import { z } from 'zod';
import { routeSchemas } from '../../router/src/features/routes/route-schemas.ts';
import type { AgentKind } from '../../router/src/infra/agents/agent-kind.ts';

/** A JSON schema, as far as a table shows it. */
interface Schema {
  description?: string;
  type?: string;
  format?: string;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
}

/** Pages of the documentation with generated tables of settings. */
export const PAGES_WITH_TABLES = [
  'docs/routes.md',
  'docs/adk-agents.md',
  'docs/abi-agents.md',
  'docs/npc.md',
  'docs/a2a.md',
  'docs/openai-agents.md',
  'docs/webhook-agents.md',
  'docs/hosted-agents.md',
  'docs/console.md',
];

/**
 * The page with tables generated from the schemas of the API. A table is between the lines `<!-- generated: NAME -->` and
 * `<!-- end -->`; NAME is an agent kind, or `route` for the fields that all kinds share.
 */
export function withRouteTables(page: string, kinds: readonly AgentKind[]): string {
  const tables = routeTables(kinds);
  return page.replace(
    /(<!-- generated: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, start: string, name: string, end: string) => `${start}\n${tables.get(name)}\n\n${end}`,
  );
}

function routeTables(kinds: readonly AgentKind[]): Map<string, string> {
  const { shape } = routeSchemas(kinds).body;
  const names = kinds.map(({ name }) => `config.${name}`);
  const shared = rowsOf(jsonSchema(z.strictObject(shape))).filter(
    ([field]) => field !== 'config' && !names.some((name) => field === name || field.startsWith(`${name}.`)),
  );
  const ofKinds = kinds.map(({ name, settings }): [string, string] => [
    name,
    table(rowsOf(jsonSchema(settings), `config.${name}.`)),
  ]);
  return new Map([['route', table(shared)], ...ofKinds]);
}

function jsonSchema(schema: z.ZodType): Schema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema;
}

type Row = [field: string, values: string, meaning: string];

function rowsOf(schema: Schema, prefix = ''): Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const path = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    const described = [property, ...(property.anyOf ?? [])].find(({ description }) => description);
    const meaning = `${isRequired ? '**Required.** ' : ''}${described?.description ?? ''}`;
    const parts = [property, ...(property.anyOf ?? [])].flatMap((part) => rowsOf(part, `${path}.`));
    return [[path, valuesOf(property), meaning] satisfies Row, ...parts];
  });
}

/** What a field takes, in words. */
function valuesOf({ anyOf, enum: choices, type, format, minimum, maximum }: Schema): string {
  if (anyOf) return [...new Set(anyOf.map(valuesOf).filter((values) => values !== 'null'))].join(' or ');
  if (choices) return choices.map((choice) => `\`${choice}\``).join(', ');
  if (type === 'integer' || type === 'number') return `${minimum} to ${maximum}`;
  if (type === 'boolean') return '`true`, `false`';
  if (format === 'uri') return 'URL';
  if (format === 'uuid') return 'id';
  const words: Record<string, string> = { string: 'text', array: 'list' };
  return words[type ?? ''] ?? type ?? 'text';
}

function table(rows: Row[]): string {
  const lines = rows.map(([field, values, meaning]) => `| \`${field}\` | ${values} | ${meaning} |`);
  return ['| Field | Values | Meaning |', '| --- | --- | --- |', ...lines].join('\n');
}
