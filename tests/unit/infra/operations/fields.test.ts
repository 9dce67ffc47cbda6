import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import {
  accountIdField,
  channelIdField,
  chatField,
  isRowId,
  personField,
  phoneField,
  rowIdField,
  timeQuery,
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
