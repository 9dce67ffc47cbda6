import { describe, expect, it } from 'vitest';
import type { InboundMessage } from '../../../../router/src/core/messages/inbound-message.ts';
import { ownerCommandIn, runOwnerCommand } from '../../../../router/src/core/messages/owner-commands.ts';
import type { QueuedReply } from '../../../../router/src/core/turns/turn.ts';
import { aMessage, aReply } from '../../../contracts/adapters.ts';
import { MemoryChatStore } from '../../../doubles/memory-chat-store.ts';
import { MemoryDrafts } from '../../../doubles/memory-drafts.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryOutbox } from '../../../doubles/memory-outbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';

describe('ownerCommandIn', () => {
  it.each([
    ['#approve 17', { kind: 'access', access: 'approved', chatId: '17' }],
    ['  #REFUSE  017 ', { kind: 'access', access: 'refused', chatId: '17' }],
    ['#send 17', { kind: 'draft', decision: 'send', messageId: '17' }],
    ['#Drop 17\n', { kind: 'draft', decision: 'drop', messageId: '17' }],
    [
      '#edit 17 Of course.\nMaria ',
      { kind: 'draft', decision: 'send', messageId: '17', text: 'Of course.\nMaria' },
    ],
    ['#edit 17 18', { kind: 'draft', decision: 'send', messageId: '17', text: '18' }],
    ['\u200f\u2068#send 17\u2069', { kind: 'draft', decision: 'send', messageId: '17' }],
    ['\u2068#edit 17\u2069 نصي', { kind: 'draft', decision: 'send', messageId: '17', text: 'نصي' }],
    ['#edit 17', undefined],
    ['#send 17 now', undefined],
    ['#send 17now', undefined],
    ['#approve', undefined],
    ['#approve 17 please', undefined],
    ['approve 17', undefined],
    ['#approve -1', undefined],
  ])('reads "%s"', (text, command) => {
    expect(ownerCommandIn(text)).toEqual(command);
  });
});

const phone = '34900000001';

async function setup() {
  const state = new MemoryState();
  const inbox = new MemoryInbox(state);
  const outbox = new MemoryOutbox(state);
  const said: Array<{ to: string; text: string; idempotencyKey: string }> = [];
  const served: string[] = [];
  const sent: string[] = [];
  const deps = {
    chatStore: new MemoryChatStore(state),
    outbox,
    workers: {
      nodeForNextChat: () => 'n1',
      serve: (claim: { chatId: string }) => void served.push(claim.chatId),
    },
    drafts: new MemoryDrafts(state),
    conversation: async () => ({}),
    deliverReplies: (replies: readonly QueuedReply[]) =>
      void sent.push(...replies.map(({ message }) => message.text)),
    sendNotice: async (notice: (typeof said)[number]) => void said.push(notice),
  };
  const { messageId, chatId, worker } = await inbox.add(aMessage('main', { phone: '5493777239922' }), 'n1');
  await inbox.finishTurn(
    messageId,
    { state: 'ignored', reason: 'access-pending', replies: [] },
    { claim: worker },
  );
  const note = (text: string, given: Partial<InboundMessage> = {}) =>
    aMessage('main', { phone }, { text, isSelfChat: true, ...given });
  return {
    deps,
    state,
    outbox,
    said,
    served,
    sent,
    inbox,
    chatId,
    note,
    run: (message: InboundMessage) => runOwnerCommand(deps, message),
  };
}

describe('runOwnerCommand', () => {
  it('approves a chat, whose worker starts, and says so; a repeat says it with the same key', async () => {
    const { run, note, said, served, chatId, deps } = await setup();
    const message = note(`#approve ${chatId}`);
    expect(await run(message)).toEqual({ ...message, ignoredReason: 'own-message' });
    expect(served).toEqual([chatId]);
    expect((await deps.chatStore.get(chatId))?.access).toBe('approved');
    await run(message);
    expect(said).toEqual(
      Array(2).fill({
        accountId: 'main',
        to: `${phone}@s.whatsapp.net`,
        text: 'Aprobado: Ana.',
        idempotencyKey: `owner-command-${message.waMessageId}`,
      }),
    );
  });

  it('refuses a chat', async () => {
    const { run, note, said, chatId, deps, served } = await setup();
    await run(note(`#refuse ${chatId}`));
    expect((await deps.chatStore.get(chatId))?.access).toBe('refused');
    expect([said[0]?.text, served]).toEqual(['Rechazado: Ana.', []]);
  });

  it('does not name a chat that is locked on the phone', async () => {
    const { run, note, said, chatId, deps } = await setup();
    await deps.chatStore.lock('main', { kind: 'person', phone: '5493777239922' }, true);
    await run(note(`#approve ${chatId}`));
    expect(said[0]?.text).toBe(`Aprobado: chat ${chatId}.`);
  });

  it('says that there is no such chat, also for a chat of another account', async () => {
    const { run, note, said, chatId, deps } = await setup();
    await run(note('#approve 999'));
    await run(note(`#approve ${chatId}`, { accountId: 'sales' }));
    expect(said.map(({ text }) => text)).toEqual([
      'No hay ningún chat con el número 999.',
      `No hay ningún chat con el número ${chatId}.`,
    ]);
    expect((await deps.chatStore.get(chatId))?.access).toBeUndefined();
  });

  it('sends a draft, with other words, or none of it, once, and says so', async () => {
    const { run, note, said, sent, inbox } = await setup();
    const drafts: string[] = [];
    for (const text of ['one', 'two', 'three']) {
      const { messageId, worker } = await inbox.add(
        aMessage('main', { phone: '5493777239922' }, { text }),
        'n1',
      );
      const reply = { ...aReply('main', '5493777239922@s.whatsapp.net'), text: `re ${text}` };
      const end = {
        state: 'answered' as const,
        reason: 'draft' as const,
        isDraft: true as const,
        replies: [reply],
      };
      await inbox.finishTurn(messageId, end, { claim: worker });
      drafts.push(messageId);
    }
    const [one, two, three] = drafts;
    await run(note(`#send ${one}`));
    await run(note(`#edit ${two} Maria says two.`));
    await run(note(`#drop ${three}`));
    expect(sent).toEqual(['re one', 'Maria says two.']);
    await run(note(`#send ${three}`));
    await run(note(`#send ${one}`, { accountId: 'sales' }));
    expect(sent).toHaveLength(2);
    expect(said.map(({ text }) => text)).toEqual([
      'Enviado a Ana.',
      'Enviado a Ana.',
      'No enviado a Ana.',
      `Ninguna respuesta con el número ${three} te espera.`,
      `Ninguna respuesta con el número ${one} te espera.`,
    ]);
  });

  it('leaves other messages, other chats, and what wa2ai itself sent as they are', async () => {
    const { run, note, said, outbox, chatId } = await setup();
    const ours = aReply('main', `${phone}@s.whatsapp.net`);
    await outbox.addDirect(ours);
    const text = `#approve ${chatId}`;
    for (const message of [
      note('buy milk'),
      note(text, { isSelfChat: false }),
      note(text, { waMessageId: ours.waMessageId }),
      note(text, { ignoredReason: 'history' }),
    ]) {
      expect(await run(message)).toBe(message);
    }
    expect(said).toEqual([]);
  });
});
