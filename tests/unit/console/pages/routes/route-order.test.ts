import { expect, it } from 'vitest';
import {
  inRouteOrder,
  neighbourOf,
  orderAfterMove,
} from '../../../../../console/src/pages/routes/route-order.ts';
import { inRouteOrder as orderOfService } from '../../../../../router/src/core/routing/route-message.ts';
import { aRoute } from '../../../../support/routes.ts';

const NAMES = ['all', 'own', 'first', 'late'];
const stored = [
  aRoute({ name: 'all', channelId: '*', priority: 9 }),
  aRoute({ name: 'own', channelId: '123', priority: 1 }),
  aRoute({ name: 'first', channelId: '123', priority: 5 }),
  aRoute({ name: 'late', channelId: '*', priority: 9, createdAt: new Date('2026-02-01') }),
];
const shown = stored.map((route) => ({
  ...route,
  config: {},
  createdAt: route.createdAt.toISOString(),
  updatedAt: route.updatedAt.toISOString(),
}));
const idOf = (name: string) => stored[NAMES.indexOf(name)]?.id ?? '';
const names = (ids: readonly string[] = []) => ids.map((id) => stored.find((each) => each.id === id)?.name);

it('the table shows routes in the order in which the service checks them', () => {
  expect(inRouteOrder(shown).map(({ id }) => id)).toEqual(orderOfService(stored).map(({ id }) => id));
  expect(inRouteOrder(shown).map(({ name }) => name)).toEqual(['first', 'own', 'all', 'late']);
});

it('a route changes places with those for the same kind of chat only', () => {
  const order = inRouteOrder(shown);
  expect(names(orderAfterMove(order, idOf('late'), idOf('all')))).toEqual(['late', 'all']);
  expect(names(orderAfterMove(order, idOf('first'), idOf('own')))).toEqual(['own', 'first']);
  expect(orderAfterMove(order, idOf('late'), idOf('own'))).toBeUndefined();
  expect(orderAfterMove(order, idOf('late'), idOf('late'))).toBeUndefined();
  expect(names([neighbourOf(order, idOf('own'), -1) ?? ''])).toEqual(['first']);
  expect(neighbourOf(order, idOf('own'), 1)).toBeUndefined();
  expect(neighbourOf(order, idOf('late'), 1)).toBeUndefined();
});
