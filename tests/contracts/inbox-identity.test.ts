import { beforeEach, expect, it } from 'vitest';
import type { InboundMessage } from '../../router/src/core/messages/inbound-message.ts';
import {
  aMessage,
  anAccount,
  answered,
  aPerson,
  aReply,
  describeStores,
  drain,
  NODE,
  newClaimOf,
} from './adapters.ts';

describeStores('one chat per person, in the inbox in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });
  const add = (person: { phone?: string; lid?: string }, given: Partial<InboundMessage> = {}) =>
    stores.inbox.add(aMessage(accountId, person, given), NODE);
  const rows = () => stores.log.messages({ accountId, limit: 100 });
  const openChat = async (chatId: string) =>
    (await stores.inbox.openChats([])).find((chat) => chat.chatId === chatId);

  it.each([
    ['number, LID, both', ['phone', 'lid', 'both']],
    ['LID, number, both', ['lid', 'phone', 'both']],
    ['both, LID, number', ['both', 'lid', 'phone']],
    ['both, number, LID', ['both', 'phone', 'lid']],
    ['number, both, LID', ['phone', 'both', 'lid']],
    ['LID, both, number', ['lid', 'both', 'phone']],
  ])('results in one chat and one order when a person writes by %s', async (_name, forms) => {
    const { phone, lid } = aPerson();
    const address: Record<string, { phone?: string; lid?: string }> = {
      phone: { phone },
      lid: { lid },
      both: { phone, lid },
    };
    for (const form of forms) await add(address[form] ?? {}, { text: form });
    const chatIds = new Set((await rows()).map((row) => row.chatId));
    expect(chatIds.size).toBe(1);
    const open = await openChat([...chatIds].join());
    if (!open?.node) throw new Error('the chat is claimed');
    const { chatId } = open;
    expect(await drain(stores.inbox, { ...open, node: open.node })).toEqual(forms);
    expect((await rows()).map((row) => row.channelId)).toEqual([phone, phone, phone]);
    expect((await add({ lid })).chatId).toBe(chatId);
    expect((await add({ phone })).chatId).toBe(chatId);
  });

  it('joins the number and the LID that a group message contains', async () => {
    const person = aPerson();
    const before = await add({ lid: person.lid }, { text: 'by LID' });
    const chat = { kind: 'group' as const, groupId: '120363000000000002' };
    const group = await add(person, { chat });
    expect(group.chatId).not.toBe(before.chatId);
    const after = await add({ phone: person.phone }, { text: 'by number' });
    expect(after.chatId).toBe(before.chatId);
    const turn = await stores.inbox.nextTurn(newClaimOf(before));
    expect(turn).toMatchObject({
      channelIds: [person.phone, `${person.lid}@lid`],
      message: { from: `${person.phone}@s.whatsapp.net`, fromLid: `${person.lid}@lid` },
    });
  });

  it('gives the number of a group member who writes by LID', async () => {
    const person = aPerson();
    await add(person);
    const chat = { kind: 'group' as const, groupId: '120363000000000003' };
    const stored = await add({ lid: person.lid }, { chat });
    expect(await stores.inbox.nextTurn({ chatId: stored.chatId, node: NODE, epoch: 1 })).toMatchObject({
      channelIds: ['120363000000000003@g.us'],
      replyTo: '120363000000000003@g.us',
      message: {
        isGroup: true,
        channelId: '120363000000000003@g.us',
        from: `${person.phone}@s.whatsapp.net`,
        fromLid: `${person.lid}@lid`,
      },
    });
  });

  it('does not attribute an own message to the chat partner', async () => {
    const [own, partner] = [aPerson(), aPerson()];
    await add({ phone: partner.phone }, { sender: own, ignoredReason: 'own-message' });
    expect(await rows()).toMatchObject([
      { channelId: partner.phone, from: `${own.phone}@s.whatsapp.net`, fromLid: `${own.lid}@lid` },
    ]);
  });

  it('keeps the claim of the older chat when two chats are joined', async () => {
    const { phone, lid } = aPerson();
    const older = newClaimOf(await add({ phone }, { text: 'one' }));
    const younger = newClaimOf(await add({ lid }, { text: 'two' }));
    const joined = await add({ phone, lid }, { text: 'three' });
    expect(joined.chatId).toBe(older.chatId);
    expect(joined).toMatchObject({ worker: older, isNewWorker: false });
    expect(await stores.inbox.nextTurn(younger)).toBeUndefined();
    expect(await stores.inbox.claimChats([younger], NODE)).toEqual([]);
    expect(await drain(stores.inbox, older)).toEqual(['one', 'two', 'three']);
  });

  it('claims the older chat when only the younger one was claimed', async () => {
    const { phone, lid } = aPerson();
    const older = newClaimOf(await add({ phone }));
    await drain(stores.inbox, older);
    const younger = newClaimOf(await add({ lid }, { text: 'waits' }));
    // An ignored message also proves that both are one person; waiting messages are answered without a sweep.
    const joined = await add({ phone, lid }, { ignoredReason: 'own-message', sender: aPerson() });
    expect(joined.chatId).toBe(older.chatId);
    const claim = newClaimOf(joined);
    expect(claim.epoch).toBeGreaterThan(Math.max(older.epoch, younger.epoch));
    expect(await openChat(older.chatId)).toEqual(claim);
    expect(await drain(stores.inbox, claim)).toEqual(['waits']);
  });

  it('voids the running turn of a chat that is joined to another', async () => {
    const { phone, lid } = aPerson();
    const older = newClaimOf(await add({ phone }, { text: 'one' }));
    const younger = newClaimOf(await add({ lid }, { text: 'two' }));
    const turn = await stores.inbox.nextTurn(younger);
    await add({ phone, lid }, { text: 'three' });
    const {
      replies: [queued],
    } = await stores.inbox.finishTurn(turn?.messageId ?? '', answered([aReply(accountId, 'a@lid')]));
    expect(queued?.chatId).toBe(older.chatId);
    expect(await drain(stores.inbox, older)).toEqual(['one', 'three']);
  });

  it('moves replies and dead letters to the joined chat', async () => {
    const { phone, lid } = aPerson();
    const older = await add({ phone });
    const younger = await add({ lid });
    const result = { state: 'dead' as const, reason: 'X' as const, replies: [aReply(accountId, 'a@lid')] };
    await stores.inbox.finishTurn(younger.messageId, result);
    await add({ phone, lid });
    expect(await stores.outbox.undelivered(accountId, { limit: 9 })).toMatchObject([
      { chatId: older.chatId },
    ]);
    expect(await stores.log.deadLetters({ accountId, limit: 9 })).toMatchObject([{ chatId: older.chatId }]);
  });

  it.each(['neither', 'the older', 'the younger', 'both'])(
    'answers a message that came by number and by LID once, when %s was answered before the join',
    async (which) => {
      const { phone, lid } = aPerson();
      const waMessageId = 'TWICE';
      const older = await add({ phone }, { waMessageId, text: 'copy' });
      const younger = await add({ lid }, { waMessageId, text: 'copy' });
      if (which === 'the older' || which === 'both')
        await stores.inbox.finishTurn(older.messageId, answered());
      if (which === 'the younger' || which === 'both')
        await stores.inbox.finishTurn(younger.messageId, answered());
      await add({ phone, lid }, { text: 'last' });
      expect(await drain(stores.inbox, newClaimOf(older))).toEqual(
        which === 'neither' ? ['copy', 'last'] : ['last'],
      );
      const states = (await rows()).map((row) => row.reason ?? row.state).sort();
      expect(states).toEqual(['answered', 'answered', which === 'both' ? 'answered' : 'duplicate']);
      expect(await add({ lid }, { waMessageId })).toMatchObject({ outcome: 'known' });
    },
  );

  it('answers a message whose id an own message has under the other address', async () => {
    const { phone, lid } = aPerson();
    const waMessageId = 'CHOSEN';
    const older = await add({ phone }, { waMessageId, sender: aPerson(), ignoredReason: 'own-message' });
    await add({ lid }, { waMessageId, text: 'mine' });
    const joined = await add({ phone, lid }, { text: 'last' });
    expect(joined.chatId).toBe(older.chatId);
    expect(await drain(stores.inbox, newClaimOf(joined))).toEqual(['mine', 'last']);
  });

  it.each(['older', 'younger'])(
    'answers a message that could not be decrypted under the address of the %s chat',
    async (which) => {
      const { phone, lid } = aPerson();
      const readable = { waMessageId: 'COPY', text: 'readable' };
      const unread = {
        waMessageId: 'COPY',
        kind: 'undecryptable' as const,
        text: '',
        ignoredReason: 'undecryptable',
      };
      await add({ phone }, which === 'older' ? unread : readable);
      await add({ lid }, which === 'older' ? readable : unread);
      const joined = await add({ phone, lid }, { text: 'last' });
      const { epoch = 0 } = (await openChat(joined.chatId)) ?? {};
      const claim = { chatId: joined.chatId, node: NODE, epoch };
      expect(await drain(stores.inbox, claim)).toEqual(['readable', 'last']);
      expect(await add({ phone, lid }, readable)).toMatchObject({ outcome: 'known', isNewWorker: false });
      expect((await rows()).map(({ reason, state }) => reason ?? state)).toEqual(['answered', 'answered']);
    },
  );

  it('keeps a chat when its person changes number', async () => {
    const [{ phone: old, lid }, { phone: fresh }] = [aPerson(), aPerson()];
    const before = await add({ phone: old, lid });
    const after = await add({ phone: fresh, lid });
    expect(after.chatId).toBe(before.chatId);
    expect((await rows()).map((row) => row.channelId)).toEqual([fresh, fresh]);
    expect((await add({ phone: old })).chatId).not.toBe(before.chatId);
  });

  it('does not give a chat to the next person with its number', async () => {
    const [former, heir] = [aPerson(), aPerson()];
    const before = await add(former);
    const after = await add({ phone: former.phone, lid: heir.lid });
    expect(after.chatId).not.toBe(before.chatId);
    expect((await add({ lid: former.lid })).chatId).toBe(before.chatId);
    expect((await add({ phone: former.phone })).chatId).toBe(after.chatId);
  });

  it('keeps one chat per account for the same person', async () => {
    const person = aPerson();
    const mine = await add(person);
    const theirs = await stores.inbox.add(aMessage(anAccount(), person), NODE);
    expect(theirs.chatId).not.toBe(mine.chatId);
  });

  it('results in one chat when all addresses arrive at once', async () => {
    const people = Array.from({ length: 12 }, aPerson);
    await Promise.all(
      people.flatMap(({ phone, lid }) => [
        add({ phone }),
        add({ lid }),
        add({ phone, lid }),
        add({ lid }),
        add({ phone }),
      ]),
    );
    const seen = await stores.log.messages({ accountId, limit: 100 });
    expect(seen).toHaveLength(60);
    for (const { phone, lid } of people) {
      const last = await add({ phone, lid });
      expect((await add({ lid })).chatId).toBe(last.chatId);
      expect((await add({ phone })).chatId).toBe(last.chatId);
    }
    expect(
      new Set((await stores.log.messages({ accountId, limit: 100 })).map((row) => row.chatId)).size,
    ).toBe(12);
  });
});
