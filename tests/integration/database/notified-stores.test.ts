import { describe, expect, it, vi } from 'vitest';
import { NodeBus, type NodeTransportEvents } from '../../../router/src/core/cluster/node-bus.ts';
import { PostgresConsoleSessions } from '../../../router/src/features/access/console-sessions.ts';
import { PostgresApiKeyStore } from '../../../router/src/features/access/key-store.ts';
import { PostgresQuestions } from '../../../router/src/infra/db/stores/postgres-questions.ts';
import { PostgresSettings } from '../../../router/src/infra/db/stores/postgres-settings.ts';
import { testDatabase } from '../../support/database.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const database = testDatabase();

/** What a store of a node needs, the statements that it makes, and PostgreSQL's notification, which only a test sends. */
function aNode() {
  const clock = new FakeClock();
  let events: NodeTransportEvents | undefined;
  const bus = new NodeBus('n1', (own) => {
    events = own;
    return { publish: () => undefined, session: 1 };
  });
  const postgres = database.open();
  const [reads, writes] = [vi.spyOn(postgres, 'query'), vi.spyOn(postgres, 'execute')];
  const notify = (message: { kind: string; taskId?: string }) => events?.onMessage({ from: '', message });
  return { nodes: { bus, clock }, clock, postgres, reads, writes, notify };
}

describe('keys of the API', () => {
  const KEY = {
    id: '0123456789ab',
    name: 'k',
    scopes: ['tasks'] as const,
    limits: { perMinute: 100, perSecond: 10 },
    secretHash: new Uint8Array(32),
  };

  it('are read once for all requests, also those with an id that does not exist', async () => {
    const { nodes, postgres, reads } = aNode();
    const keys = new PostgresApiKeyStore(postgres, nodes);
    for (let n = 0; n < 100; n++) expect(await keys.find(`unknown ${n}`)).toBeUndefined();
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it('apply changes of their own node at once, of another one when PostgreSQL notifies or after a second', async () => {
    const { nodes, postgres, notify, clock } = aNode();
    const keys = new PostgresApiKeyStore(postgres, nodes);
    const there = new PostgresApiKeyStore(database.open());
    expect(await keys.find(KEY.id)).toBeUndefined();
    await keys.create(KEY);
    expect((await keys.find(KEY.id))?.name).toBe('k');
    await there.delete(KEY.id);
    expect(await keys.find(KEY.id)).toBeDefined();
    notify({ kind: 'keys-changed' });
    expect(await keys.find(KEY.id)).toBeUndefined();
    await there.create(KEY);
    await clock.advanceMs(999);
    expect(await keys.find(KEY.id)).toBeUndefined();
    await clock.advanceMs(1);
    expect(await keys.find(KEY.id)).toBeDefined();
    await keys.delete(KEY.id);
    expect(await keys.find(KEY.id)).toBeUndefined();
  });

  it('store a use once a minute for each key', async () => {
    const { nodes, postgres, writes, clock } = aNode();
    const keys = new PostgresApiKeyStore(postgres, nodes);
    for (const id of ['a', 'a', 'b', 'a']) await keys.markUsed(id);
    expect(writes).toHaveBeenCalledTimes(2);
    await clock.advanceMs(60_001);
    await keys.markUsed('a');
    expect(writes).toHaveBeenCalledTimes(3);
  });
});

it('sessions of the console are found in a copy of the table', async () => {
  const { nodes, postgres, notify } = aNode();
  const sessions = new PostgresConsoleSessions(postgres, nodes);
  const there = new PostgresConsoleSessions(database.open());
  const tokenHash = new Uint8Array(32).fill(7);
  expect(await sessions.find(tokenHash)).toBeUndefined();
  await sessions.create({ id: 's1', tokenHash, adminKeyMac: new Uint8Array(32) });
  expect(await sessions.find(tokenHash)).toMatchObject({ id: 's1' });
  await there.end('s1');
  expect(await sessions.byId('s1')).toBeDefined();
  notify({ kind: 'users-changed' });
  expect(await sessions.byId('s1')).toBeUndefined();
});

it('settings of a server are read once, and again after a change', async () => {
  const { nodes, postgres, reads, notify } = aNode();
  const settings = new PostgresSettings(postgres, nodes);
  for (let n = 0; n < 3; n++) expect(await settings.get('a2a')).toBeUndefined();
  expect(reads).toHaveBeenCalledTimes(1);
  await settings.put('a2a', { enabled: true });
  expect(await settings.get('a2a')).toEqual({ enabled: true });
  await new PostgresSettings(database.open()).put('a2a', { enabled: false });
  expect(await settings.get('a2a')).toEqual({ enabled: true });
  notify({ kind: 'settings-changed' });
  expect(await settings.get('a2a')).toEqual({ enabled: false });
});

describe('questions to people', () => {
  it('cost no statement for messages of chats without a question', async () => {
    const { nodes, postgres, reads } = aNode();
    const questions = new PostgresQuestions(postgres, nodes);
    for (let n = 1; n <= 100; n++) expect(await questions.answer(`${n}`, '1')).toBeUndefined();
    expect(reads).toHaveBeenCalledTimes(1);
  });

  it('are looked for in the chats that have one, from the notification of another node on, or a minute later', async () => {
    const { nodes, postgres, reads, notify, clock } = aNode();
    const questions = new PostgresQuestions(postgres, nodes);
    const there = new PostgresQuestions(database.open());
    await questions.answer('1', '7');
    const to = '5493777239922@s.whatsapp.net';
    await there.add({ id: 'q1', accountId: 'default', to, remindMs: 1_000, deadlineMs: 2_000 });
    expect(await there.open('q1')).toBe('open');
    const [chatId = ''] = await there.chats();
    const statements = async () => {
      reads.mockClear();
      await questions.answer(chatId, '7');
      return reads.mock.calls.length;
    };
    expect(await statements()).toBe(0);
    notify({ kind: 'question-changed', taskId: 'q1' });
    // the chats, then the question
    expect(await statements()).toBe(2);
    await there.close('q1');
    expect(await statements()).toBe(1);
    await clock.advanceMs(60_000);
    expect(await statements()).toBe(1);
    expect(await statements()).toBe(0);
  });
});
