/** A JSON Schema, as OpenAPI and the tools of MCP describe what a program may send. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  minimum?: number;
  exclusiveMinimum?: number;
}

const MAX_DEPTH = 8;

/** Makes a value around a text. */
type ValueWith = (text: string) => unknown;

/**
 * Values of a schema that have a text at one place each: in every field that takes a text, and as every name of a field
 * that is free. All other fields that the schema requires have the shortest value.
 * @param resolve finds the schema of a `$ref`
 */
export function valuesWithText(schema: Schema, resolve: (ref: string) => Schema, depth = 0): ValueWith[] {
  if (depth > MAX_DEPTH) return [];
  const within = (inner: Schema) => valuesWithText(inner, resolve, depth + 1);
  if (schema.$ref !== undefined) return within(resolve(schema.$ref));
  const options = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (options) return options.flatMap(within);
  if (schema.const !== undefined || schema.enum) return [(text) => text];
  if (schema.properties || typeof schema.additionalProperties === 'object') {
    const others = () => shortest(schema, resolve) as Record<string, unknown>;
    const free = schema.additionalProperties;
    return [
      ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
        within(property).map(
          (value): ValueWith =>
            (text) => ({ ...others(), [name]: value(text) }),
        ),
      ),
      ...(typeof free === 'object'
        ? [
            (text: string) => ({ ...others(), [text]: shortest(free, resolve) }),
            ...within(free).map(
              (value): ValueWith =>
                (text) => ({ ...others(), name: value(text) }),
            ),
          ]
        : []),
    ];
  }
  if (typeof schema.items === 'object') return within(schema.items).map((value) => (text) => [value(text)]);
  const types = schema.type === undefined ? ['string'] : [schema.type].flat();
  return types.includes('string') ? [(text) => text] : [];
}

function shortest(schema: Schema, resolve: (ref: string) => Schema, depth = 0): unknown {
  if (depth > MAX_DEPTH) return null;
  const within = (inner: Schema) => shortest(inner, resolve, depth + 1);
  if (schema.$ref !== undefined) return within(resolve(schema.$ref));
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [option] = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
  if (option) return within(option);
  switch ([schema.type].flat()[0]) {
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, within(schema.properties?.[name] ?? {})]),
      );
    case 'array':
      return [];
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, schema.exclusiveMinimum ?? 1);
    default:
      return 'a';
  }
}
