import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { issueOf, PHRASES, type Phrase, type PhraseCode, say } from '../../../../router/src/core/phrases.ts';
import { invalid, PROBLEM_CODE, validate } from '../../../../router/src/infra/operations/form.ts';
import { HttpProblem } from '../../../../router/src/infra/operations/problem.ts';

/** The problem that a value causes. */
function problemOf(schema: z.ZodType, value: unknown, what: 'body' | 'query' | 'headers' = 'body') {
  try {
    validate(schema, value, what);
  } catch (error) {
    if (error instanceof HttpProblem) return error;
    throw error;
  }
  throw new Error('the value is valid');
}

function type(code: PhraseCode): Phrase {
  return { code: 'field.type', values: { type: { code } } };
}

function oneOf(values: string | Phrase): Phrase {
  return { code: 'field.one-of', values: { values } };
}

/** An object with one object in another. */
function nested(depth: number): unknown {
  let value: unknown = 'leaf';
  for (let level = 0; level < depth; level++) value = { a: value };
  return value;
}

describe('validate', () => {
  it('returns the parsed value, with defaults and conversions', () => {
    const schema = z.object({ n: z.string().transform(Number), m: z.int().default(7) });
    expect(validate(schema, { n: '5' }, 'query')).toEqual({ n: 5, m: 7 });
  });

  it.each([
    ['body', 'INVALID_BODY'],
    ['query', 'INVALID_QUERY'],
    ['headers', 'INVALID_HEADERS'],
  ] as const)('names the %s by its code %s', (what, code) => {
    expect(problemOf(z.object({ a: z.string() }), {}, what)).toMatchObject({ status: 400, code });
  });

  it.each<[z.ZodType, unknown, string, Phrase?]>([
    [z.string(), undefined, 'is missing', { code: 'field.missing' }],
    [z.string(), 7, 'must be a string', type('type.string')],
    [z.int(), 1.5, 'must be a whole number', type('type.int')],
    [z.number(), 'x', 'must be a number', type('type.number')],
    [z.object({}), null, 'must be a JSON object', { code: 'field.json-object' }],
    [z.record(z.string(), z.string()), [], 'must be a JSON object', { code: 'field.json-object' }],
    [z.enum(['a', 'b']), 'c', 'must be a or b', oneOf({ code: 'or', values: { values: 'a', last: 'b' } })],
    [z.literal(1), 2, 'must be 1', oneOf('1')],
    [
      z.string().min(2),
      'x',
      'must have at least 2 characters',
      { code: 'field.min-chars', values: { min: '2' } },
    ],
    [
      z.string().max(2),
      'xyz',
      'must have at most 2 characters',
      { code: 'field.max-chars', values: { max: '2' } },
    ],
    [z.int().min(2), 1, 'must be at least 2', { code: 'field.at-least', values: { min: '2' } }],
    [z.int().max(2), 3, 'must be at most 2', { code: 'field.at-most', values: { max: '2' } }],
    [z.string().refine(() => false, 'is out of season'), 'x', 'is out of season'],
  ])('has a sentence for case %#', (field, value, message, phrase) => {
    const problem = problemOf(z.object({ a: field }), { a: value });
    expect(problem.message).toBe(`a ${message}.`);
    expect(problem.details).toEqual([{ field: 'a', message, phrase }]);
  });

  it('names the part of the request when the whole of it is wrong', () => {
    expect(problemOf(z.object({}), 'x').message).toBe('The body must be a JSON object.');
  });

  it('reports all mistakes at once, and each unknown field', () => {
    const schema = z.object({ a: z.strictObject({ b: z.string() }), c: z.string() });
    expect(problemOf(schema, { a: { b: 7, d: 1, e: 2 } }).details).toEqual([
      { field: 'a.b', message: 'must be a string', phrase: type('type.string') },
      { field: 'a.d', message: 'is not a known field', phrase: { code: 'field.unknown' } },
      { field: 'a.e', message: 'is not a known field', phrase: { code: 'field.unknown' } },
      { field: 'c', message: 'is missing', phrase: { code: 'field.missing' } },
    ]);
  });

  it('guesses what an unknown field means: a similar one, or the only one that is missing', () => {
    const schema = z.strictObject({ to: z.string(), text: z.string(), limit: z.number().optional() });
    const guessOf = (value: unknown) =>
      problemOf(schema, value).details?.map(({ field, phrase }) => [field, phrase?.values?.guess]);
    expect(guessOf({ channelId: '1', text: 'a' })).toEqual([
      ['to', undefined],
      ['channelId', 'to'],
    ]);
    expect(guessOf({ to: '1', text: 'a', limits: 1 })).toEqual([['limits', 'limit']]);
    expect(guessOf({ to: '1', text: 'a', x: 1 })).toEqual([['x', undefined]]);
    expect(guessOf({ to: '1', text: 'a', texts: 1 })).toEqual([['texts', undefined]]);
    expect(problemOf(schema, { to: '1', text: 'a', limits: 1 }).message).toBe(
      'limits is not a known field, perhaps you mean limit.',
    );
  });

  it('guesses the only field whose name is related', () => {
    const [text, number] = [z.string().optional(), z.number().optional()];
    const schema = z.strictObject({
      agentEndpoint: text,
      days: text,
      needsYou: text,
      failed: number,
      failedAt: number,
    });
    const guessOf = (key: string) => problemOf(schema, { [key]: 1 }).details?.[0]?.phrase?.values?.guess;
    expect(['agentUrl', 'weekdays', 'needs'].map(guessOf)).toEqual(['agentEndpoint', 'days', 'needsYou']);
    expect(['failedCount', 'age', 'reason'].map(guessOf)).toEqual([undefined, undefined, undefined]);
  });

  it('guesses no more fields than it shows, however many are unknown', () => {
    let looks = 0;
    const limit = z.preprocess((value) => {
      looks += 1;
      return value;
    }, z.number().optional());
    const rows = Array.from({ length: 1_000 }, (_, index) => ({ [`limits${index}`]: 1 }));
    const { details } = problemOf(z.array(z.strictObject({ limit })), rows);
    expect(details).toHaveLength(20);
    // once to read each row, and once to guess what a field that is shown means
    expect(looks).toBe(rows.length + 20);
  });

  it('refuses a name that the keys of a record do not allow', () => {
    const schema = z.object({ h: z.record(z.string().regex(/^x/), z.string()) });
    expect(problemOf(schema, { h: { 'a b': 'c' } }).message).toBe('h.a b has a name that is not allowed.');
  });

  it('has the phrase of an issue, and that of a sentence without values', () => {
    const field = z.string().superRefine((_value, context) => {
      context.addIssue({ code: 'custom', ...issueOf(say('field.needs-in-text', { what: '@1' })) });
    });
    const other = z.string().min(3, PHRASES['field.not-blank']);
    expect(problemOf(z.object({ a: field, b: other }), { a: 'x', b: '' }).details).toEqual([
      {
        field: 'a',
        message: 'needs @1 in the text',
        phrase: { code: 'field.needs-in-text', values: { what: '@1' } },
      },
      { field: 'b', message: 'must not be blank', phrase: { code: 'field.not-blank' } },
    ]);
  });

  it('uses the code of an issue for the whole problem', () => {
    const field = z.string().superRefine((_value, context) => {
      const params = { [PROBLEM_CODE]: 'INVALID_REGEX_PATTERN' };
      context.addIssue({ code: 'custom', message: 'is wrong', params });
    });
    const problem = problemOf(z.object({ a: z.string(), b: field }), { b: 'x' });
    expect(problem).toMatchObject({ code: 'INVALID_REGEX_PATTERN', message: 'a is missing. b is wrong.' });
  });

  it.each([
    [{ a: 'x\0y' }, 'a'],
    [{ a: ['ok', '\ud800'] }, 'a.1'],
    [{ a: { 'k\0': 1 } }, 'a'],
    ['\udc00', ''],
  ])('refuses text that PostgreSQL cannot store: %j', (value, field) => {
    expect(problemOf(z.unknown(), value).details).toEqual([
      {
        field,
        message: 'must not contain NUL characters or invalid Unicode',
        phrase: { code: 'field.unicode' },
      },
    ]);
  });

  it('accepts 32 levels of nesting and no more', () => {
    expect(validate(z.unknown(), nested(32), 'body')).toEqual(nested(32));
    expect(problemOf(z.unknown(), nested(33)).message).toBe(
      'The body must not be nested deeper than 32 levels.',
    );
    expect(problemOf(z.unknown(), nested(1_000_000)).status).toBe(400);
  });

  it('shortens a long name in a problem', () => {
    const { details = [] } = problemOf(z.strictObject({}), { ['x'.repeat(61)]: 1 });
    expect(details[0]?.field).toBe(`${'x'.repeat(60)}…`);
  });
});

describe('invalid', () => {
  it('shows at most 20 mistakes', () => {
    const problem = invalid(
      'body',
      Array.from({ length: 25 }, (_, n) => ({ field: `f${n}`, message: 'is wrong' })),
    );
    expect(problem.details).toHaveLength(20);
    expect(problem.message).toMatch(/f19 is wrong\.$/);
  });
});
