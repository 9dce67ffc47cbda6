import { callAny } from '../../api/call.ts';
import type { JsonSchema } from '../../schema-form/json-schema.ts';
import type { FormName } from './forms.ts';

interface Document {
  paths: Record<string, { put: { requestBody: { content: Record<string, { schema: JsonSchema }> } } }>;
  components: { schemas: Record<string, JsonSchema> };
}

let document: Promise<Document> | undefined;

/** The schema of the body that stores these settings, from the OpenAPI document of the service. @throws {Problem} */
export async function schemaOf(name: FormName): Promise<JsonSchema> {
  document ??= callAny('GET /openapi.json') as Promise<Document>;
  // a failed request is made again by the next form
  document.catch(() => {
    document = undefined;
  });
  const { paths, components } = await document;
  const body = paths[`/api/settings/${name}`]?.put.requestBody.content['application/json']?.schema ?? {};
  return withoutReferences(body, components.schemas);
}

function withoutReferences(schema: JsonSchema, named: Record<string, JsonSchema>): JsonSchema {
  const { $ref } = schema;
  const found = $ref === undefined ? schema : (named[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {});
  const inside = (part: JsonSchema) => withoutReferences(part, named);
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
