import { expect, it } from 'vitest';
import { field } from '../../../../router/src/providers/baileys/messages/proto-values.ts';

it.each([undefined, null, 'text', 7, true, () => undefined])('field of %s is undefined', (value) => {
  expect(field(value, 'length')).toBeUndefined();
});

it('field of an object is its property, or undefined', () => {
  expect(field({ output: { statusCode: 428 } }, 'output')).toEqual({ statusCode: 428 });
  expect(field({ output: null }, 'output')).toBeNull();
  expect(field({}, 'output')).toBeUndefined();
});
