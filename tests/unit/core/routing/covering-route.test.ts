import { describe, expect, it } from 'vitest';
import { coveringRoute, type Rule } from '../../../../router/src/core/routing/covering-route.ts';

const first: Rule = {
  ...{ id: 'first', accountId: 'default', environment: 'lab', channelId: '*', enabled: true },
  config: {},
};
const second = { ...first, id: 'second' };
const night = { hours: '20:00-08:00', tags: ['vip'] };

/** The route that covers the last one of these, in their order. */
const covering = (...routes: Rule[]) => coveringRoute(routes.at(-1) as Rule, routes)?.id;

describe('a route that gets no message', () => {
  it('is covered by an equal one before it, which is covered by none', () => {
    expect(covering(first, second)).toBe('first');
    expect(coveringRoute(first, [first, second])).toBeUndefined();
  });

  it('is covered by one without a pattern, or with the same, and with equal conditions', () => {
    expect(covering(first, { ...second, regexFilter: 'order' })).toBe('first');
    expect(covering({ ...first, regexFilter: 'order' }, { ...second, regexFilter: 'order' })).toBe('first');
    const turned = { tags: ['vip'], hours: '20:00-08:00' };
    expect(covering({ ...first, config: { when: night } }, { ...second, config: { when: turned } })).toBe(
      'first',
    );
  });

  it.each<[string, Partial<Rule>, Partial<Rule>]>([
    ['another account', { accountId: 'sales' }, {}],
    ['another environment', { environment: 'prod' }, {}],
    ['another chat', { channelId: '34600000001' }, {}],
    ['a pattern', { regexFilter: 'order' }, {}],
    ['conditions', { config: { when: night } }, {}],
    ['no conditions, which defaults may add', {}, { config: { when: night } }],
    ['a config that cannot be read', { damage: 'it is damaged' }, {}],
    ['enabled false', { enabled: false }, {}],
    ['enabled false, itself', {}, { enabled: false }],
  ])('is not covered by a route with %s', (_what, one, other) => {
    expect(covering({ ...first, ...one }, { ...second, ...other })).toBeUndefined();
  });
});
