import { describe, expect, it } from 'vitest';
import { type Schema, sampleOf, schemaText } from '../../../../../console/src/pages/api/schema-text.ts';

const schemas: Record<string, Schema> = {
  Person: {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string', description: 'As people write it.' },
      tags: { type: 'array', items: { type: 'string' } },
      age: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
      kind: { enum: ['a', 'b'] },
      at: { type: 'string', format: 'date-time' },
      friend: { $ref: '#/components/schemas/Person' },
      facts: { type: 'object', additionalProperties: { type: 'number' } },
    },
  },
};

describe('schemaText', () => {
  it('writes fields with their meaning, and references out', () => {
    const text = schemaText({ $ref: '#/components/schemas/Person' }, schemas);
    expect(text.split('\n').slice(0, 6)).toEqual([
      '{',
      '  // As people write it.',
      '  name: string',
      '  tags?: string[]',
      '  age?: integer | null',
      '  kind?: "a" | "b"',
    ]);
    expect(text).toContain('at?: string (date-time)');
    expect(text).toContain('[name]: number');
  });

  it('ends a schema that contains itself', () => {
    expect(schemaText({ $ref: '#/components/schemas/Person' }, schemas)).toContain('friend?: Person');
  });
});

describe('sampleOf', () => {
  it('is the example, else the required fields', () => {
    expect(sampleOf({ type: 'object', examples: [{ a: 1 }] }, {})).toEqual({ a: 1 });
    expect(sampleOf({ $ref: '#/components/schemas/Person' }, schemas)).toEqual({ name: '' });
    expect(sampleOf({ anyOf: [{ type: 'boolean' }, { type: 'null' }] }, {})).toBe(false);
    expect(sampleOf({ type: 'array', items: {} }, {})).toEqual([]);
    expect(sampleOf({ type: 'integer', default: 7 }, {})).toBe(7);
    expect(sampleOf(undefined, {})).toBeUndefined();
  });
});
