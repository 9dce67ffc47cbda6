import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  accountIdField,
  channelIdField,
  chatField,
  isRowId,
  personField,
  phoneField,
  rowIdField,
  shown,
  timeQuery,
  timeView,
  wholeNumberQuery,
} from '../../../../router/src/infra/operations/fields.ts';

/** What a field makes of a value: the converted value, or the message of its problem. */
function read(field: z.ZodType, value: unknown): unknown {
  const parsed = field.safeParse(value);
  return parsed.success ? parsed.data : `! ${parsed.error.issues[0]?.message}`;
}

const ONE_CHAT = '! must be one chat: a phone number with its country code, a JID or a group id';

it.each([
  ['default', true],
  ['0', true],
  ['a.b_c-D', true],
  ['x'.repeat(64), true],
  ['x'.repeat(65), false],
  ['', false],
  ['-a', false],
  ['.a', false],
  ['a b', false],
  ['a/b', false],
  ['ñ', false],
  ['a\n', false],
])('accountIdField: %j is valid: %s', (value, expected) => {
  expect(accountIdField.safeParse(value).success).toBe(expected);
});

describe('fields of a chat', () => {
  it.each([
    ['+54 9 3777 23-9922', '5493777239922'],
    ['5493777239922@s.whatsapp.net', '5493777239922'],
    ['5493777239922:7@s.whatsapp.net', '5493777239922'],
  ])('convert %s to its stored form', (value, stored) => {
    for (const field of [channelIdField, chatField, personField]) expect(read(field, value)).toBe(stored);
  });

  it('accept the wildcard for a route only', () => {
    expect(read(channelIdField, '*')).toBe('*');
    expect(read(chatField, '*')).toBe(ONE_CHAT);
  });

  it('accept a group as a chat, and not as a person', () => {
    expect(read(chatField, '120363025246125486@g.us')).toBe('120363025246125486@g.us');
    expect(read(personField, '120363025246125486@g.us')).toBe(
      '! must be one person: a phone number with its country code or a JID',
    );
  });

  it.each(['', 'me', 'status@broadcast', '12'])('refuse %j', (value) => {
    expect(read(channelIdField, value)).toBe(
      '! must be *, @<user name>, a phone number with its country code, a JID or a group id',
    );
    expect(read(chatField, value)).toBe(ONE_CHAT);
  });
});

it.each([
  ['+54 9 3777 239922', '5493777239922'],
  [' (54) 9.3777-239922 ', '5493777239922'],
  ['1234567', '1234567'],
  ['123456789012345', '123456789012345'],
  ['123456', '!'],
  ['1234567890123456', '!'],
  ['05493777239922', '!'],
  ['++5493777239922', '!'],
  ['5493777239922x', '!'],
  ['', '!'],
])('phoneField: %j is read as %s', (value, expected) => {
  expect(String(read(phoneField, value)).startsWith(expected)).toBe(true);
});

describe('timeQuery', () => {
  it.each(['2026-01-31T12:00:00Z', '2026-01-31T13:00:00+01:00', '2026-01-31T12:00:00.000Z'])(
    'reads %s',
    (text) => {
      expect(read(timeQuery, text)).toEqual(new Date(Date.UTC(2026, 0, 31, 12)));
    },
  );

  it.each(['2026-01-31', '2026-01-31T12:00:00', '2026-02-30T12:00:00Z', 'now', '1769860800'])(
    'refuses %s',
    (text) => {
      expect(read(timeQuery, text)).toBe('! must be a time in ISO 8601, such as 2026-01-31T12:00:00Z');
    },
  );
});

it.each([
  ['1', 1],
  ['500', 500],
  ['007', 7],
  ['0', '! must be a whole number from 1 to 500'],
  ['501', '! must be a whole number from 1 to 500'],
  ['1e2', '! must be a whole number from 1 to 500'],
  ['-1', '! must be a whole number from 1 to 500'],
  ['1.0', '! must be a whole number from 1 to 500'],
  ['', '! must be a whole number from 1 to 500'],
])('wholeNumberQuery(1, 500): %j is read as %j', (value, expected) => {
  expect(read(wholeNumberQuery(1, 500), value)).toBe(expected);
});

it.each([
  ['1', true],
  ['9223372036854775807', true],
  ['9223372036854775808', false],
  ['0', false],
  ['01', false],
  ['-1', false],
  ['1.0', false],
  ['', false],
  ['99999999999999999999', false],
])('isRowId(%j) is %s', (value, expected) => {
  expect(isRowId(value)).toBe(expected);
  expect(rowIdField.safeParse(value).success).toBe(expected);
});

describe('shown', () => {
  const view = z.object({
    id: z.string(),
    kind: z.enum(['a', 'b']),
    at: timeView,
    sinceAt: timeView.optional(),
    note: z.string().optional(),
    parts: z.array(z.object({ name: z.string(), until: timeView })).optional(),
    byName: z.record(z.string(), z.object({ count: z.int() })).optional(),
    loose: z.looseObject({ at: timeView }).optional(),
    any: z.unknown().optional(),
  });
  const row = { id: '7', kind: 'a' as const, at: new Date(0) };

  it('writes dates and milliseconds as text, and keeps a time that is text', () => {
    const parts = [{ name: 'p', until: '1970-01-01T00:00:00.002Z' }];
    expect(shown(view, { ...row, sinceAt: 0, parts, loose: { at: 1, more: 2 } })).toStrictEqual({
      id: '7',
      kind: 'a',
      at: '1970-01-01T00:00:00.000Z',
      sinceAt: '1970-01-01T00:00:00.000Z',
      parts,
      loose: { at: '1970-01-01T00:00:00.001Z', more: 2 },
    });
  });

  it('leaves out what the view does not have, at every depth, and what is undefined', () => {
    const secret = 's';
    const stored = {
      ...{ ...row, id: 7n, secret, note: undefined, any: { shown: null } },
      parts: [{ name: 'p', until: 0, secret }],
      byName: { x: { count: 1, secret } },
    };
    expect(shown(view, stored)).toStrictEqual({
      ...{ id: '7', kind: 'a', at: '1970-01-01T00:00:00.000Z', any: { shown: null } },
      parts: [{ name: 'p', until: '1970-01-01T00:00:00.000Z' }],
      byName: { x: { count: 1 } },
    });
    expect(stored.parts[0]).toHaveProperty('secret');
  });

  it('shows a value that only another version knows', () => {
    expect(shown(view, { ...row, kind: 'c' as 'a' })).toMatchObject({ kind: 'c' });
  });

  it('refuses a view whose fields it cannot tell', () => {
    const either = z.object({ of: z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]) });
    expect(() => shown(either, { of: { a: 'x' } })).toThrow('the view of a row cannot have: union');
  });
});
