import { expect, it } from 'vitest';
import { applyOwnerRule } from '../../../../router/src/core/cluster/account-events.ts';
import type { InboundMessage } from '../../../../router/src/core/messages/inbound-message.ts';
import type { Route } from '../../../../router/src/core/models.ts';
import { aMessage } from '../../../contracts/adapters.ts';
import { aRoute, NO_CONDITIONS, RecordingMatcher, routesOf } from '../../../support/routes.ts';

const matcher = new RecordingMatcher((pattern, text) => (text.includes(pattern) ? 'match' : 'no-match'));
const byHand = { text: 'I answer', isFromOwner: true, ignoredReason: 'own-message' as const };

/** What the rule makes of a message of the owner to this person, with these routes. */
function ruled(routes: Route[], given: Partial<InboundMessage> = byHand) {
  const deps = {
    ...NO_CONDITIONS,
    routes: routesOf(routes),
    matcher,
    environment: 'lab' as const,
    conversation: async () => ({ takeover: { minutes: 5 } }),
  };
  const message = aMessage('main', { phone: '5493777239922' }, given);
  return applyOwnerRule(deps, message).then(({ ownerEffect, ignoredReason }) => ({
    ownerEffect,
    ignoredReason,
  }));
}

const unchanged = { ownerEffect: undefined, ignoredReason: 'own-message' };
const taken = (forMs: number) => ({
  ownerEffect: { kind: 'takeover', forMs },
  ignoredReason: 'owner-message',
});

it.each([
  ['without a route', []],
  ['with a route that is switched off', [aRoute({ enabled: false })]],
  ['with the route of another chat', [aRoute({ channelId: '5490000000000' })]],
  ['where the route says so', [aRoute({ config: { takeover: { minutes: 0 } } })]],
])('changes nothing %s', async (_, routes) => {
  expect(await ruled(routes)).toEqual(unchanged);
});

it('changes nothing in a message that the owner did not write', async () => {
  expect(await ruled([aRoute()], { text: '#pause' })).toEqual({ ...unchanged, ignoredReason: undefined });
});

it('pauses for the minutes of the route, else of the defaults', async () => {
  expect(await ruled([aRoute({ config: { takeover: { minutes: 2 } } })])).toEqual(taken(120_000));
  expect(await ruled([aRoute({ channelId: '*' })])).toEqual(taken(300_000));
  // Its pattern is about words of people.
  expect(await ruled([aRoute({ regexFilter: 'help' })])).toEqual(taken(300_000));
});

it('takes commands without keeping their text', async () => {
  expect(await ruled([aRoute()], { ...byHand, text: '#pause 3' })).toEqual({
    ownerEffect: { kind: 'pause', forMs: 180_000 },
    ignoredReason: 'own-message',
  });
});

it('works in groups', async () => {
  const chat = { kind: 'group' as const, groupId: '120363000000000077' };
  expect(await ruled([aRoute({ channelId: '*' })], { ...byHand, chat })).toEqual(taken(300_000));
});
