import { beforeEach, expect, it } from 'vitest';
import type { NewReply } from '../../../router/src/core/turns/turn.ts';
import { aMessage, anAccount, aPerson, aReply, describeStores, NODE } from '../../contracts/adapters.ts';

describeStores('drafts in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });

  const media = { kind: 'document' as const, mimeType: 'application/pdf', sizeBytes: 1 };

  /** A message whose answer has these parts and waits for the owner. */
  async function aDraft(parts: Array<string | Partial<NewReply>>, person = aPerson()) {
    const to = `${person.phone}@s.whatsapp.net`;
    const { messageId, chatId, worker } = await stores.inbox.add(aMessage(accountId, person), NODE);
    const replies = parts.map((part) =>
      typeof part === 'string' ? aReply(accountId, to, part) : { ...aReply(accountId, to, ''), ...part },
    );
    const end = await stores.inbox.finishTurn(
      messageId,
      { state: 'answered', reason: 'draft', isDraft: true, replies },
      { claim: worker, lease: await stores.leaseOf(accountId) },
    );
    expect(end).toEqual({ replies: [], isClaimed: false });
    return { id: messageId, chatId, person, ids: replies.map(({ waMessageId }) => waMessageId) };
  }

  const statesOf = async (chatId: string) =>
    (await stores.log.sentMessages({ chatId, limit: 10 })).map(({ state }) => state);

  it('wait with their message, and are not sent', async () => {
    const { id, chatId, person } = await aDraft(['one', 'two']);
    expect(await stores.drafts.get(id)).toEqual({
      id,
      accountId,
      chatId,
      channelId: person.phone,
      pushName: 'Ana',
      question: expect.stringMatching(/^text /),
      createdAt: expect.any(Date),
      replies: [{ text: 'one' }, { text: 'two' }],
    });
    expect(await statesOf(chatId)).toEqual(['draft', 'draft']);
    expect(await stores.outbox.undelivered(accountId, { limit: 10 })).toEqual([]);
    expect(await stores.outbox.queued(accountId, 10)).toEqual([]);
    expect(await stores.history.pastTurns(chatId, '0', 10)).toEqual([]);
    expect(await stores.history.answeredTurns(chatId, 10)).toEqual([]);
    for (const none of ['999999999', 'nonsense']) expect(await stores.drafts.get(none)).toBeUndefined();
  });

  it('do not delay later replies of the chat', async () => {
    const { chatId, person } = await aDraft(['waits']);
    const direct = await stores.outbox.addDirect(aReply(accountId, `${person.phone}@s.whatsapp.net`));
    expect(await stores.outbox.markSending(direct.row.id)).toBe(true);
    expect(await statesOf(chatId)).toEqual(['sending', 'draft']);
  });

  it('are listed in pages, oldest first, by account and chat', async () => {
    const [first, second] = [await aDraft(['a']), await aDraft(['b'])];
    const list = async (query: object = {}) =>
      (await stores.drafts.list({ accountId, limit: 10, ...query })).map(({ id }) => id);
    expect(await list()).toEqual([first.id, second.id]);
    expect(await list({ limit: 1 })).toEqual([first.id]);
    expect(await list({ after: first.id })).toEqual([second.id]);
    expect(await list({ channelId: `${second.person.lid}@lid` })).toEqual([second.id]);
    expect(await list({ chats: [first.person.phone] })).toEqual([first.id]);
    expect(await list({ chats: [] })).toEqual([]);
    expect(await list({ accountId: anAccount() })).toEqual([]);
    expect(await list({ accountId: undefined, accounts: [accountId] })).toEqual([first.id, second.id]);
    expect(await list({ accountId: undefined, limit: 1_000 })).toEqual(
      expect.arrayContaining([first.id, second.id]),
    );
  });

  it('are queued once, in order, with their WhatsApp ids', async () => {
    const { id, chatId, ids } = await aDraft(['one', 'two']);
    const replies = await stores.drafts.approve(id);
    expect(replies?.map(({ message }) => [message.text, message.waMessageId])).toEqual([
      ['one', ids[0]],
      ['two', ids[1]],
    ]);
    expect(replies?.[0]).toMatchObject({ chatId, messageId: id });
    expect(await statesOf(chatId)).toEqual(['queued', 'queued']);
    expect((await stores.log.message(id))?.reason).toBeUndefined();
    expect(await stores.drafts.approve(id)).toBeUndefined();
    expect(await stores.drafts.drop(id)).toBe(false);
    expect(await stores.drafts.get(id)).toBeUndefined();
  });

  it('are queued with another text, and their files', async () => {
    const { id } = await aDraft(['one', { text: 'caption', media, file: new Uint8Array([1]) }, 'three']);
    const replies = await stores.drafts.approve(id, 'we open at nine');
    expect(replies?.map(({ message: { text, media: file } }) => [text, file?.kind])).toEqual([
      ['we open at nine', undefined],
      ['', 'document'],
    ]);
    const captioned = await aDraft([{ text: 'caption', media, file: new Uint8Array([1]) }]);
    const [reply, ...others] = (await stores.drafts.approve(captioned.id, 'look')) ?? [];
    expect([reply?.message.text, reply?.message.media?.kind, others]).toEqual(['look', 'document', []]);
  });

  it('are dropped once', async () => {
    const { id, chatId } = await aDraft(['one']);
    expect(await stores.drafts.drop(id)).toBe(true);
    expect(await stores.drafts.drop(id)).toBe(false);
    expect(await stores.drafts.approve(id)).toBeUndefined();
    expect(await statesOf(chatId)).toEqual([]);
    expect(await stores.log.message(id)).toMatchObject({ state: 'answered', reason: 'draft-dropped' });
  });

  it('are what an agent answers later where the owner approves answers', async () => {
    const { messageId, chatId, worker } = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
    const tokens = stores.replyTokens();
    const token = await tokens.issue(messageId);
    const later = { state: 'answered', reason: 'agent-later', replies: [] } as const;
    await stores.inbox.finishTurn(messageId, { ...later, replies: [] }, { claim: worker });
    await stores.chats.pause(chatId, { mode: 'approve' });
    const { waMessageId } = aReply(accountId, '');
    expect(await tokens.redeem(token, [{ text: 'later', waMessageId }])).toEqual({
      outcome: 'stored',
      replies: [],
    });
    expect((await stores.drafts.approve(messageId))?.map(({ message }) => message.text)).toEqual(['later']);
  });
});
