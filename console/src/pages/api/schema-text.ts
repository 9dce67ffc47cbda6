/** A JSON schema, as far as this page shows it. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  format?: string;
  additionalProperties?: boolean | Schema;
}

const MAX_DEPTH = 6;

/**
 * A schema as text, in the style of TypeScript with the meaning of each field as a comment. References are written out, up
 * to a depth, because a reader wants the fields.
 */
export function schemaText(schema: Schema | undefined, schemas: Record<string, Schema>): string {
  return written(schema ?? {}, schemas, 0);
}

function written(schema: Schema, schemas: Record<string, Schema>, depth: number): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    const found = schemas[name];
    return found === undefined || depth >= MAX_DEPTH ? name : written(found, schemas, depth);
  }
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return unique(either.map((each) => written(each, schemas, depth))).join(' | ');
  if (schema.allOf) return schema.allOf.map((each) => written(each, schemas, depth)).join(' & ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(schema.type)) {
    return unique(schema.type.map((type) => written({ ...schema, type }, schemas, depth))).join(' | ');
  }
  if (schema.type === 'array') {
    const item = written(schema.items ?? {}, schemas, depth);
    return /[ |&]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`;
  }
  if (schema.type === 'object') return objectText(schema, schemas, depth);
  return schema.format === undefined ? (schema.type ?? 'any') : `${schema.type ?? 'any'} (${schema.format})`;
}

function objectText(
  { properties = {}, required = [], additionalProperties }: Schema,
  schemas: Record<string, Schema>,
  depth: number,
): string {
  const indent = '  '.repeat(depth + 1);
  if (depth >= MAX_DEPTH) return '{ … }';
  const lines = Object.entries(properties).flatMap(([name, field]) => {
    const meaning = field.description === undefined ? [] : [`${indent}// ${field.description}`];
    const mark = required.includes(name) ? '' : '?';
    return [...meaning, `${indent}${name}${mark}: ${written(field, schemas, depth + 1)}`];
  });
  if (typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0) {
    lines.push(`${indent}[name]: ${written(additionalProperties, schemas, depth + 1)}`);
  }
  return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`;
}

/** A body to begin with: the example of the schema, else its required fields with empty values. */
export function sampleOf(schema: Schema | undefined, schemas: Record<string, Schema>, depth = 0): unknown {
  if (schema === undefined) return undefined;
  const example = schema.examples?.[0];
  if (example !== undefined) return example;
  if (schema.$ref !== undefined)
    return sampleOf(schemas[schema.$ref.split('/').at(-1) ?? ''], schemas, depth);
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const first = (schema.anyOf ?? schema.oneOf ?? schema.allOf)?.[0];
  if (first) return sampleOf(first, schemas, depth);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object') {
    const { properties = {}, required = [] } = schema;
    if (depth >= MAX_DEPTH) return {};
    return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name], schemas, depth + 1)]));
  }
  return { array: [], string: '', integer: 0, number: 0, boolean: false }[type ?? ''] ?? null;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
