import { callAny } from '../../api/call.ts';
import type { FormName } from './texts.ts';

/** The part of a JSON schema that the forms use. */
export interface Schema {
  $ref?: string;
  type?: string;
  description?: string;
  enum?: string[];
  anyOf?: Schema[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  required?: string[];
}

interface Document {
  paths: Record<string, { put: { requestBody: { content: Record<string, { schema: Schema }> } } }>;
  components: { schemas: Record<string, Schema> };
}

let document: Promise<Document> | undefined;

/** The schema of the body that stores these settings, from the OpenAPI document of the service. @throws {Problem} */
export async function schemaOf(name: FormName): Promise<Schema> {
  document ??= callAny('GET /openapi.json') as Promise<Document>;
  // a failed request is made again by the next form
  document.catch(() => {
    document = undefined;
  });
  const { paths, components } = await document;
  const body = paths[`/api/settings/${name}`]?.put.requestBody.content['application/json']?.schema ?? {};
  return withoutReferences(body, components.schemas);
}

function withoutReferences(schema: Schema, named: Record<string, Schema>): Schema {
  const { $ref } = schema;
  const found = $ref === undefined ? schema : (named[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {});
  const inside = (part: Schema) => withoutReferences(part, named);
  const { properties, items, anyOf, additionalProperties: others } = found;
  return {
    ...found,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([key, part]) => [key, inside(part)])),
    }),
    ...(items && { items: inside(items) }),
    ...(anyOf && { anyOf: anyOf.map(inside) }),
    ...(typeof others === 'object' && { additionalProperties: inside(others) }),
  };
}

/** How a value is edited. */
export type FieldKind =
  | 'choice'
  | 'switch'
  | 'number'
  | 'text'
  | 'switch-or-text'
  | 'choices'
  | 'lines'
  | 'group'
  | 'record'
  | 'json';

export function kindOf({
  type,
  enum: values,
  items,
  anyOf,
  properties,
  additionalProperties,
}: Schema): FieldKind {
  if (values) return 'choice';
  if (anyOf?.every((each) => each.type === 'boolean' || each.type === 'string')) return 'switch-or-text';
  if (type === 'boolean') return 'switch';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string') return 'text';
  if (type === 'array' && items?.enum) return 'choices';
  if (type === 'array' && items?.type === 'string') return 'lines';
  if (properties) return 'group';
  if (typeof additionalProperties === 'object' && additionalProperties.properties) return 'record';
  return 'json';
}
