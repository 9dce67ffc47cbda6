import { describe, expect, it } from 'vitest';
import { fieldKindOf, type JsonSchema, labelOf } from '../../../../console/src/schema-form/json-schema.ts';
import { agentKindsApi } from '../../../../router/src/features/routes/feature.ts';
import { agentKinds } from '../../../../router/src/infra/agents/agent-kinds.ts';

const TEXTS_AND_OBJECTS: JsonSchema = { anyOf: [{ type: 'string' }, { type: 'object' }] };

describe('fieldKindOf', () => {
  it.each<[string, JsonSchema]>([
    ['text', { type: 'string' }],
    ['secret', { type: 'string', format: 'password' }],
    ['number', { type: 'integer' }],
    ['number', { type: 'number' }],
    ['boolean', { type: 'boolean' }],
    ['choice', { type: 'string', enum: ['a', 'b'] }],
    ['choices', { type: 'array', items: { type: 'string', enum: ['a'] } }],
    ['lines', { type: 'array', items: { type: 'string' } }],
    ['map', { type: 'object', additionalProperties: { type: 'string' } }],
    ['record', { type: 'object', additionalProperties: { type: 'object', properties: { a: {} } } }],
    ['section', { type: 'object', properties: { a: {} } }],
    ['switch-or-text', { anyOf: [{ type: 'boolean' }, { type: 'string' }] }],
    ['json', { anyOf: [{ type: 'array' }, { type: 'string' }] }],
    ['lines-or-text', { anyOf: [{ type: 'array', items: TEXTS_AND_OBJECTS }, { type: 'string' }] }],
    ['text-or-section', { anyOf: [{ type: 'string' }, { type: 'object', properties: { a: {} } }] }],
    ['json', { anyOf: [{ type: 'string' }, { type: 'object' }] }],
    ['json', { anyOf: [{ type: 'string' }, { type: 'boolean' }, { type: 'array' }] }],
    ['json', { type: 'object', additionalProperties: {} }],
    ['json', { type: 'array', items: { type: 'object' } }],
    ['json', {}],
  ])('is %s for %j', (kind, schema) => {
    expect(fieldKindOf(schema)).toBe(kind);
  });

  it('shows all but a few settings of the agent kinds without JSON', async () => {
    const [endpoint] = agentKindsApi({ agentKinds });
    const answer = (await endpoint?.handle({} as never)) as {
      json: { data: { kinds: Array<{ name: string; schema: JsonSchema }>; common: JsonSchema } };
    };
    const { kinds, common } = answer.json.data;
    const asJson: string[] = [];
    const collect = (path: string, schema: JsonSchema) => {
      if (fieldKindOf(schema) === 'json') asJson.push(path);
      for (const [name, field] of Object.entries(schema.properties ?? {})) collect(`${path}.${name}`, field);
    };
    for (const { name, schema } of kinds) collect(name, schema);
    collect('common', common);
    expect(asJson).toEqual(['npc.params', 'hosted.options', 'abi.args', 'webhook.body']);
  });
});

it('labels say the name of a field in words', () => {
  const names = ['appName', 'timeoutMs', 'memoryMb', 'baseUrl', 'fallbackRouteId', 'media', 'isGroup'];
  expect(names.map(labelOf)).toEqual([
    'App name',
    'Timeout',
    'Memory',
    'Base URL',
    'Fallback route id',
    'Media',
    'Is group',
  ]);
});
