import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { inbound, TestRouter } from '../support/router.ts';

let database: TestDatabase;
let router: TestRouter;
let agents: { first: MockAgent; second: MockAgent };

beforeAll(async () => {
  database = await createTestDatabase();
  router = await TestRouter.start(database);
  const [first, second] = await Promise.all(
    ['first', 'second'].map((name) => MockAgent.start({ switches: ['--reply', `${name}: {text}`] })),
  );
  agents = { first: first as MockAgent, second: second as MockAgent };
});

afterAll(async () => {
  await router.stop();
  await Promise.all([agents.first.stop(), agents.second.stop()]);
  await database.drop();
});

const jid = (person: string) => `${person}@s.whatsapp.net`;

async function reasonOf(waMessageId: string): Promise<{ state?: string; reason?: string }> {
  const rows = await router.log.messages({ limit: 50 });
  const row = rows.find((message) => message.waMessageId === waMessageId);
  return { state: row?.state, reason: row?.reason };
}

describe('direct routing', () => {
  it('calls the agent of the chat and replies in the same chat', async () => {
    const person = '5493777239922';
    await router.addRoute(person, agents.first.url);
    await router.receive(inbound({ person, text: 'hello' }));
    expect(router.textsTo(jid(person))).toEqual(['first: hello']);
  });

  it('sends no reply without a route, and records the reason', async () => {
    const message = inbound({ person: '5491100000001', text: 'anybody?' });
    await router.receive(message);
    expect(router.textsTo(jid('5491100000001'))).toEqual([]);
    const { state, reason } = await reasonOf(message.waMessageId);
    expect(state).toBe('ignored');
    expect(reason).toMatch(/^no-/);
  });

  it('prefers the higher priority whose pattern matches, and falls through when it does not', async () => {
    const person = '5491100000002';
    await router.addRoute(person, agents.first.url);
    await router.addRoute(person, agents.second.url, { priority: 5, regexFilter: '^/bill' });
    await router.receive(inbound({ person, text: '/bill me' }));
    await router.receive(inbound({ person, text: 'good morning' }));
    expect(router.textsTo(jid(person))).toEqual(['second: /bill me', 'first: good morning']);
  });

  it('uses a changed table for the very next message', async () => {
    const person = '5491100000003';
    const route = await router.addRoute(person, agents.first.url);
    await router.receive(inbound({ person, text: 'one' }));
    await router.routes.update(route.id, { agentEndpoint: agents.second.url });
    await router.receive(inbound({ person, text: 'two' }));
    await router.routes.update(route.id, { enabled: false });
    const third = inbound({ person, text: 'three' });
    await router.receive(third);
    expect(router.textsTo(jid(person))).toEqual(['first: one', 'second: two']);
    expect((await reasonOf(third.waMessageId)).state).toBe('ignored');
  });

  it('ignores routes of another environment', async () => {
    const person = '5491100000004';
    await router.addRoute(person, agents.first.url, { environment: 'prod' });
    await router.receive(inbound({ person, text: 'lab?' }));
    expect(router.textsTo(jid(person))).toEqual([]);
  });

  it('finds the route of a person by number when they write by LID', async () => {
    const person = '5491100000005';
    const lid = '240000000000005';
    await router.addRoute(person, agents.first.url);
    await router.receive(
      inbound({
        person,
        text: 'both known',
        chat: { kind: 'person', phone: person, lid },
        sender: { phone: person, lid },
      }),
    );
    await router.receive(inbound({ person, text: 'by LID', chat: { kind: 'person', lid }, sender: { lid } }));
    expect(router.sent.slice(-2).map((message) => message.text)).toEqual([
      'first: both known',
      'first: by LID',
    ]);
  });

  it('uses the wildcard only when no route of the chat matches', async () => {
    await router.addRoute('*', agents.second.url, { priority: 100 });
    const person = '5491100000006';
    await router.addRoute(person, agents.first.url, { regexFilter: 'weather' });
    await router.receive(inbound({ person, text: 'the weather, please' }));
    await router.receive(inbound({ person, text: 'something else' }));
    expect(router.textsTo(jid(person))).toEqual(['first: the weather, please', 'second: something else']);
  });
});
