import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import {
  headersField,
  httpUrlField,
  notBlank,
  timeoutField,
} from '../../../../router/src/infra/agents/setting-fields.ts';

const isValid = (field: z.ZodType, value: unknown) => field.safeParse(value).success;

describe('httpUrlField', () => {
  it.each(['http://localhost:8000', 'https://agent.example/path?tenant=a', 'HTTP://[::1]:9'])(
    'accepts %s',
    (url) => {
      expect(isValid(httpUrlField, url)).toBe(true);
    },
  );

  it.each([
    ['', 'must be an http:// or https:// URL'],
    ['localhost:8000', 'must be an http:// or https:// URL'],
    ['http://', 'must be an http:// or https:// URL'],
    ['file:///etc/passwd', 'must be an http:// or https:// URL'],
    ['http://user@a', 'must not contain a user name or password; use the headers of the agent kind'],
    ['http://:pass@a', 'must not contain a user name or password; use the headers of the agent kind'],
  ])('refuses %j', (url, message) => {
    expect(httpUrlField.safeParse(url).error?.issues).toMatchObject([{ message }]);
  });

  it('accepts at most 2048 characters', () => {
    const start = 'http://a/';
    expect(isValid(httpUrlField, start.padEnd(2_048, 'x'))).toBe(true);
    expect(isValid(httpUrlField, start.padEnd(2_049, 'x'))).toBe(false);
  });
});

describe('headersField', () => {
  it.each([
    ['Authorization', 'Bearer x'],
    ["!#$%&'*+.^_`|~-", 'any token of RFC 9110'],
    ['X-Empty', ''],
    ['X-Tab', 'a\tb'],
    ['X'.repeat(100), 'y'],
    ['X-Long', 'y'.repeat(8_192)],
  ])('accepts %j: %j', (name, value) => {
    expect(isValid(headersField, { [name]: value })).toBe(true);
  });

  it.each([
    ['', 'x'],
    ['a b', 'x'],
    ['a:', 'x'],
    ['ñ', 'x'],
    ['X'.repeat(101), 'x'],
    ['X-Long', 'y'.repeat(8_193)],
    ['X-Split', 'a\r\nHost: b'],
    ['X-Umlaut', 'ü'],
  ])('refuses %j: %j', (name, value) => {
    expect(isValid(headersField, { [name]: value })).toBe(false);
  });

  it.each(['host', 'Content-Length', 'CONTENT-TYPE', 'Connection', 'Transfer-Encoding', 'TE', 'Expect'])(
    'refuses %s, which the transport sets',
    (name) => {
      expect(isValid(headersField, { [name]: 'x' })).toBe(false);
    },
  );
});

it.each([
  [99, false],
  [100, true],
  [3_600_000, true],
  [3_600_001, false],
  [100.5, false],
  ['100', false],
])('timeoutField: %j is valid: %s', (value, expected) => {
  expect(isValid(timeoutField, value)).toBe(expected);
});

it.each([
  ['x', true],
  [' x ', true],
  ['', false],
  [' \t\n', false],
])('notBlank(%j) is %s', (value, expected) => {
  expect(notBlank(value)).toBe(expected);
});
