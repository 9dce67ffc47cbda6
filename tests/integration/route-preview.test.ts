import { expect, it } from 'vitest';
import { PostgresInbox } from '../../router/src/infra/db/stores/postgres-inbox.ts';
import { aMessage, answered, aPerson } from '../contracts/adapters.ts';
import { ADMIN_KEY, startApiNode } from '../support/api-nodes.ts';
import { testDatabase } from '../support/database.ts';

const database = testDatabase();

const ROUTE = { channelId: '*', agentEndpoint: 'http://localhost:8000', config: { adk: { appName: 'a' } } };

it('evaluates stored messages with the changed table, as a received message, and changes nothing', async () => {
  const node = await startApiNode('n1', database);
  const inbox = new PostgresInbox(database.open());
  const [ana, bob] = [aPerson(), aPerson()];
  const say = async (person: typeof ana, text: string) => {
    const { messageId } = await inbox.add(aMessage('default', person, { text }), 'n1');
    await inbox.finishTurn(messageId, { ...answered([]), trace: [] });
    return messageId;
  };
  const first = await say(ana, 'hola');
  await say(ana, 'help');
  const slowText = await say(bob, `${'a'.repeat(40)}!`);
  const all = (await node.call('POST', '/api/routes', ADMIN_KEY, { ...ROUTE, name: 'all' })).body.data;
  const preview = async (body: object) =>
    (await node.call('POST', '/api/routes/preview', ADMIN_KEY, body)).body.data;

  const toNew = await preview({
    create: {
      ...ROUTE,
      channelId: `${ana.lid}@lid`,
      config: { ...ROUTE.config, when: { isFirstContact: true } },
    },
  });
  expect(toNew).toMatchObject({ checked: 3, isComplete: true, changed: 1 });
  expect(toNew.messages).toMatchObject([
    { id: first, channelId: ana.phone, text: 'hola', before: { name: 'all' }, after: { isNew: true } },
  ]);

  const slow = await preview({ change: { id: all.id, patch: { regexFilter: '^(a+)+$' } } });
  expect(slow.messages.find(({ id }: { id: string }) => id === slowText)).toMatchObject({
    before: { routeId: all.id },
    after: { reason: 'regex-timeout' },
  });
  const history = await node.call('GET', '/api/routes/history', ADMIN_KEY);
  expect(history.body.data).toHaveLength(1);
});
