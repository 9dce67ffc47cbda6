import { describe, expect, it } from 'vitest';
import type { MessageLog } from '../../../../router/src/core/ports/message-log.ts';
import {
  type Writing,
  writeMessage,
} from '../../../../router/src/providers/playground/playground-provider.ts';
import { MemoryPlayground } from '../../../doubles/memory-playground.ts';

const ANA = '999100000001';
const LUIS = '5493777239922';
const OWN = '999000000000';

async function setup(rows: Record<string, object> = {}) {
  const playground = new MemoryPlayground();
  const chat = await playground.addChat({
    ...{ kind: 'group', name: 'Family', channelId: '999123456789012345@g.us' },
    people: [
      { name: 'Ana', phone: ANA },
      { name: 'Luis', phone: LUIS },
    ],
  });
  if (!chat) throw new Error('the chat was not added');
  const row = (id: string) => ({
    accountId: 'playground',
    chatId: chat.id,
    waMessageId: `WA${id}`,
    ...rows[id],
  });
  const of = (direction: string) => async (id: string) =>
    (rows[id] as { direction?: string } | undefined)?.direction === direction ? row(id) : undefined;
  const messageLog = { message: of('incoming'), sentMessage: of('outgoing') } as unknown as MessageLog;
  const reported: string[] = [];
  const write = (writing: Writing) =>
    writeMessage(
      {
        ...{ playground, messageLog, mintId: () => '3EB0IN', clock: { now: () => 1_999 } },
        bus: { broadcast: ({ kind }) => void reported.push(kind) },
        changes: { until: async (_chatId, _limitMs, read) => read() },
      },
      chat,
      writing,
    );
  const stored = async () => (await playground.inputs(10)).map(({ message }) => message);
  return { playground, write, stored, reported };
}

describe('writeMessage', () => {
  it('stores what a person writes, and reports it', async () => {
    const { write, stored, reported } = await setup();
    expect(await write({ text: 'hola' })).toEqual({ kind: 'written', waMessageId: '3EB0IN' });
    expect(await stored()).toEqual([
      {
        ...{ waMessageId: '3EB0IN', kind: 'text', text: 'hola', sentAtMs: 1_000 },
        chat: { kind: 'group', groupId: '999123456789012345' },
        sender: { phone: ANA, pushName: 'Ana' },
        details: { subject: 'Family' },
      },
    ]);
    expect(reported).toEqual(['playground-input']);
  });

  it('names the stored message when the inbox has it', async () => {
    const { playground, write } = await setup();
    playground.received.set('3EB0IN', '42');
    expect(await write({ text: 'hola' })).toMatchObject({ id: '42' });
  });

  it.each(['Luis', '+54 9 3777 239922', LUIS])('writes as %s', async (as) => {
    const { write, stored } = await setup();
    await write({ as, text: 'hi' });
    expect((await stored())[0]?.sender).toEqual({ phone: LUIS, pushName: 'Luis' });
  });

  it('mentions people whose numbers the text has, and the account on demand', async () => {
    const { write, stored } = await setup();
    await write({ text: `@${LUIS} look`, isMention: true });
    expect((await stored())[0]).toMatchObject({
      text: `@${OWN} @${LUIS} look`,
      toUs: 'mention',
      mentions: [
        { phone: OWN, tag: `@${OWN}` },
        { phone: LUIS, tag: `@${LUIS}` },
      ],
    });
  });

  it('quotes messages of the account and of others', async () => {
    const { write, stored } = await setup({
      1: { direction: 'outgoing', text: 'answer' },
      2: { direction: 'incoming', text: 'question', from: `${ANA}@s.whatsapp.net` },
      3: { direction: 'incoming', text: 'elsewhere', from: '1@s.whatsapp.net', chatId: '77' },
    });
    await write({ text: 'and?', quote: '1' });
    await write({ text: 'me too', quote: '2', isMention: true });
    expect(await stored()).toMatchObject([
      { quotedText: 'answer', toUs: 'quote', details: { quoted: { phone: OWN } } },
      { quotedText: 'question', toUs: 'mention', details: { quoted: { phone: ANA } } },
    ]);
    expect(await write({ text: 'x', quote: '3' })).toEqual({ kind: 'unknown', field: 'quote' });
  });

  it('stores a file and refers to it', async () => {
    const { playground, write, stored } = await setup();
    const bytes = new Uint8Array([1, 2]);
    await write({ file: { kind: 'voice', mimeType: 'audio/ogg; codecs=opus', bytes } });
    const [message] = await stored();
    expect(message).toMatchObject({ kind: 'audio', text: '', media: { kind: 'voice', sizeBytes: 2 } });
    const id = message?.media?.reference.replace('playground:', '') ?? '';
    expect((await playground.file(id))?.bytes).toEqual(bytes);
  });

  it('reacts to a message, which is not answered', async () => {
    const { write, stored } = await setup({ 1: { direction: 'outgoing', text: 'answer' } });
    await write({ reaction: { about: '1', emoji: '👍' } });
    expect(await stored()).toMatchObject([
      { kind: 'reaction', text: '👍', ignoredReason: 'reaction', reactsTo: 'WA1' },
    ]);
  });

  it('stores nothing for a person or a message that is not of the chat', async () => {
    const { write, stored } = await setup();
    expect(await write({ as: 'Eva', text: 'hi' })).toEqual({ kind: 'unknown', field: 'as' });
    expect(await write({ reaction: { about: '9', emoji: '' } })).toEqual({
      ...{ kind: 'unknown', field: 'reaction' },
    });
    expect(await stored()).toEqual([]);
  });
});

describe('writeMessage of an edit or a deletion', () => {
  const rows = {
    1: { direction: 'incoming', text: 'first', from: `${ANA}@s.whatsapp.net` },
    2: { direction: 'incoming', text: 'second', from: `${ANA}@s.whatsapp.net`, editOf: 'WA1' },
    3: { direction: 'outgoing', text: 'answer' },
    4: { direction: 'incoming', text: 'hi', from: `${LUIS}@s.whatsapp.net` },
  };

  it('names the first version of the message', async () => {
    const { write, stored } = await setup(rows);
    await write({ edit: '1', text: 'new' });
    await write({ edit: '2', text: 'newer' });
    await write({ deletion: '2' });
    expect(await stored()).toMatchObject([
      { kind: 'text', text: 'new', editOf: 'WA1' },
      { kind: 'text', text: 'newer', editOf: 'WA1' },
      { kind: 'other', text: '', deletes: 'WA1', ignoredReason: 'deleted', details: { of: 'WA2' } },
    ]);
  });

  it.each(['3', '4', '9'])('is refused for the message %s, which is not of the person', async (id) => {
    const { write, stored } = await setup(rows);
    expect(await write({ edit: id, text: 'new' })).toEqual({ kind: 'unknown', field: 'edit' });
    expect(await write({ deletion: id })).toEqual({ kind: 'unknown', field: 'deletion' });
    expect(await stored()).toEqual([]);
  });
});
