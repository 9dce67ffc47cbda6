import { beforeEach, describe, expect, it } from 'vitest';
import {
  aMessage,
  anAccount,
  answered,
  aPerson,
  aReply,
  describeStores,
  NODE,
  newClaimOf,
} from './adapters.ts';

describeStores('chats in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });
  const add = (person = aPerson(), given: Parameters<typeof aMessage>[2] = {}) =>
    stores.inbox.add(aMessage(accountId, person, given), NODE);
  const ids = async (query: Partial<Parameters<typeof stores.chats.list>[0]> = {}) =>
    (await stores.chats.list({ accountId, limit: 100, ...query })).map(({ id }) => id);

  it('shows a chat with its person, its last message and its unanswered messages', async () => {
    const person = aPerson();
    const { chatId } = await add(person);
    await add(person);
    const chat = await stores.chats.get(chatId);
    expect(chat).toEqual({
      id: chatId,
      accountId,
      channelId: person.phone,
      isGroup: false,
      phone: person.phone,
      lid: `${person.lid}@lid`,
      name: 'Ana',
      activeAt: expect.any(Date),
      lastReceivedAt: expect.any(Date),
      unanswered: 2,
    });
    expect(await stores.chats.list({ accountId, limit: 5 })).toEqual([chat]);
    expect(await stores.chats.get('999999999')).toBeUndefined();
    expect(await stores.chats.get('nonsense')).toBeUndefined();
  });

  it('shows a group without the name of a person', async () => {
    const groupId = '120363000000000077';
    const { chatId } = await add(aPerson(), { chat: { kind: 'group', groupId } });
    const chat = await stores.chats.get(chatId);
    expect(chat).toMatchObject({ isGroup: true, channelId: `${groupId}@g.us` });
    expect(chat?.name).toBeUndefined();
  });

  it('lists the chats that were active last first, in pages', async () => {
    const people = [aPerson(), aPerson(), aPerson()];
    const chats = [];
    for (const person of people) chats.push(newClaimOf(await add(person)));
    // The end of a turn is the last activity of the first chat, a message sent that of the second.
    const [first, second] = chats;
    if (!first || !second) throw new Error('there are three chats');
    const turn = await stores.inbox.nextTurn(first);
    const began = Date.now();
    await expect.poll(() => Date.now(), { interval: 2 }).toBeGreaterThan(began + 1);
    await stores.inbox.finishTurn(turn?.messageId ?? '', answered(), { claim: first });
    const finished = Date.now();
    await expect.poll(() => Date.now(), { interval: 2 }).toBeGreaterThan(finished + 1);
    await stores.outbox.addDirect(aReply(accountId, `${people[1]?.phone}@s.whatsapp.net`));
    const found = await stores.chats.list({ accountId, limit: 100 });
    const order = [...found].sort(
      (a, b) => b.activeAt.getTime() - a.activeAt.getTime() || Number(b.id) - Number(a.id),
    );
    expect(found).toEqual(order);
    expect(found.slice(0, 2).map(({ id }) => id)).toEqual([second.chatId, first.chatId]);
    const pages = [];
    let after: { activeAtMs: number; id: string } | undefined;
    for (let page = 0; page < 3; page++) {
      const [chat, ...others] = await stores.chats.list({ accountId, limit: 1, after });
      expect(others).toEqual([]);
      if (!chat) break;
      pages.push(chat.id);
      after = { activeAtMs: chat.activeAt.getTime(), id: chat.id };
    }
    expect(pages).toEqual(found.map(({ id }) => id));
    expect(await stores.chats.list({ accountId, limit: 1, after })).toEqual([]);
  });

  it('finds a chat by number and by LID, and only the given chats', async () => {
    const person = aPerson();
    const { chatId } = await add(person);
    const other = await add();
    for (const channelId of [person.phone, `${person.lid}@lid`]) {
      expect(await ids({ channelId })).toEqual([chatId]);
      expect(await ids({ chats: [channelId] })).toEqual([chatId]);
    }
    expect(await ids({ chats: [] })).toEqual([]);
    expect(await ids({ channelId: '999999999' })).toEqual([]);
    expect(await ids()).toEqual([other.chatId, chatId]);
  });

  describe('a pause', () => {
    it('is shown, replaced by the next one and ended', async () => {
      const { chatId } = await add();
      const paused = await stores.chats.pause(chatId, { forMs: 60_000, reason: 'Maria answers.' });
      expect(paused?.pause).toEqual({
        since: expect.any(Date),
        until: expect.any(Date),
        reason: 'Maria answers.',
      });
      expect((paused?.pause?.until?.getTime() ?? 0) - (paused?.pause?.since.getTime() ?? 0)).toBe(60_000);
      expect(await ids({ isPaused: true })).toEqual([chatId]);
      expect(await ids({ isPaused: false })).toEqual([]);
      const replaced = await stores.chats.pause(chatId, {});
      expect(replaced?.pause?.until).toBeUndefined();
      expect(replaced?.pause?.reason).toBeUndefined();
      expect((await stores.chats.resume(chatId))?.pause).toBeUndefined();
      expect((await stores.chats.resume(chatId))?.pause).toBeUndefined();
      expect(await ids({ isPaused: true })).toEqual([]);
    });

    it('ends by itself', async () => {
      const { chatId } = await add();
      await stores.chats.pause(chatId, { forMs: 1 });
      await expect.poll(async () => (await stores.chats.get(chatId))?.pause).toBeUndefined();
    });

    it('of no chat changes nothing', async () => {
      expect(await stores.chats.pause('999999999', {})).toBeUndefined();
      expect(await stores.chats.resume('999999999')).toBeUndefined();
    });

    it('is part of the turn of a message, whether it was just stored or is read', async () => {
      const person = aPerson();
      const first = await add(person);
      expect(first.turn?.isPaused).toBeUndefined();
      await stores.chats.pause(first.chatId, {});
      const claim = newClaimOf(first);
      const read = await stores.inbox.nextTurn(claim);
      expect(read?.isPaused).toBe(true);
      await stores.inbox.finishTurn(first.messageId, { state: 'ignored', replies: [] }, { claim });
      const second = await add(person);
      expect(second.turn?.isPaused).toBe(true);
      await stores.chats.resume(first.chatId);
      expect((await stores.inbox.nextTurn(newClaimOf(second)))?.isPaused).toBeUndefined();
    });

    it('stays when two chats prove to be one', async () => {
      const person = aPerson();
      const byPhone = await add({ phone: person.phone } as typeof person);
      const byLid = await add({ lid: person.lid } as typeof person);
      await stores.chats.pause(byLid.chatId, { reason: 'Maria answers.' });
      await add(person);
      expect(await stores.chats.get(byLid.chatId)).toBeUndefined();
      expect((await stores.chats.get(byPhone.chatId))?.pause?.reason).toBe('Maria answers.');
    });
  });
});
