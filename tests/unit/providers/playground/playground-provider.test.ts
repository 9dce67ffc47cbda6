import { expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../router/src/core/errors.ts';
import type { InboundMessage } from '../../../../router/src/core/messages/inbound-message.ts';
import type { MessageReceipt } from '../../../../router/src/core/ports/chat-provider.ts';
import { PlaygroundProvider } from '../../../../router/src/providers/playground/playground-provider.ts';
import { MemoryPlayground } from '../../../doubles/memory-playground.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { quietLog } from '../../../support/quiet-log.ts';

const PHONE = '999100000001';
const JID = `${PHONE}@s.whatsapp.net`;

async function setup(options: { failures?: unknown[] } = {}) {
  const clock = new FakeClock();
  const playground = new MemoryPlayground();
  const chat = await playground.addChat({
    ...{ kind: 'person', name: 'Ana', channelId: PHONE, people: [{ name: 'Ana', phone: PHONE }] },
  });
  if (!chat) throw new Error('the chat was not added');
  const received: InboundMessage[] = [];
  const receipts: MessageReceipt[] = [];
  const states: string[] = [];
  const failures = [...(options.failures ?? [])];
  let onChange = () => {};
  const provider = new PlaygroundProvider({
    accountId: 'playground',
    playground,
    accountStore: { save: async () => undefined },
    events: {
      receive: async (message) => {
        const failure = failures.shift();
        if (failure) throw failure;
        received.push(message);
      },
      receipts: async (given) => void receipts.push(...given),
      refused: async () => undefined,
      chatLocked: async () => undefined,
      groupNamed: async () => undefined,
      status: ({ state }) => states.push(state),
    },
    bus: { broadcast: () => onChange() },
    clock,
    log: quietLog,
  });
  const write = (waMessageId: string) =>
    playground.addInput(chat.id, {
      ...{ waMessageId, chat: { kind: 'person', phone: PHONE }, sender: { phone: PHONE } },
      ...{ kind: 'text', text: waMessageId, sentAtMs: 0 },
    });
  /** Resolves with the next change of the chat that is reported. */
  const change = () => new Promise<void>((resolve) => (onChange = resolve));
  const message = (text: string, more = {}) => ({
    ...{ accountId: 'playground', to: JID, waMessageId: '3EB0A', text },
    ...more,
  });
  return { clock, playground, chat, provider, received, receipts, states, write, change, message };
}

it('receives what was written, in order, and removes it', async () => {
  const { provider, playground, received, write, change, states } = await setup();
  await write('one');
  await write('two');
  const both = change().then(change);
  await provider.start();
  await both;
  expect(received.map(({ accountId, waMessageId }) => [accountId, waMessageId])).toEqual([
    ['playground', 'one'],
    ['playground', 'two'],
  ]);
  expect(received[0]?.stanzaOrder).toBeLessThan(received[1]?.stanzaOrder ?? 0n);
  expect(await playground.inputs(10)).toEqual([]);
  const third = change();
  await write('three');
  provider.readNow();
  await third;
  expect(received.at(-1)?.waMessageId).toBe('three');
  await provider.stop();
  expect(states).toEqual(['open', 'stopped']);
});

it('receives a message again that could not be stored, before the next one', async () => {
  const { clock, provider, received, write, change } = await setup({
    failures: [
      new StorageUnavailableError({ sentence: 'away' }),
      new StorageUnavailableError({ sentence: 'away' }),
    ],
  });
  await write('one');
  await write('two');
  const both = change().then(change);
  await provider.start();
  for (let wait = 1; wait <= 2; wait++) {
    await clock.untilSleeping();
    await clock.advanceMs(500);
  }
  await both;
  expect(received.map(({ waMessageId }) => waMessageId)).toEqual(['one', 'two']);
  await provider.stop();
});

it('drops a message that the database never accepts, and receives those behind it', async () => {
  const { provider, playground, received, write, change } = await setup({ failures: [new TypeError('no')] });
  await write('one');
  await write('two');
  const both = change().then(change);
  await provider.start();
  await both;
  expect(received.map(({ waMessageId }) => waMessageId)).toEqual(['two']);
  expect(await playground.inputs(10)).toEqual([]);
  await provider.stop();
});

it('shows what is sent twice once, and acknowledges, delivers and reads it', async () => {
  const { provider, playground, chat, receipts, message } = await setup();
  await provider.start();
  for (let attempt = 1; attempt <= 2; attempt++) {
    await provider.send(message('hello', { quote: { waMessageId: 'Q', from: JID, text: 'hola' } }));
  }
  expect(await playground.events(chat.id, '0', 10)).toMatchObject([
    { kind: 'message', waMessageId: '3EB0A', text: 'hello', quotedText: 'hola' },
  ]);
  expect(receipts.slice(0, 3)).toEqual([
    { waMessageId: '3EB0A', state: 'acked', atMs: expect.any(Number) },
    ...['delivered', 'read'].map((state) => ({
      ...{ waMessageId: '3EB0A', state, atMs: expect.any(Number), from: { kind: 'person', phone: PHONE } },
    })),
  ]);
  await provider.stop();
  await expect(provider.send(message('late'))).rejects.toMatchObject({ code: 'NOT_CONNECTED' });
});

it('acknowledges a message to nobody of the playground, and shows it nowhere', async () => {
  const { provider, receipts, message } = await setup();
  await provider.start();
  await provider.send(message('hi', { to: '34600000001@s.whatsapp.net' }));
  expect(receipts.map(({ state }) => state)).toEqual(['acked']);
  await provider.stop();
});

it('shows files, reactions, typing and read receipts', async () => {
  const { provider, playground, chat, message } = await setup();
  await provider.start();
  const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 3 };
  const picture = message('look', { media });
  await provider.send(picture, await provider.upload(picture, new Uint8Array([1, 2, 3])));
  await provider.send(
    message('👍', { waMessageId: 'R', special: { kind: 'reaction', emoji: '👍', of: 'IN1', atMs: 0 } }),
  );
  await provider.setTyping(JID, true);
  await provider.markRead({ chat: JID, waMessageId: 'IN1', from: JID });
  expect(await provider.react({ chat: JID, waMessageId: 'IN1', from: JID }, '👀')).toBe(true);
  const events = await playground.events(chat.id, '0', 10);
  expect(events).toMatchObject([
    { kind: 'message', text: 'look', file: { kind: 'image', mimeType: 'image/png' } },
    { kind: 'reaction', about: 'IN1', emoji: '👍' },
    { kind: 'typing', isTyping: true },
    { kind: 'read', about: 'IN1' },
    { kind: 'reaction', about: 'IN1', emoji: '👀' },
  ]);
  const [shown] = events;
  const id = shown?.kind === 'message' ? (shown.file?.id ?? '') : '';
  expect((await playground.file(id))?.bytes).toEqual(new Uint8Array([1, 2, 3]));
  await provider.stop();
});

it('is always linked', async () => {
  const { provider } = await setup();
  await provider.start();
  await expect(provider.pair()).rejects.toMatchObject({ code: 'ALREADY_LINKED' });
  expect((await provider.logout()).state).toBe('open');
  expect((await provider.restart()).state).toBe('open');
  await expect(provider.reloadMedia()).rejects.toMatchObject({ code: 'MEDIA_GONE' });
  expect((await provider.unlink()).state).toBe('stopped');
  await provider.abandon();
  expect(provider.status().state).toBe('stopped');
});
