import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MASK, mapTexts, textsOf } from '../../../../router/src/infra/agents/route-secrets.ts';
import { httpUrlField, secretField } from '../../../../router/src/infra/agents/setting-fields.ts';

const schema = z.strictObject({
  name: z.string(),
  key: secretField.nullish(),
  url: httpUrlField.optional(),
  servers: z.array(z.strictObject({ url: httpUrlField, token: secretField })).optional(),
  source: z.union([httpUrlField, z.array(z.string())]).optional(),
});
const settings = {
  name: 'n',
  key: 'k',
  servers: [{ url: 'http://a', token: 't' }],
  source: 'http://b',
};

describe('secrets in settings, marked by their format', () => {
  it('are found in objects, lists and unions, also where the field is optional', () => {
    expect(textsOf(schema, settings, 'password')).toEqual([
      { path: ['key'], value: 'k' },
      { path: ['servers', '0', 'token'], value: 't' },
    ]);
    expect(textsOf(schema, settings, 'uri').map(({ value }) => value)).toEqual(['http://a', 'http://b']);
  });

  it('are replaced in a copy, and removed where there is no replacement', () => {
    const masked = mapTexts(schema, settings, 'password', ({ path }) =>
      path[0] === 'key' ? undefined : MASK,
    );
    expect(masked).toEqual({ name: 'n', servers: [{ url: 'http://a', token: MASK }], source: 'http://b' });
    expect(settings.key).toBe('k');
  });

  it.each([undefined, null, 7, 'text', [], { key: 7, unknown: 'x' }])('leave %j unchanged', (odd) => {
    expect(mapTexts(schema, odd, 'password', () => MASK)).toEqual(odd);
  });
});
