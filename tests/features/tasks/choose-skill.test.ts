import { describe, expect, it } from 'vitest';
import type { Route } from '../../../router/src/core/models.ts';
import { chooseSkill, sharedRoutes } from '../../../router/src/features/tasks/serve-task.ts';

let ids = 0;
function aRoute(given: Partial<Route> = {}): Route {
  ids += 1;
  const time = new Date(Date.UTC(2026, 0, 1, 0, 0, ids));
  return {
    id: `01900000-0000-7000-8000-${String(ids).padStart(12, '0')}`,
    accountId: 'default',
    channelId: '*',
    agentEndpoint: 'http://127.0.0.1:9',
    environment: 'lab',
    priority: 0,
    enabled: true,
    config: { shared: true },
    createdAt: time,
    updatedAt: time,
    ...given,
  };
}

describe('sharedRoutes', () => {
  it('names routes after themselves, each name once', () => {
    const routes = [aRoute({ name: 'Ümit & Söhne' }), aRoute({ name: 'Umit -- Sohne' }), aRoute()];
    const [second, third] = [routes[1]?.id.slice(-12), routes[2]?.id];
    expect(sharedRoutes(routes.reverse()).map(({ skill }) => skill)).toEqual([
      'talk-to-umit-sohne',
      `talk-to-umit-sohne-${second}`,
      `talk-to-${third}`,
    ]);
  });

  it('leaves out routes that are disabled, damaged or not shared', () => {
    const routes = [aRoute({ enabled: false }), aRoute({ damage: 'broken' }), aRoute({ config: {} })];
    expect(sharedRoutes(routes)).toEqual([]);
  });
});

describe('chooseSkill', () => {
  const one = sharedRoutes([aRoute({ name: 'desk' })]);
  const two = sharedRoutes([aRoute({ name: 'desk' }), aRoute({ name: 'shop' })]);

  it('finds the skills for people and for routes by their names', () => {
    expect(chooseSkill({ skill: 'ask-person' }, one)).toEqual({ kind: 'person', skill: 'ask-person' });
    expect(chooseSkill({ skill: 'talk-to-shop' }, two)).toMatchObject({
      kind: 'route',
      route: { name: 'shop' },
    });
    expect(chooseSkill({ skill: 'talk-to-bank' }, two)).toEqual({ kind: 'unknown' });
  });
});
