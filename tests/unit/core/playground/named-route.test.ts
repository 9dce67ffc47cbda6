import { expect, it } from 'vitest';
import { namedRoute } from '../../../../router/src/core/playground/playground-account.ts';
import { choiceOfNamed } from '../../../../router/src/core/routing/route-message.ts';
import { MemoryPlayground } from '../../../doubles/memory-playground.ts';
import { aRoute } from '../../../support/routes.ts';

const route = aRoute({ enabled: false, accountId: 'shop' });

async function setup(routeId?: string) {
  const playground = new MemoryPlayground();
  await playground.addChat({
    ...{ kind: 'person', name: 'Ana', channelId: '9991', people: [], ...(routeId && { routeId }) },
  });
  const routes = { get: async (id: string) => (id === route.id ? route : undefined) };
  return (accountId: string, channelId: string) =>
    namedRoute({ playground, routes }, { accountId, channelIds: [channelId] });
}

it('is the route of the chat, whatever it is for', async () => {
  const named = await (await setup(route.id))('playground', '9991');
  expect(named).toEqual({ routeId: route.id, route });
  expect(choiceOfNamed(named ?? { routeId: '' })).toMatchObject({
    ...{ kind: 'route', route, trace: [{ routeId: route.id, outcome: 'chosen' }] },
  });
});

it('is no other route when it was deleted', async () => {
  const named = await (await setup('gone'))('playground', '9991');
  expect(named).toEqual({ routeId: 'gone' });
  expect(choiceOfNamed(named ?? { routeId: '' })).toEqual({ kind: 'none', reason: 'no-route', trace: [] });
});

it('is undefined for chats that name none, and for other accounts', async () => {
  expect(await (await setup())('playground', '9991')).toBeUndefined();
  const named = await setup(route.id);
  expect(await named('playground', '9992')).toBeUndefined();
  expect(await named('shop', '9991')).toBeUndefined();
});
