import { describe, expect, it } from 'vitest';
import { FORMS } from '../../../../console/src/pages/settings/forms.ts';
import { hintOf, type JsonSchema } from '../../../../console/src/schema-form/json-schema.ts';
import { en, type Language } from '../../../../console/src/translation/en.ts';
import { LANGUAGES } from '../../../../console/src/translation/languages.ts';
import { envSchema } from '../../../../router/src/config/config.ts';
import { ACCOUNT_STATES } from '../../../../router/src/core/cluster/account-state.ts';
import { PHRASES, type PhraseCode, saidBy } from '../../../../router/src/core/phrases.ts';
import type { App } from '../../../../router/src/feature.ts';
import { agentKindsApi } from '../../../../router/src/features/routes/feature.ts';
import { operationsOf, tagsOf } from '../../../../router/src/features.ts';
import { agentKinds } from '../../../../router/src/infra/agents/agent-kinds.ts';
import { openApiDocument } from '../../../../router/src/infra/operations/openapi.ts';
import { readDocument } from '../../../support/documents.ts';

interface Document {
  paths: Record<string, { put: { requestBody: { content: Record<string, { schema: JsonSchema }> } } }>;
  components: { schemas: Record<string, JsonSchema> };
}

interface Kinds {
  data: { kinds: Array<{ name: string; description: string; schema: JsonSchema }>; common: JsonSchema };
}

/** What the parts of the API get that only describe it: no handler is called. */
const neverCalled: unknown = new Proxy(() => undefined, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => '' : neverCalled),
  apply: () => neverCalled,
  construct: () => neverCalled as object,
});

/** Only what describes the API works. */
const app = new Proxy<Record<string, unknown>>(
  { agentKinds, config: { accountId: 'default', environment: 'lab', host: '127.0.0.1' } },
  { get: (known, name) => known[String(name)] ?? neverCalled },
) as unknown as App;

/** What the checks of a schema say about a wrong value, those of its parts too. */
function mistakesOf(schema: unknown, seen = new Set<unknown>()): string[] {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return [];
  seen.add(schema);
  if (Array.isArray(schema)) return schema.flatMap((part) => mistakesOf(part, seen));
  if (!('_zod' in schema)) return Object.values(schema).flatMap((part) => mistakesOf(part, seen));
  const { def } = schema._zod as { def: Record<string, unknown> & { type?: string } };
  const hasPhrase = (def.params as { phrase?: unknown } | undefined)?.phrase !== undefined;
  const said = typeof def.error === 'function' && !hasPhrase ? [def.error({ code: 'custom' })] : [];
  const parts = def.type === 'lazy' ? [(def.getter as () => unknown)()] : Object.values(def);
  return [
    ...said.filter((each): each is string => typeof each === 'string'),
    ...parts.flatMap((part) => mistakesOf(part, seen)),
  ];
}

/** The names of all fields that the forms of routes and settings show, and the path and description of each. */
async function fieldsOfForms(): Promise<{ names: string[]; fields: Array<[string[], string]> }> {
  const document = openApiDocument(operationsOf(app), {
    hasKey: true,
    tags: tagsOf(),
  }) as unknown as Document;
  const [listed] = agentKindsApi(app);
  const answer = await listed?.handle({} as Parameters<NonNullable<typeof listed>['handle']>[0]);
  const { kinds, common } = (answer as unknown as { json: Kinds }).json.data;
  const names = new Set<string>();
  const fields: Array<[string[], string]> = [];
  const add = (path: string[], schema: JsonSchema | undefined): void => {
    if (schema === undefined) return;
    const { $ref, title, description, properties, items, anyOf = [], additionalProperties: others } = schema;
    if ($ref !== undefined) add(path, document.components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)]);
    if (description !== undefined) fields.push([path, description]);
    if (title !== undefined) names.add(title);
    for (const [name, part] of Object.entries(properties ?? {})) {
      names.add(name);
      add([...path, name], part);
    }
    for (const part of [...anyOf, items]) add(path, part);
    if (typeof others === 'object') add([...path, 'default'], others);
  };
  for (const { name, description, schema } of kinds) {
    fields.push([[name], description]);
    add(['config', name], schema);
  }
  add(['config'], common);
  for (const form of FORMS) {
    add([form], document.paths[`/api/settings/${form}`]?.put.requestBody.content['application/json']?.schema);
  }
  return { names: [...names].sort(), fields };
}

/** Entries of docs/troubleshooting.md, without those of a service that does not start. */
function codesOfDocs(): string[] {
  const page = readDocument('docs/troubleshooting.md').replace(
    /^## Errors that stop the start$[\s\S]*?(?=^## |$(?![\s\S]))/m,
    '',
  );
  const titles = [...page.matchAll(/^### (\S+)$/gm)].map(([, title = '']) => title);
  const states: readonly string[] = ACCOUNT_STATES;
  return titles.filter((title) => !states.includes(title)).sort();
}

const numbersOf = (text: string) =>
  (text.replaceAll(/(\d)[.,](\d{3})/g, '$1$2').match(/\d+/g) ?? []).sort().join(' ');
const namesOf = (text: string) =>
  (text.match(/\b(?:WA2AI_[A-Z_]+|https?:\/\/\w\S*)/g) ?? []).sort().join(' ');

function expectSameFacts(translated: string | undefined, english: string): void {
  expect(numbersOf(translated ?? ''), english).toBe(numbersOf(english));
  expect(namesOf(translated ?? ''), english).toBe(namesOf(english));
}

/** The values that a text has places for, by the path of each text of a page. */
function valuesOf(texts: object): Array<[string, string]> {
  return Object.entries(texts).flatMap(([name, text]): Array<[string, string]> => {
    if (typeof text === 'string') return [[name, (text.match(/\{\w+\}/g) ?? []).sort().join(' ')]];
    return typeof text === 'object' ? valuesOf(text).map(([end, values]) => [`${name}.${end}`, values]) : [];
  });
}

describe('what is wrong with a field of a request', () => {
  const requests = operationsOf(app).map(({ body, query }) => [body, query]);
  const settings = agentKinds.map((kind) => kind.settings);

  it('has a code by which the console translates it', () => {
    const mistakes = mistakesOf([requests, settings]);
    expect(mistakes.length).toBeGreaterThan(40);
    expect([...new Set(mistakes)].filter((mistake) => !saidBy(mistake).phrase)).toEqual([]);
  });
});

const others = Object.entries(LANGUAGES).filter(([code]) => code !== 'en');

describe.each(others)('the language %s of the console', (_, { load }) => {
  it('has the same values in each text of a page as English', async () => {
    const { service, ...pages } = await load();
    expect(valuesOf(pages)).toEqual(valuesOf(en));
  });

  it('has the same values in each sentence of the service as English', async () => {
    const { phrases } = (await load()).service as NonNullable<Language['service']>;
    for (const [code, english] of Object.entries(PHRASES)) {
      const translated = phrases[code as PhraseCode];
      const without = (text: string) => text.replaceAll(/\{\w+\}/g, '');
      expectSameFacts(without(translated), without(english));
      expect((translated.match(/`/g) ?? []).length % 2, translated).toBe(0);
    }
    expect(valuesOf(phrases).sort()).toEqual(valuesOf(PHRASES).sort());
  });

  it('says what each setting means, and no other', async () => {
    const { service } = await load();
    expect(Object.keys(service?.settings ?? {}).sort()).toEqual(Object.keys(envSchema.shape).sort());
    for (const [name, { description = '' }] of Object.entries(envSchema.shape)) {
      expectSameFacts(service?.settings[name], description);
    }
  });

  it('says what each reason and error code means, and no other', async () => {
    const { service } = await load();
    expect(Object.keys(service?.codes ?? {}).sort()).toEqual(codesOfDocs());
  });

  it('names every field of the forms, and no other', async () => {
    const { service } = await load();
    expect(Object.keys(service?.labels ?? {}).sort()).toEqual((await fieldsOfForms()).names);
  });

  it('describes every field and agent kind of the forms, and no other', async () => {
    const { hints = {} } = (await load()).service ?? {};
    const { fields } = await fieldsOfForms();
    const used = new Map<string, string>();
    for (const [path, english] of fields) {
      const hint = hintOf(hints, path);
      expectSameFacts(hint, english);
      const others = fields.filter(([, other]) => other !== english).map(([other]) => hintOf(hints, other));
      expect(others, path.join('.')).not.toContain(hint);
      used.set(hint ?? '', english);
    }
    expect(Object.values(hints).filter((hint) => !used.has(hint))).toEqual([]);
  });
});
