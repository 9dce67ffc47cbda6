import { describe, expect, it } from 'vitest';
import { FORMS } from '../../../../console/src/pages/settings/forms.ts';
import { type JsonSchema, labelOf } from '../../../../console/src/schema-form/json-schema.ts';
import { SPANISH_HINTS, SPANISH_LABELS } from '../../../../console/src/schema-form/spanish.ts';
import type { App } from '../../../../router/src/feature.ts';
import { agentKindsApi } from '../../../../router/src/features/routes/inspect-agent-api.ts';
import { operationsOf } from '../../../../router/src/features.ts';
import { agentKinds } from '../../../../router/src/infra/agents/agent-kinds.ts';
import { openApiDocument } from '../../../../router/src/infra/operations/openapi.ts';

interface Document {
  paths: Record<string, { put: { requestBody: { content: Record<string, { schema: JsonSchema }> } } }>;
  components: { schemas: Record<string, JsonSchema> };
}

interface Kinds {
  data: { kinds: Array<{ description: string; schema: JsonSchema }>; common: JsonSchema };
}

/** What the parts of the API get that only describe it: no handler is called. */
const neverCalled: unknown = new Proxy(() => undefined, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => '' : neverCalled),
  apply: () => neverCalled,
  construct: () => neverCalled as object,
});

/** The names and descriptions of all fields that the forms of routes and settings show, in English. */
async function textsOfForms(): Promise<{ labels: string[]; hints: string[] }> {
  const given: Record<string, unknown> = {
    agentKinds,
    config: { accountId: 'default', environment: 'lab', host: '127.0.0.1' },
  };
  const app = new Proxy(given, {
    get: (known, name) => known[String(name)] ?? neverCalled,
  }) as unknown as App;
  const document = openApiDocument(operationsOf(app), {
    hasKey: true,
  }) as unknown as Document;
  const [listed] = agentKindsApi(app);
  const answer = await listed?.handle({} as Parameters<NonNullable<typeof listed>['handle']>[0]);
  const { kinds, common } = (answer as unknown as { json: Kinds }).json.data;
  const labels = new Set<string>();
  const hints = new Set(kinds.map(({ description }) => description));
  const add = (schema: JsonSchema | undefined): void => {
    if (schema === undefined) return;
    const {
      $ref,
      title,
      description,
      properties = {},
      items,
      anyOf = [],
      additionalProperties: others,
    } = schema;
    if ($ref !== undefined) add(document.components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)]);
    if (description !== undefined) hints.add(description);
    if (title !== undefined) labels.add(labelOf(title));
    for (const name of Object.keys(properties)) labels.add(labelOf(name));
    const inside = [...Object.values(properties), ...anyOf, items];
    for (const part of [...inside, typeof others === 'object' ? others : undefined]) add(part);
  };
  for (const { schema } of kinds) add(schema);
  add(common);
  for (const form of FORMS) {
    add(document.paths[`/api/settings/${form}`]?.put.requestBody.content['application/json']?.schema);
  }
  return { labels: [...labels].sort(), hints: [...hints].sort() };
}

describe('the Spanish texts of fields', () => {
  it('name every field of the forms, and no other', async () => {
    const { labels } = await textsOfForms();
    expect(labels.length).toBeGreaterThan(100);
    expect(Object.keys(SPANISH_LABELS).sort()).toEqual(labels);
  });

  it('describe every field and agent kind of the forms, and no other', async () => {
    const { hints } = await textsOfForms();
    expect(hints.length).toBeGreaterThan(100);
    expect(Object.keys(SPANISH_HINTS).sort()).toEqual(hints);
  });

  it('name the same code and the same numbers as the English ones', () => {
    const numbersOf = (text: string) =>
      (text.replaceAll(/(\d)[.,](\d{3})/g, '$1$2').match(/\d+/g) ?? []).sort().join(' ');
    const codesOf = (text: string) => (text.match(/WA2AI_[A-Z_]+/g) ?? []).join(' ');
    for (const [english, spanish] of Object.entries(SPANISH_HINTS)) {
      expect(numbersOf(spanish), english).toBe(numbersOf(english));
      expect(codesOf(spanish), english).toBe(codesOf(english));
      expect((spanish.match(/`/g) ?? []).length % 2, spanish).toBe(0);
    }
  });
});
