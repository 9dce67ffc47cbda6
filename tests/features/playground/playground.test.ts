import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Playground } from '../../../router/src/core/ports/playground.ts';
import { PostgresMessageLog } from '../../../router/src/features/chats/postgres-message-log.ts';
import { PostgresPlayground } from '../../../router/src/features/playground/postgres-playground.ts';
import { PostgresInbox } from '../../../router/src/infra/db/stores/postgres-inbox.ts';
import { MemoryPlayground } from '../../doubles/memory-playground.ts';
import { createTestDatabase } from '../../support/database.ts';

interface Adapter {
  playground: Playground;
  /** Puts a message into the inbox. */
  receive(channelId: string, waMessageId: string): Promise<void>;
  close(): Promise<void>;
}

const ADAPTERS: Array<{ name: string; open(): Promise<Adapter> }> = [
  {
    name: 'memory',
    async open() {
      const playground = new MemoryPlayground();
      const receive = async (_channelId: string, waMessageId: string) =>
        void playground.received.set(waMessageId, '1');
      return { playground, receive, close: async () => undefined };
    },
  },
  {
    name: 'PostgreSQL',
    async open() {
      const database = await createTestDatabase();
      const postgres = database.open();
      const inbox = new PostgresInbox(postgres);
      return {
        playground: new PostgresPlayground(postgres),
        receive: async (phone, waMessageId) => {
          const common = { kind: 'text' as const, text: 'hola', sentAtMs: 0, stanzaOrder: 1n };
          const chat = { kind: 'person' as const, phone };
          const accountId = 'playground';
          await inbox.add({ ...common, accountId, waMessageId, chat, sender: { phone } }, 'n1');
        },
        close: () => database.drop(),
      };
    },
  },
];

describe.each(ADAPTERS)('the playground in $name', ({ open }) => {
  let adapter: Adapter;
  beforeAll(async () => {
    adapter = await open();
  });
  afterAll(() => adapter.close());

  const aPhone = () => `9991${String(randomBytes(4).readUInt32BE()).padStart(10, '0').slice(0, 8)}`;

  async function aPersonsChat(more: { routeId?: string } = {}) {
    const phone = aPhone();
    const person = { name: 'Ana', phone };
    const chat = await adapter.playground.addChat({
      ...{ kind: 'person', name: 'Ana', channelId: phone, people: [person], ...more },
    });
    if (!chat) throw new Error('the number is taken');
    return chat;
  }
  const written = (phone: string, waMessageId: string) => ({
    waMessageId,
    chat: { kind: 'person' as const, phone },
    sender: { phone, pushName: 'Ana' },
    kind: 'text' as const,
    text: 'hola',
    sentAtMs: 1_000,
  });

  it('finds a chat by id and by address, and has each address once', async () => {
    const { playground } = adapter;
    const chat = await aPersonsChat({ routeId: 'r1' });
    expect(chat).toMatchObject({ kind: 'person', name: 'Ana', routeId: 'r1', createdAt: expect.any(Date) });
    expect(await playground.chat(chat.id)).toEqual(chat);
    expect(await playground.chatAt(chat.channelId)).toEqual(chat);
    expect(await playground.chats()).toContainEqual(chat);
    const { id: _, createdAt: __, ...same } = chat;
    expect(await playground.addChat(same)).toBeUndefined();
    expect([await playground.chat('999999'), await playground.chatAt(aPhone())]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('has groups with their people', async () => {
    const { playground } = adapter;
    const people = [
      { name: 'Ana', phone: aPhone() },
      { name: 'Luis', phone: aPhone() },
    ];
    const channelId = `999${aPhone()}@g.us`;
    const chat = await playground.addChat({ kind: 'group', name: 'Family', channelId, people });
    expect(chat).toMatchObject({ kind: 'group', name: 'Family', channelId, people });
    expect(chat).not.toHaveProperty('routeId');
    expect(await playground.chatAt(channelId)).toEqual(chat);
  });

  it('keeps written messages in their order until they are removed', async () => {
    const { playground } = adapter;
    const { id, channelId } = await aPersonsChat();
    for (const waMessageId of ['A1', 'A2', 'A3'])
      await playground.addInput(id, written(channelId, waMessageId));
    const inputs = await playground.inputs(100);
    expect(inputs.map(({ chatId, message }) => [chatId, message])).toEqual([
      [id, written(channelId, 'A1')],
      [id, written(channelId, 'A2')],
      [id, written(channelId, 'A3')],
    ]);
    expect(await playground.inputs(1)).toEqual(inputs.slice(0, 1));
    await playground.removeInput(inputs[0]?.id ?? '');
    expect(await playground.inputs(100)).toEqual(inputs.slice(1));
    for (const input of inputs) await playground.removeInput(input.id);
    expect(await playground.inputs(100)).toEqual([]);
  });

  it('shows a message that arrives twice once, and everything else each time', async () => {
    const { playground } = adapter;
    const { id } = await aPersonsChat();
    const other = await aPersonsChat();
    const message = { kind: 'message', waMessageId: `M${id}`, text: 'hello' } as const;
    for (const event of [message, message]) await playground.addEvent(id, event);
    for (const isTyping of [true, true]) await playground.addEvent(id, { kind: 'typing', isTyping });
    await playground.addEvent(other.id, { kind: 'read', about: 'X' });
    const events = await playground.events(id, '0', 10);
    expect(events).toEqual([
      { ...message, id: expect.any(String), at: expect.any(Date) },
      { kind: 'typing', isTyping: true, id: expect.any(String), at: expect.any(Date) },
      { kind: 'typing', isTyping: true, id: expect.any(String), at: expect.any(Date) },
    ]);
    expect(await playground.events(id, events[0]?.id ?? '', 1)).toEqual(events.slice(1, 2));
  });

  it('orders messages and events by number, not by digits', async () => {
    const { playground } = adapter;
    const { id, channelId } = await aPersonsChat();
    const names = Array.from({ length: 12 }, (_, index) => `N${index}`);
    for (const name of names) {
      await playground.addInput(id, written(channelId, name));
      await playground.addEvent(id, { kind: 'read', about: name });
    }
    const inputs = await playground.inputs(100);
    expect(inputs.map(({ message }) => message.waMessageId)).toEqual(names);
    const events = await playground.events(id, '0', 100);
    expect(events.map((event) => event.kind === 'read' && event.about)).toEqual(names);
    for (const input of inputs) await playground.removeInput(input.id);
  });

  it('keeps files', async () => {
    const { playground } = adapter;
    const { id } = await aPersonsChat();
    const file = { mimeType: 'text/plain', fileName: 'a.txt', bytes: Buffer.from('abc') };
    expect(await playground.file(await playground.addFile(id, 'WA1', file))).toEqual(file);
    const unnamed = { mimeType: 'image/png', bytes: Buffer.from([1, 2]) };
    expect(await playground.file(await playground.addFile(id, 'WA2', unnamed))).toEqual(unnamed);
    expect(await playground.fileOfMessage(id, 'WA1')).toEqual(file);
    expect(await playground.fileOfMessage(id, 'WA9')).toBeUndefined();
    expect(await playground.file('999999')).toBeUndefined();
  });

  it('deletes a chat with everything in it, and no other', async () => {
    const { playground } = adapter;
    const [gone, kept] = [await aPersonsChat(), await aPersonsChat()];
    const files: string[] = [];
    for (const { id, channelId } of [gone, kept]) {
      await playground.addInput(id, written(channelId, `W${id}`));
      await playground.addEvent(id, { kind: 'read', about: 'X' });
      files.push(await playground.addFile(id, 'WA3', { mimeType: 'text/plain', bytes: Buffer.from('a') }));
    }
    await adapter.receive(gone.channelId, `IN${gone.id}`);
    expect(await playground.messageId(gone.id, `IN${gone.id}`)).toEqual(expect.any(String));
    expect(await playground.deleteChat(gone.id)).toBe(true);
    expect(await playground.deleteChat(gone.id)).toBe(false);
    expect(await playground.chat(gone.id)).toBeUndefined();
    expect(await playground.events(gone.id, '0', 10)).toEqual([]);
    expect((await playground.inputs(100)).map(({ chatId }) => chatId)).toEqual([kept.id]);
    expect(await playground.file(files[0] ?? '')).toBeUndefined();
    expect(await playground.file(files[1] ?? '')).toBeDefined();
    expect(await playground.chat(kept.id)).toEqual(kept);
    // The number is free again.
    const { id: _, createdAt: __, ...same } = gone;
    expect(await playground.addChat(same)).toBeDefined();
  });
});

it('PostgresPlayground › deletes the exchanges with agents of a deleted chat, and no others', async () => {
  const database = await createTestDatabase();
  try {
    const postgres = database.open();
    const [playground, inbox] = [new PostgresPlayground(postgres), new PostgresInbox(postgres)];
    const log = new PostgresMessageLog(postgres);
    const request = { method: 'POST', url: 'http://agent/run', headers: {} };
    const exchanges = [{ at: '2026-01-31T12:00:00.000Z', request }];
    const talked = [];
    for (const phone of ['5490001', '5490002']) {
      const chat = await playground.addChat({
        channelId: phone,
        kind: 'person',
        name: 'Ana',
        people: [{ name: 'Ana', phone }],
      });
      const { messageId } = await inbox.add(
        {
          ...{ accountId: 'playground', waMessageId: `IN${phone}`, chat: { kind: 'person', phone } },
          ...{ sender: { phone }, kind: 'text', text: 'hola', sentAtMs: 0, stanzaOrder: 1n },
        },
        'n1',
      );
      await inbox.finishTurn(messageId, { state: 'answered', replies: [], exchanges });
      talked.push({ id: chat?.id ?? '', messageId });
    }
    const [gone, kept] = talked;
    expect(await log.exchanges(gone?.messageId ?? '')).toEqual(exchanges);
    expect(await playground.deleteChat(gone?.id ?? '')).toBe(true);
    expect(await log.exchanges(gone?.messageId ?? '')).toEqual([]);
    expect(await log.exchanges(kept?.messageId ?? '')).toEqual(exchanges);
  } finally {
    await database.drop();
  }
});
