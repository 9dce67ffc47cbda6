import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';

let bed: TestBed;
beforeAll(async () => {
  bed = await TestBed.start();
  const service = await bed.startService();
  await ok(service.api('POST', '/api/routes', echoRoute));
});
afterAll(() => bed.close());

interface Chat {
  id: string;
  channelId: string;
}
interface Shown {
  id: string;
  kind: string;
  text?: string;
  waMessageId?: string;
}

async function ok<T>(calling: ReturnType<Wa2aiProcess['api']>): Promise<T> {
  const { status, body } = await calling;
  if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`);
  return body.data as T;
}

const echoRoute = { accountId: 'playground', channelId: '*', environment: 'lab', config: { echo: {} } };

const addChat = (service: Wa2aiProcess, body: object) =>
  ok<Chat>(service.api('POST', '/api/playground/chats', body));
const write = (service: Wa2aiProcess, chat: Chat, body: object) =>
  ok<{ id: string }>(service.api('POST', `/api/playground/chats/${chat.id}/messages`, body));
const shown = (service: Wa2aiProcess, chat: Chat, after = '') =>
  ok<Shown[]>(
    service.api(
      'GET',
      `/api/playground/chats/${chat.id}/events?waitMs=20000${after === '' ? '' : `&after=${after}`}`,
    ),
  );

/** What a phone shows until it has so many messages. */
async function untilMessages(service: Wa2aiProcess, chat: Chat, count: number): Promise<Shown[]> {
  const all: Shown[] = [];
  while (all.filter(({ kind }) => kind === 'message').length < count) {
    const more = await shown(service, chat, all.at(-1)?.id);
    if (more.length === 0) throw new Error(`the phone shows only ${JSON.stringify(all)}`);
    all.push(...more);
  }
  return all;
}
const texts = (events: Shown[]) => events.flatMap(({ kind, text }) => (kind === 'message' ? [text] : []));

it('lets a newcomer write to the echo agent, without a phone', async () => {
  const { service } = bed;
  const chat = await addChat(service, { kind: 'person', name: 'Ana' });
  const { id } = await write(service, chat, { text: 'hola' });
  const events = await untilMessages(service, chat, 1);
  expect(texts(events)).toEqual(['hola']);
  expect(events.map(({ kind }) => kind)).toContain('read');
  await expect
    .poll(() => ok(service.api('GET', `/api/messages/${id}`)), { timeout: 60_000 })
    .toMatchObject({
      accountId: 'playground',
      state: 'answered',
      pushName: 'Ana',
      replies: [{ text: 'hola', state: 'read' }],
    });
  expect(await ok(service.api('GET', '/api/accounts/playground'))).toMatchObject({
    state: 'open',
    provider: 'playground',
  });
  // The WhatsApp account waits for pairing, and the playground is not a reason.
  const ready = await service.api('GET', '/health/ready');
  expect(JSON.stringify(ready.body.reasons)).not.toContain('playground');

  const picture = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64');
  await write(service, chat, { text: 'look', file: { data: picture } });
  expect(texts(await untilMessages(service, chat, 2))).toEqual(['hola', 'look\n[image: image/png]']);
  const reacted = await write(service, chat, { reaction: { to: id, emoji: '👍' } });
  expect(await ok(service.api('GET', `/api/messages/${reacted.id}`))).toMatchObject({
    kind: 'reaction',
    state: 'ignored',
  });
  expect((await service.api('POST', '/api/accounts', { id: 'playground' })).status).toBe(409);

  const gone = await fetch(`${service.url}/api/playground/chats/${chat.id}`, { method: 'DELETE' });
  expect(gone.status).toBe(204);
  expect((await service.api('GET', `/api/messages/${id}`)).status).toBe(404);
});

it('answers a group when somebody mentions the account, and a chat by the route that it names', async () => {
  const { service } = bed;
  const people = [{ name: 'Ana' }, { name: 'Luis', phone: '+54 9 3777 239922' }];
  const group = await addChat(service, { kind: 'group', name: 'Family', people });
  const plain = await write(service, group, { text: 'good morning' });
  await write(service, group, { as: 'Luis', text: 'what is up?', mention: true });
  const [answer] = texts(await untilMessages(service, group, 1));
  expect(answer).toContain('what is up?');
  expect(await ok(service.api('GET', `/api/messages/${plain.id}`))).toMatchObject({
    state: 'ignored',
    reason: 'group-not-addressed',
  });
  expect(
    (await service.api('POST', `/api/playground/chats/${group.id}/messages`, { as: 'Eva', text: 'hi' }))
      .status,
  ).toBe(400);

  const disabled = { accountId: 'default', enabled: false };
  const route = await service.addRoute('34600000001', bed.agent.url, disabled);
  const chat = await addChat(service, { kind: 'person', name: 'Bea', routeId: route.id });
  const { id } = await write(service, chat, { text: 'hello' });
  expect(texts(await untilMessages(service, chat, 1))).toEqual([expect.stringContaining('hello')]);
  await expect
    .poll(() => ok(service.api('GET', `/api/messages/${id}`)), { timeout: 60_000 })
    .toMatchObject({ state: 'answered', routeId: route.id });
});

it('loses nothing and says nothing twice when it is killed', async () => {
  const killed = bed.service;
  const chats = await Promise.all(
    ['Ana', 'Bea', 'Eva'].map((name) => addChat(killed, { kind: 'person', name })),
  );
  const accepted = chats.map((): string[] => []);
  let number = 0;
  const writing = chats.map(async (chat, index) => {
    for (;;) {
      number += 1;
      const text = `message ${number}`;
      try {
        await write(killed, chat, { text });
      } catch {
        // Unknown: it may have been stored, or not.
        accepted[index]?.push(`?${text}`);
        return;
      }
      accepted[index]?.push(text);
    }
  });
  await untilMessages(killed, chats[0] as Chat, 5);
  await killed.end('SIGKILL');
  await Promise.all(writing);
  const service = await bed.startService();
  for (const [index, chat] of chats.entries()) {
    const certain = (accepted[index] ?? []).filter((text) => !text.startsWith('?'));
    const got = async () => {
      const answers = texts(await untilMessages(service, chat, certain.length));
      return certain.filter((text) => !answers.includes(text));
    };
    await expect.poll(got, { timeout: 60_000 }).toEqual([]);
    const written = (accepted[index] ?? []).map((text) => text.replace('?', ''));
    const answers = texts(await untilMessages(service, chat, certain.length));
    // In the order of writing, each once; what was not confirmed may be missing.
    expect(written.filter((text) => answers.includes(text))).toEqual(answers);
  }
});
