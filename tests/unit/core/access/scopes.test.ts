import { describe, expect, it } from 'vitest';
import { contains, SCOPES } from '../../../../router/src/core/access/scopes.ts';

describe('contains', () => {
  it.each(SCOPES)('%s contains itself, and admin contains it', (scope) => {
    expect(contains([scope], scope)).toBe(true);
    expect(contains(['admin'], scope)).toBe(true);
    expect(contains([], scope)).toBe(false);
  });

  it.each([
    ['routes:write', 'routes:read'],
    ['accounts:manage', 'accounts:read'],
  ] as const)('%s contains %s, and not the other way round', (more, less) => {
    expect(contains([more], less)).toBe(true);
    expect(contains([less], more)).toBe(false);
  });

  it('sending does not contain reading, and nothing but admin contains admin', () => {
    expect(contains(['messages:send'], 'messages:read')).toBe(false);
    const others = SCOPES.filter((scope) => scope !== 'admin');
    expect(contains(others, 'admin')).toBe(false);
  });
});
