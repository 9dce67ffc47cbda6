import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { recordingLog } from '../support/quiet-log.ts';
import { inbound, TestRouter } from '../support/router.ts';

const ana = '5493777000001';

let database: TestDatabase;
let agent: MockAgent;
let router: TestRouter;
let log: ReturnType<typeof recordingLog>;

beforeEach(async () => {
  database = await createTestDatabase();
  agent = await MockAgent.start();
  log = recordingLog();
  router = await TestRouter.start(database, { log });
});

afterEach(async () => {
  await router.stop();
  await agent.stop();
  await database.drop();
});

const linesOf = (id: string) => log.lines.filter(({ fields }) => Object.values(fields).includes(id));

it('a message can be followed by its stored id from its arrival to its reply', async () => {
  await router.addRoute('*', agent.url);
  await router.receive(inbound({ person: ana, text: 'one', waMessageId: 'FIRST' }));
  await router.receive(inbound({ person: ana, text: 'two', waMessageId: 'SECOND' }));
  const rows = await router.log.messages({ accountId: 'default', limit: 9 });
  for (const { id, waMessageId } of rows) {
    expect(linesOf(id).map(({ message }) => message)).toEqual([
      'message received',
      'sending ADK message',
      'ADK response processed',
      'ADK message sent',
      'turn ended',
      'reply sent',
    ]);
    const first = linesOf(id)[0]?.fields;
    expect(first).toMatchObject({ waMessageId });
    for (const { fields } of linesOf(id)) expect(fields.chat).toBe(first?.chat);
  }
});

it('every line of a chat has the same chat, also when its person writes under the number first and then under the LID', async () => {
  await router.addRoute('*', agent.url);
  const lid = '900000000000001';
  const chat = { kind: 'person', phone: ana, lid } as const;
  for (const replyTo of [`${ana}@s.whatsapp.net`, `${lid}@lid`]) {
    await router.receive(inbound({ person: ana, text: 'hello', chat, replyTo }));
  }
  const ofChats = log.lines.filter(({ fields }) => fields.chat !== undefined);
  expect(new Set(ofChats.map(({ fields }) => fields.chat)).size).toBe(1);
  const received = log.lines.filter(({ message }) => message === 'message received');
  expect(new Set(received.map(({ fields }) => fields.jidHash)).size).toBe(2);
});

it('a message whose agent fails can be followed', async () => {
  await router.addRoute('*', 'http://127.0.0.1:1', { config: { failure: { tryForMs: 0 } } });
  await router.receive(inbound({ person: ana, text: 'one' }));
  const [row] = await router.log.messages({ accountId: 'default', limit: 9 });
  expect(linesOf(row?.id ?? '').map(({ message }) => message)).toEqual([
    'message received',
    'sending ADK message',
    'ADK message failed',
    'agent did not answer',
    'turn ended',
  ]);
});

it('no line at info or above contains a phone number or the text of a message', async () => {
  await router.addRoute('*', agent.url);
  await router.receive(inbound({ person: ana, text: 'a private text' }));
  const shown = log.lines.filter(({ level }) => level !== 'trace' && level !== 'debug');
  expect(shown.length).toBeGreaterThan(2);
  expect(JSON.stringify(shown)).not.toMatch(/5493777000001|a private text/);
});
