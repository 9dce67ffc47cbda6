import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { Wa2aiError } from '../../../router/src/core/errors.ts';
import type { OwnerEffect, TurnReason } from '../../../router/src/core/messages/inbound-message.ts';
import type { ChatCheck } from '../../../router/src/core/ports/chat-store.ts';
import type { TurnResult } from '../../../router/src/core/turns/turn.ts';
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
} from '../../contracts/adapters.ts';

/** What the owner writes on the phone. */
const byHand = {
  isFromOwner: true,
  ignoredReason: 'owner-message',
  ownerEffect: { kind: 'takeover', forMs: 60_000 },
} satisfies Parameters<typeof aMessage>[2];

describeStores('chats in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });
  const add = (person = aPerson(), given: Parameters<typeof aMessage>[2] = {}) =>
    stores.inbox.add(aMessage(accountId, person, given), NODE);
  const ids = async (query: Partial<Parameters<typeof stores.chats.list>[0]> = {}) =>
    (await stores.chats.list({ accountId, limit: 100, ...query })).map(({ id }) => id);

  it('shows and finds a group by the name that WhatsApp said last, also one whose messages have none', async () => {
    const groupId = `12036301${Date.now()}`;
    const chat = { kind: 'group' as const, groupId };
    await stores.chats.nameGroup(accountId, groupId, 'not stored yet');
    const { chatId } = await add(aPerson(), { chat });
    const nameOf = async () => (await stores.chats.get(chatId))?.name;
    expect(await nameOf()).toBeUndefined();
    await stores.chats.nameGroup(accountId, groupId, 'Tennis');
    await stores.chats.nameGroup(anAccount(), groupId, 'of another account');
    expect(await nameOf()).toBe('Tennis');
    await add(aPerson(), { chat, details: { subject: 'earlier' } });
    await stores.chats.nameGroup(accountId, groupId, 'Tennis on Sunday');
    expect(await nameOf()).toBe('Tennis on Sunday');
    expect(await ids({ text: 'sunday' })).toEqual([chatId]);
  });

  it('makes a change only of the chat that its check has seen: of several at once, one is stored', async () => {
    const { chatId } = await add();
    const { chats } = stores;
    let seen: readonly string[] | undefined;
    const check: ChatCheck = ({ tags }) => {
      if (tags?.join() !== seen?.join())
        throw new Wa2aiError('PRECONDITION_FAILED', 'dead', { sentence: 'It is another.' });
    };
    // In the first round the connections open one after the other, so that the changes are not at once.
    for (const round of [1, 2, 3]) {
      const tags = ['a', 'b', 'c', 'd'].map((letter) => [`${letter}${round}`]);
      const made = await Promise.allSettled(tags.map((each) => chats.label(chatId, { tags: each }, check)));
      expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      seen = (await chats.get(chatId))?.tags;
    }
    await chats.label(chatId, { tags: [] });
    const unseen: ChatCheck = ({ tags, notes, pause, access }) => {
      if (tags || notes || pause || access)
        throw new Wa2aiError('PRECONDITION_FAILED', 'dead', { sentence: 'It is another.' });
    };
    const attempts = [
      () => chats.label(chatId, { tags: ['vip'] }, unseen),
      () => chats.label(chatId, { notes: 'call' }, unseen),
      () => chats.pause(chatId, {}, unseen),
      () => chats.decideAccess(chatId, 'approved', NODE, unseen),
    ];
    const made = await Promise.allSettled(attempts.map((attempt) => attempt()));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const stored = await chats.get(chatId);
    for (const attempt of [...attempts, () => chats.resume(chatId, undefined, unseen)]) {
      await expect(attempt()).rejects.toThrow(Wa2aiError);
    }
    expect(await chats.get(chatId)).toEqual(stored);
    await chats.pause(chatId, { reason: 'Maria' }, () => undefined);
    const isPaused: ChatCheck = ({ pause }) => expect(pause?.reason).toBe('Maria');
    expect((await chats.resume(chatId, undefined, isPaused))?.chat.pause).toBeUndefined();
    expect(await chats.pause('999999999', {}, unseen)).toBeUndefined();
  });

  it('shows a chat with its person, its last message and its unanswered messages', async () => {
    const person = aPerson();
    const { chatId } = await add(person);
    await add(person, { text: 'the last one' });
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
      failed: 0,
      lastMessage: {
        direction: 'incoming',
        text: 'the last one',
        kind: 'text',
        at: chat?.lastReceivedAt,
        state: 'received',
      },
    });
    expect(await stores.chats.list({ accountId, limit: 5 })).toEqual([chat]);
    expect(await stores.chats.get('999999999')).toBeUndefined();
    expect(await stores.chats.get('nonsense')).toBeUndefined();
  });

  it('names a person without messages by the user name, and finds them by it', async () => {
    const { lid } = aPerson();
    const chat = { kind: 'person' as const, lid, username: 'ana.b' };
    const given = { chat, sender: { phone: '4915550000001' }, ...byHand };
    const { chatId } = await add(aPerson(), given);
    await add();
    expect(await stores.chats.get(chatId)).toMatchObject({ name: '@ana.b', username: 'ana.b' });
    for (const text of ['Ana.B', '@ana']) expect(await ids({ text })).toEqual([chatId]);
    expect(await ids({ channelId: '@ana.b' })).toEqual([chatId]);
  });

  it('shows a group without the name of a person', async () => {
    const groupId = '120363000000000077';
    const { chatId } = await add(aPerson(), { chat: { kind: 'group', groupId } });
    const chat = await stores.chats.get(chatId);
    expect(chat).toMatchObject({ isGroup: true, channelId: `${groupId}@g.us` });
    expect(chat?.name).toBeUndefined();
  });

  it('shows what was sent last, and no reaction, as the last message', async () => {
    const person = aPerson();
    const { chatId, messageId } = await add(person);
    const jid = `${person.phone}@s.whatsapp.net`;
    await stores.inbox.finishTurn(messageId, answered([aReply(accountId, jid, 'x'.repeat(300))]));
    await add(person, { kind: 'reaction', text: '👍', ignoredReason: 'reaction', reactsTo: 'A1' });
    const last = async () => (await stores.chats.get(chatId))?.lastMessage;
    expect(await last()).toMatchObject({ direction: 'outgoing', kind: 'text', text: 'x'.repeat(200) });
    const owner = { phone: '4915550000001', lid: '999000001' };
    await add(person, { sender: owner, text: 'I am here.', ...byHand });
    expect(await last()).toMatchObject({ direction: 'outgoing', text: 'I am here.' });
  });

  it('names a chat as its person, or as its group, not as the owner who wrote in it', async () => {
    const person = aPerson();
    const { chatId } = await add(person, { sender: { ...person, pushName: 'Bea' } });
    await add(person, { sender: { phone: '4915550000001', pushName: 'The shop' }, ...byHand });
    expect(await stores.chats.get(chatId)).toMatchObject({ name: 'Bea' });
    const group = { chat: { kind: 'group' as const, groupId: '120363000000000078' } };
    const inGroup = await add(aPerson(), { ...group, details: { subject: 'Neighbours' } });
    expect(await stores.chats.get(inGroup.chatId)).toMatchObject({ name: 'Neighbours' });
  });

  it('finds chats by a part of name, number, group or tag', async () => {
    const [bea, cid] = [aPerson(), aPerson()];
    const first = await add(bea, { sender: { ...bea, pushName: 'Bea 100%' } });
    const second = await add(cid, { sender: { ...cid, pushName: 'Cid' } });
    const group = { chat: { kind: 'group' as const, groupId: '120363000000000079' } };
    const third = await add(aPerson(), { ...group, details: { subject: 'Neighbours' } });
    await stores.chats.label(second.chatId, { tags: ['wholesale'] });
    for (const text of [
      'bea',
      'EA 1',
      '0%',
      bea.phone.slice(2),
      `+${bea.phone.slice(0, 4)} ${bea.phone.slice(4)}`,
    ]) {
      expect(await ids({ text }), text).toEqual([first.chatId]);
    }
    expect(await ids({ text: 'WHOLE' })).toEqual([second.chatId]);
    expect(await ids({ text: 'neigh' })).toEqual([third.chatId]);
    for (const text of ['nobody', '_', '%%', '0 0 0 0 0 0 0 0 0'])
      expect(await ids({ text }), text).toEqual([]);
  });

  it('tells where a search ends that reads a number of chats, and searches up to there', async () => {
    const people = [aPerson(), aPerson(), aPerson()];
    for (const person of people) await add(person);
    const [, second, third] = await stores.chats.list({ accountId, limit: 9 });
    const query = { accountId, text: 'nobody' };
    const end = await stores.chats.searchEnd(query, 2);
    expect(end).toEqual({ activeAtMs: second?.activeAt.getTime(), id: second?.id });
    expect(await ids({ text: 'Ana', upTo: end })).not.toContain(third?.id);
    expect(await ids({ text: 'Ana', after: end })).toEqual([third?.id]);
    expect(await stores.chats.searchEnd(query, 4)).toBeUndefined();
  });

  it('lists chats of which a draft or a stranger waits for the owner', async () => {
    const person = aPerson();
    const drafted = await add(person);
    const stranger = await add();
    const other = await add();
    expect(await ids({ isWaiting: true })).toEqual([]);
    const replies = [aReply(accountId, `${person.phone}@s.whatsapp.net`, 'At nine.')];
    const draft = { state: 'answered' as const, reason: 'draft' as const, isDraft: true as const, replies };
    await stores.inbox.finishTurn(drafted.messageId, draft);
    await stores.chats.askAccess(stranger.chatId);
    expect((await ids({ isWaiting: true })).sort()).toEqual([drafted.chatId, stranger.chatId].sort());
    expect(await ids({ isWaiting: false })).toEqual([other.chatId]);
  });

  it('says which question of a program waits for the person, until it is answered or over', async () => {
    const [asked, other] = [aPerson(), await add()];
    const { chatId } = await add(asked);
    expect(await ids({ isAsked: true })).toEqual([]);
    const ask = async (id: string, deadlineMs: number) => {
      const to = `${asked.phone}@s.whatsapp.net`;
      await stores.questions.add({ id, accountId, to, remindMs: deadlineMs / 2, deadlineMs });
      await stores.questions.open(id);
    };
    const over = randomUUID();
    await ask(over, 1);
    await expect.poll(() => ids({ isAsked: true })).toEqual([]);
    await stores.questions.close(over);
    await ask(randomUUID(), 3_600_000);
    expect(await ids({ isAsked: true })).toEqual([chatId]);
    expect(await ids({ isAsked: false })).toEqual([other.chatId]);
    const { question } = (await stores.chats.get(chatId)) ?? {};
    expect(Number(question?.until) - Number(question?.remindAt)).toBe(1_800_000);
    const message = aMessage(accountId, asked, { sentAtMs: Date.now(), text: 'Yes' });
    const { messageId } = await stores.inbox.add(message, NODE);
    await stores.questions.answer(chatId, messageId);
    expect((await stores.chats.get(chatId))?.question).toBeUndefined();
  });

  it('lists the chats that wait for an operator, and says why', async () => {
    const [drafted, asked, paused] = [aPerson(), aPerson(), aPerson()];
    const draft = await add(drafted);
    const stranger = await add();
    const question = await add(asked);
    const failed = await add();
    const unanswered = await add(paused);
    const calm = await add();
    const jid = ({ phone }: { phone: string }) => `${phone}@s.whatsapp.net`;
    const replies = [aReply(accountId, jid(drafted), 'At nine.')];
    const asDraft = { state: 'answered' as const, reason: 'draft' as const, isDraft: true as const };
    await stores.inbox.finishTurn(draft.messageId, { ...asDraft, replies });
    await stores.chats.askAccess(stranger.chatId);
    const id = randomUUID();
    await stores.questions.add({ id, accountId, to: jid(asked), remindMs: 1, deadlineMs: 3_600_000 });
    await stores.questions.open(id);
    const error = { reason: 'AGENT_TIMEOUT' as const, error: 'The agent took too long.' };
    await stores.inbox.finishTurn(failed.messageId, { state: 'dead', replies: [], ...error });
    await stores.chats.pause(unanswered.chatId, {});
    const inPause = { state: 'ignored' as const, reason: 'chat-paused' as const, replies: [] };
    await stores.inbox.finishTurn(unanswered.messageId, inPause);
    const needs = async () =>
      Object.fromEntries(
        (await stores.chats.list({ accountId, limit: 9 })).map((chat) => [chat.id, chat.needs]),
      );
    await expect.poll(needs).toEqual({
      [draft.chatId]: ['draft'],
      [stranger.chatId]: ['stranger'],
      [question.chatId]: ['question'],
      [failed.chatId]: ['failed'],
      [unanswered.chatId]: ['unanswered'],
      [calm.chatId]: undefined,
    });
    expect(await ids({ needsYou: false })).toEqual([calm.chatId]);
    expect(await ids({ needsYou: true })).toEqual((await ids()).filter((each) => each !== calm.chatId));

    // Somebody wrote since: wa2ai, or the owner on the phone; or the pause is over.
    await stores.outbox.addDirect(aReply(accountId, jid(paused)));
    expect((await needs())[unanswered.chatId]).toBeUndefined();
    await stores.inbox.finishTurn((await add(paused)).messageId, inPause);
    expect((await needs())[unanswered.chatId]).toEqual(['unanswered']);
    await add(paused, {
      sender: { phone: '4915550000001', lid: '999000001' },
      text: 'Here I am.',
      ...byHand,
    });
    expect((await needs())[unanswered.chatId]).toBeUndefined();
    await stores.inbox.finishTurn((await add(paused)).messageId, inPause);
    expect((await needs())[unanswered.chatId]).toEqual(['unanswered']);
    await stores.chats.resume(unanswered.chatId);
    expect((await needs())[unanswered.chatId]).toBeUndefined();
  });

  it('lists the chats of a route: of which it took the last message that a route took', async () => {
    const person = aPerson();
    const [moved, other] = [await add(person), await add()];
    await add();
    const end = (messageId: string, routeId?: string, result: Partial<TurnResult> = {}) =>
      stores.inbox.finishTurn(messageId, { ...answered(), ...(routeId && { routeId }), ...result });
    await end(moved.messageId, 'sales', { statePatch: { contextMs: 1 } });
    await end(other.messageId, 'sales');
    expect(await ids({ routeId: 'sales' })).toEqual([other.chatId, moved.chatId]);
    await end((await add(person)).messageId, 'support', { state: 'ignored', reason: 'chat-paused' });
    await end((await add(person)).messageId, undefined, { state: 'ignored', reason: 'no-match' });
    expect(await ids({ routeId: 'sales' })).toEqual([other.chatId]);
    expect(await ids({ routeId: 'support' })).toEqual([moved.chatId]);
    expect(await ids({ routeId: 'nobody' })).toEqual([]);
  });

  it('keeps the route of a chat that proves to be the same as an older one', async () => {
    const { phone, lid } = aPerson();
    await add({ phone } as ReturnType<typeof aPerson>);
    const byLid = await add({ lid } as ReturnType<typeof aPerson>);
    await stores.inbox.finishTurn(byLid.messageId, { ...answered(), routeId: 'sales' });
    const joined = await add({ phone, lid });
    expect(await ids({ routeId: 'sales' })).toEqual([joined.chatId]);
  });

  it('lists chats with unanswered messages, and those with open dead letters', async () => {
    const waiting = await add();
    const failed = await add();
    const error = { reason: 'AGENT_TIMEOUT' as const, error: 'The agent took too long.' };
    await stores.inbox.finishTurn(failed.messageId, { state: 'dead', replies: [], ...error });
    expect(await ids({ hasUnanswered: true })).toEqual([waiting.chatId]);
    expect(await ids({ hasUnanswered: false })).toEqual([failed.chatId]);
    expect(await ids({ hasFailed: true })).toEqual([failed.chatId]);
    expect(await ids({ hasFailed: false })).toEqual([waiting.chatId]);
    expect(await stores.chats.get(failed.chatId)).toMatchObject({ failed: 1 });
    const [letter] = await stores.log.deadLetters({ accountId, limit: 1 });
    await stores.deadLetters.close(letter?.id ?? '');
    expect(await stores.chats.get(failed.chatId)).toMatchObject({ failed: 0 });
    expect(await ids({ hasFailed: true })).toEqual([]);
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

  describe('tags and notes', () => {
    it('are shown and found, and each replaced alone', async () => {
      const { chatId } = await add();
      const other = await add();
      expect(await stores.chats.label(chatId, { tags: ['vip', 'madrid'] })).toMatchObject({
        id: chatId,
        tags: ['madrid', 'vip'],
      });
      expect(await stores.chats.label(chatId, { notes: 'after six' })).toMatchObject({
        ...{ tags: ['madrid', 'vip'], notes: 'after six' },
      });
      await stores.chats.label(other.chatId, { tags: ['madrid'] });
      expect(await ids({ tag: 'vip' })).toEqual([chatId]);
      expect(await ids({ tag: 'madrid' })).toEqual([other.chatId, chatId]);
      expect(await ids({ tag: 'mad' })).toEqual([]);
      const [shown] = await stores.chats.list({ accountId, tag: 'vip', limit: 1 });
      expect(shown).toEqual(await stores.chats.get(chatId));
      expect(await stores.chats.label(chatId, { tags: [] })).toMatchObject({ notes: 'after six' });
      const bare = await stores.chats.label(chatId, { notes: '' });
      expect([bare?.tags, bare?.notes]).toEqual([undefined, undefined]);
      expect(await ids({ tag: 'vip' })).toEqual([]);
      expect(await stores.chats.label('999999999', { tags: ['vip'] })).toBeUndefined();
    });

    it('of two chats that prove to be one are joined', async () => {
      const { phone, lid } = aPerson();
      const byPhone = await add({ phone } as ReturnType<typeof aPerson>);
      const byLid = await add({ lid } as ReturnType<typeof aPerson>);
      await stores.chats.label(byPhone.chatId, { tags: ['vip', 'madrid'], notes: 'by number' });
      await stores.chats.label(byLid.chatId, { tags: ['gold', 'madrid'], notes: 'by LID' });
      const joined = await add({ phone, lid });
      expect(await stores.chats.get(joined.chatId)).toMatchObject({
        ...{ tags: ['gold', 'madrid', 'vip'], notes: 'by number\nby LID' },
      });
    });
  });

  it('tells what routes ask of a chat: its id, its tags, and whether a message was answered before', async () => {
    const person = aPerson();
    const first = await add(person);
    const claim = newClaimOf(first);
    const second = await add(person);
    const facts = (messageId?: string) => stores.chats.routeFacts(accountId, [person.phone], messageId);
    const { chatId } = first;
    expect(await facts()).toEqual({ chatId, tags: [], isFirstContact: true });
    const ignored: TurnResult = { state: 'ignored', reason: 'chat-paused', replies: [] };
    await stores.inbox.finishTurn(first.messageId, ignored, { claim });
    expect(await facts(second.messageId)).toMatchObject({ isFirstContact: true });
    await stores.inbox.finishTurn(second.messageId, answered(), { claim });
    const third = await add(person);
    await stores.chats.label(chatId, { tags: ['vip'] });
    const later = { chatId, tags: ['vip'], isFirstContact: false };
    expect(await facts(third.messageId)).toEqual(later);
    expect(await facts()).toEqual(later);
    expect(await stores.chats.routeFacts(accountId, [`${person.lid}@lid`])).toEqual(later);
    // A replay of an answered message comes to the same result.
    expect(await facts(second.messageId)).toMatchObject({ isFirstContact: true });
    expect(await stores.chats.routeFacts(accountId, ['5490000000000'])).toBeUndefined();
    expect(await stores.chats.routeFacts(anAccount(), [person.phone])).toBeUndefined();
  });

  describe('what the owner writes by hand', () => {
    const minute = 60_000;
    const byOwner = (effect: OwnerEffect, given: Parameters<typeof aMessage>[2] = {}) => ({
      sender: aPerson(),
      sentAtMs: Date.now(),
      ownerEffect: effect,
      ignoredReason: effect.kind === 'takeover' ? ('owner-message' as const) : ('own-message' as const),
      ...given,
    });
    const takeover = { kind: 'takeover', forMs: 30 * minute } as const;
    const pauseOf = async (chatId: string) => (await stores.chats.get(chatId))?.pause;
    const leftMs = async (chatId: string) =>
      ((await pauseOf(chatId))?.until?.getTime() ?? Number.NaN) - Date.now();

    it('pauses the chat, with its text in the log, and claims nothing', async () => {
      const person = aPerson();
      const stored = await add(person, byOwner(takeover, { text: 'I answer.' }));
      expect(stored.worker).toBeUndefined();
      expect(await pauseOf(stored.chatId)).toMatchObject({ reason: 'The owner wrote in the chat.' });
      expect(Math.abs((await leftMs(stored.chatId)) - 30 * minute)).toBeLessThan(minute);
      expect((await stores.chats.turnFacts(accountId, [person.phone]))?.chatState).toEqual({
        contextMs: expect.any(Number),
      });
      const [row] = await stores.log.messages({ chatId: stored.chatId, limit: 5 });
      expect(row).toMatchObject({ state: 'ignored', reason: 'owner-message', text: 'I answer.' });
    });

    it('extends the pause, never shortens it, and counts from the time of the message', async () => {
      const person = aPerson();
      const { chatId } = await add(person, byOwner({ ...takeover, forMs: 60 * minute }));
      await add(person, byOwner(takeover));
      expect(Math.abs((await leftMs(chatId)) - 60 * minute)).toBeLessThan(minute);
      await add(person, byOwner({ ...takeover, forMs: 90 * minute }));
      expect(Math.abs((await leftMs(chatId)) - 90 * minute)).toBeLessThan(minute);
      const other = await add(aPerson(), byOwner(takeover, { sentAtMs: Date.now() - 31 * minute }));
      expect(await pauseOf(other.chatId)).toBeUndefined();
    });

    it('does not end a pause without an end', async () => {
      const person = aPerson();
      const { chatId } = await add(person);
      await stores.chats.pause(chatId, { reason: 'Maria answers.' });
      await add(person, byOwner(takeover));
      expect(await pauseOf(chatId)).toEqual({
        mode: 'listen-only',
        since: expect.any(Date),
        reason: 'Maria answers.',
      });
      await stores.chats.pause(chatId, { forMs: minute, reason: 'Maria answers.' });
      await add(person, byOwner(takeover));
      expect(await pauseOf(chatId)).toMatchObject({ reason: 'Maria answers.' });
      expect(Math.abs((await leftMs(chatId)) - 30 * minute)).toBeLessThan(minute);
    });

    it('pauses and resumes by command, without its text', async () => {
      const person = aPerson();
      const { chatId } = await add(person, byOwner({ kind: 'pause' }, { text: '#pause' }));
      expect(await pauseOf(chatId)).toEqual({
        mode: 'listen-only',
        since: expect.any(Date),
        reason: '#pause',
      });
      await add(person, byOwner({ kind: 'pause', forMs: 5 * minute }));
      expect(Math.abs((await leftMs(chatId)) - 5 * minute)).toBeLessThan(minute);
      await add(person, byOwner({ kind: 'resume' }));
      expect(await pauseOf(chatId)).toBeUndefined();
      const rows = await stores.log.messages({ chatId, limit: 5 });
      expect(rows.map(({ reason, text }) => [reason, text])).toEqual(Array(3).fill(['own-message', '']));
      expect((await stores.chats.turnFacts(accountId, [person.phone]))?.chatState).toBeUndefined();
    });

    it('counts once, and not when wa2ai itself sent it', async () => {
      const person = aPerson();
      const ours = aReply(accountId, `${person.phone}@s.whatsapp.net`);
      await stores.outbox.addDirect(ours);
      const echo = await add(person, byOwner(takeover, { waMessageId: ours.waMessageId, text: 'secret' }));
      expect(await pauseOf(echo.chatId)).toBeUndefined();
      const [row] = await stores.log.messages({ chatId: echo.chatId, limit: 5 });
      expect(row).toMatchObject({ state: 'ignored', reason: 'own-message', text: '' });
      const own = aMessage(accountId, person, byOwner(takeover));
      await stores.inbox.add(own, NODE);
      await stores.chats.resume(echo.chatId);
      expect((await stores.inbox.add(own, NODE)).outcome).toBe('known');
      expect(await pauseOf(echo.chatId)).toBeUndefined();
    });

    it('pauses the chat when it is sent through the API', async () => {
      const person = aPerson();
      const message = aReply(accountId, `${person.phone}@s.whatsapp.net`, 'by hand');
      const { row } = await stores.outbox.addDirect(message, {
        idempotencyKey: 'key',
        byHand: { pauseMs: 30 * minute },
      });
      expect(Math.abs((await leftMs(row.chatId)) - 30 * minute)).toBeLessThan(minute);
      await stores.chats.resume(row.chatId);
      const repeat = { ...message, waMessageId: 'ANOTHER' };
      expect(
        (await stores.outbox.addDirect(repeat, { idempotencyKey: 'key', byHand: { pauseMs: minute } }))
          .outcome,
      ).toBe('known');
      await stores.outbox.addDirect(aReply(accountId, message.to), { byHand: { pauseMs: 0 } });
      expect(await pauseOf(row.chatId)).toBeUndefined();
    });
  });

  it('is listed among invented chats only when it is of the playground', async () => {
    const { chatId } = await add();
    const invented = await stores.inbox.add(aMessage('playground', aPerson()), NODE);
    const accounts = { accounts: [accountId, 'playground'], accountId: undefined };
    expect(await ids({ ...accounts, isPlayground: false })).toEqual([chatId]);
    const listed = await ids({ ...accounts, isPlayground: true });
    expect(listed).toContain(invented.chatId);
    expect(listed).not.toContain(chatId);
  });

  describe('a chat that the owner locks on the phone', () => {
    const lock = (person: ReturnType<typeof aPerson>, isLocked: boolean) =>
      stores.chats.lock(accountId, { kind: 'person', phone: person.phone, lid: person.lid }, isLocked);

    it('is listed as locked, without the words of its last message, until it is unlocked', async () => {
      const person = aPerson();
      const { chatId, messageId } = await add(person, { text: 'a secret' });
      const other = await add();
      await lock(person, true);
      await lock(person, true);
      const [locked] = await stores.chats.list({ accountId, isLocked: true, limit: 9 });
      expect(locked).toMatchObject({ id: chatId, isLocked: true, lastMessage: { kind: 'text', text: '' } });
      expect(await ids({ isLocked: false })).toEqual([other.chatId]);
      const jid = `${person.phone}@s.whatsapp.net`;
      await stores.inbox.finishTurn(messageId, answered([aReply(accountId, jid, 'the answer')]));
      expect((await stores.chats.get(chatId))?.lastMessage).toMatchObject({
        direction: 'outgoing',
        text: '',
      });
      await lock(person, false);
      const unlocked = await stores.chats.get(chatId);
      expect(unlocked?.lastMessage?.text).toBe('the answer');
      expect(unlocked?.isLocked).toBeUndefined();
    });

    it('is locked before its first message, and by either address', async () => {
      const person = aPerson();
      await stores.chats.lock(accountId, { kind: 'person', lid: person.lid }, true);
      const { chatId } = await add(person);
      expect(await ids()).toEqual([chatId]);
      expect(await stores.chats.get(chatId)).toMatchObject({ isLocked: true, phone: person.phone });
      const groupId = '120363000000000091';
      await stores.chats.lock(accountId, { kind: 'group', groupId }, true);
      const group = await add(aPerson(), { chat: { kind: 'group', groupId } });
      expect(await stores.chats.get(group.chatId)).toMatchObject({ isLocked: true });
    });

    it('stays locked when it is merged with the other chat of its person', async () => {
      const person = aPerson();
      const first = await add({ phone: person.phone } as typeof person);
      await stores.chats.lock(accountId, { kind: 'person', lid: person.lid }, true);
      expect(await ids()).toHaveLength(2);
      await add(person);
      expect(await ids({ isLocked: true })).toEqual([first.chatId]);
      expect(await ids()).toHaveLength(1);
    });

    it('is not stored when it is unlocked and not known', async () => {
      await lock(aPerson(), false);
      expect(await ids()).toEqual([]);
    });
  });

  describe('the session of a person in all chats', () => {
    it('is the first one until another begins, which begins once for each message', async () => {
      const [one, two] = [(await add()).chatId, (await add()).chatId];
      const use = (chatId: string) => stores.chats.usePersonSession(accountId, '77', chatId);
      const start = (messageId: string) => stores.chats.startPersonSession(accountId, '77', messageId);
      expect(await use(one)).toEqual({ number: 1, startMs: 0, chatIds: [one] });
      const used = await use(two);
      expect(used).toEqual({ number: 1, startMs: 0, usedMs: expect.any(Number), chatIds: [one, two] });
      expect(Math.abs((used?.usedMs ?? 0) - Date.now())).toBeLessThan(60 * 60_000);
      const second = await start('11');
      expect(second).toEqual({ number: 2, startMs: expect.any(Number) });
      expect(await start('11')).toEqual(second);
      expect(await use(one)).toMatchObject({ ...second, chatIds: [two, one] });
      expect((await start('12')).number).toBe(3);
      expect(await stores.chats.usePersonSession(accountId, '78', one)).toMatchObject({ number: 1 });
      expect((await stores.chats.startPersonSession(accountId, '79', '13')).number).toBe(2);
    });

    it('has no part in a locked chat, and locked chats are none of its chats', async () => {
      const [ana, bea] = [aPerson(), aPerson()];
      const [one, two] = [(await add(ana)).chatId, (await add(bea)).chatId];
      const use = (chatId: string) => stores.chats.usePersonSession(accountId, '77', chatId);
      const lock = (isLocked: boolean) => stores.chats.lock(accountId, { kind: 'person', ...ana }, isLocked);
      await use(one);
      await lock(true);
      expect(await use(one)).toBeUndefined();
      expect(await use(two)).toMatchObject({ number: 1, chatIds: [two] });
      await lock(false);
      expect(await use(one)).toMatchObject({ chatIds: [two, one] });
    });

    it('remembers its last 50 chats', async () => {
      // Ids that no chat has.
      const chats = Array.from({ length: 52 }, (_, index) => String(1e9 + index));
      for (const chatId of chats) await stores.chats.usePersonSession(accountId, '77', chatId);
      expect(await stores.chats.usePersonSession(accountId, '77', chats[51] ?? '')).toMatchObject({
        chatIds: chats.slice(2),
      });
    });
  });

  describe('the access of a chat', () => {
    const waits: TurnResult = { state: 'ignored', reason: 'access-pending', replies: [] };
    /** Stores a message whose turn ends waiting for the owner. */
    const addWaiting = async (person: ReturnType<typeof aPerson>, text: string, reason?: TurnReason) => {
      const stored = await add(person, { text });
      const claim = stored.worker;
      const result = { ...waits, reason: reason ?? waits.reason };
      const end = await stores.inbox.finishTurn(stored.messageId, result, { claim });
      expect(end).toEqual({ replies: [], isClaimed: false });
      return stored;
    };

    it('is asked for once, and read with the turns of the chat', async () => {
      const person = aPerson();
      const { chatId, worker } = await add(person);
      expect(await stores.chats.askAccess(chatId)).toMatchObject({ access: 'pending' });
      const again = await stores.chats.askAccess(chatId);
      expect(again).toEqual(await stores.chats.askAccess(chatId));
      expect(Math.abs((again?.askedAtMs ?? 0) - Date.now())).toBeLessThan(60 * 60_000);
      expect((await stores.chats.get(chatId))?.access).toBe('pending');
      expect((await stores.chats.turnFacts(accountId, [person.phone]))?.access).toBe('pending');
      if (!worker) throw new Error('the chat was claimed');
      const read = await stores.inbox.nextTurn(worker);
      expect(read?.access).toBe('pending');
      await stores.inbox.finishTurn(read?.messageId ?? '', waits, { claim: worker });
      expect((await add(person)).turn?.access).toBe('pending');
      expect(await ids({ access: 'pending' })).toEqual([chatId]);
      expect(await ids({ access: 'approved' })).toEqual([]);
      expect(await stores.chats.askAccess('999999999')).toBeUndefined();
      expect(await stores.chats.decideAccess('999999999', 'approved', NODE)).toBeUndefined();
    });

    it('is asked for three chats of an account in an hour', async () => {
      const chats = [];
      for (let count = 0; count < 4; count++) chats.push((await add()).chatId);
      const asked = [];
      for (const chatId of chats) asked.push((await stores.chats.askAccess(chatId))?.access);
      expect(asked).toEqual(['pending', 'pending', 'pending', 'over-limit']);
      expect((await stores.chats.get(chats[3] ?? ''))?.access).toBeUndefined();
      expect((await stores.chats.askAccess(chats[0] ?? ''))?.access).toBe('pending');
      const other = await stores.inbox.add(aMessage(anAccount(), aPerson()), NODE);
      expect((await stores.chats.askAccess(other.chatId))?.access).toBe('pending');
    });

    it('once approved makes the waiting messages unanswered, in order, once', async () => {
      const person = aPerson();
      const { chatId } = await addWaiting(person, 'one', 'access-over-limit');
      await stores.chats.askAccess(chatId);
      await addWaiting(person, 'two');
      await addWaiting(person, 'for another reason', 'chat-paused');
      await addWaiting(person, 'three');
      const decided = await stores.chats.decideAccess(chatId, 'approved', 'node-2');
      expect(decided).toMatchObject({
        chat: { id: chatId, access: 'approved', unanswered: 3 },
        isNewWorker: true,
      });
      if (!decided?.worker) throw new Error('the chat was claimed');
      expect(decided.worker.node).toBe('node-2');
      const again = await stores.chats.decideAccess(chatId, 'approved', NODE);
      expect(again).toMatchObject({ isNewWorker: false, worker: decided.worker });
      expect(await drain(stores.inbox, decided.worker)).toEqual(['one', 'two', 'three']);
      const idle = await stores.chats.decideAccess(chatId, 'approved', NODE);
      expect(idle).toMatchObject({ isNewWorker: false });
      expect(idle?.worker).toBeUndefined();
      expect((await stores.chats.askAccess(chatId))?.access).toBe('approved');
    });

    it('once refused makes nothing unanswered, and can be approved later', async () => {
      const person = aPerson();
      const { chatId } = await addWaiting(person, 'one');
      const refused = await stores.chats.decideAccess(chatId, 'refused', NODE);
      expect(refused).toMatchObject({ chat: { access: 'refused', unanswered: 0 }, isNewWorker: false });
      expect((await stores.chats.askAccess(chatId))?.access).toBe('refused');
      const approved = await stores.chats.decideAccess(chatId, 'approved', NODE);
      expect(approved).toMatchObject({ chat: { access: 'approved', unanswered: 1 }, isNewWorker: true });
    });

    it('keeps a turn open that would wait although the owner approved meanwhile', async () => {
      const stored = await add();
      const claim = newClaimOf(stored);
      await stores.chats.decideAccess(stored.chatId, 'approved', NODE);
      const end = await stores.inbox.finishTurn(stored.messageId, waits, { claim });
      expect(end).toEqual({ replies: [], isClaimed: true });
      expect((await stores.inbox.nextTurn(claim))?.messageId).toBe(stored.messageId);
    });

    it('keeps the file of a message that waits', async () => {
      const media = { kind: 'image' as const, mimeType: 'image/png', reference: 'secret' };
      const stored = await add(aPerson(), { kind: 'image', text: '', media });
      await stores.inbox.finishTurn(stored.messageId, waits, { claim: stored.worker });
      expect(await stores.inbox.mediaReference(stored.messageId)).toBe('secret');
    });

    it('of two chats that prove to be one counts for both', async () => {
      const person = aPerson();
      const byPhone = await add({ phone: person.phone } as typeof person, { text: 'by number' });
      await stores.inbox.finishTurn(byPhone.messageId, waits, { claim: byPhone.worker });
      const byLid = await add({ lid: person.lid } as typeof person, { text: 'by LID' });
      await stores.inbox.finishTurn(byLid.messageId, answered(), { claim: byLid.worker });
      await stores.chats.decideAccess(byLid.chatId, 'approved', NODE);
      const joined = await add(person, { text: 'by both' });
      expect((await stores.chats.get(joined.chatId))?.access).toBe('approved');
      expect(await drain(stores.inbox, newClaimOf(joined))).toEqual(['by number', 'by both']);
    });
  });

  describe('a pause', () => {
    it('is shown, replaced by the next one and ended', async () => {
      const { chatId } = await add();
      const paused = await stores.chats.pause(chatId, { forMs: 60_000, reason: 'Maria answers.' });
      expect(paused?.pause).toEqual({
        mode: 'listen-only',
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
      expect((await stores.chats.resume(chatId))?.chat.pause).toBeUndefined();
      expect((await stores.chats.resume(chatId))?.chat.pause).toBeUndefined();
      expect(await ids({ isPaused: true })).toEqual([]);
    });

    it('in the mode approve lets turns continue, and names the mode', async () => {
      const person = aPerson();
      const { chatId, worker } = await add(person);
      expect((await stores.chats.pause(chatId, { mode: 'approve' }))?.pause?.mode).toBe('approve');
      if (!worker) throw new Error('the chat was claimed');
      const turn = await stores.inbox.nextTurn(worker);
      expect([turn?.isPaused, turn?.isApproving]).toEqual([undefined, true]);
      expect(await stores.chats.turnFacts(accountId, [person.phone])).toMatchObject({ isApproving: true });
      expect(await ids({ isPaused: true })).toEqual([chatId]);
      await stores.chats.pause(chatId, {});
      const paused = await stores.inbox.nextTurn(worker);
      expect([paused?.isPaused, paused?.isApproving]).toEqual([true, undefined]);
      await stores.chats.pause(chatId, { mode: 'approve' });
      await stores.chats.resume(chatId);
      expect((await stores.chats.pause(chatId, {}))?.pause?.mode).toBe('listen-only');
    });

    it('because of an auto-reply loop lets turns continue, until a turn or an operator ends it', async () => {
      const person = aPerson();
      const { chatId, messageId, worker } = await add(person, { text: 'one' });
      const ignored: TurnResult = { state: 'ignored', reason: 'auto-reply-loop', replies: [] };
      await stores.inbox.finishTurn(messageId, { ...ignored, loop: 'stopped' }, { claim: worker });
      const pause = (await stores.chats.get(chatId))?.pause;
      expect(pause).toMatchObject({ mode: 'auto-reply-loop', reason: 'Two programs answered each other.' });
      expect(pause?.until).toBeUndefined();
      const second = await add(person, { text: 'two' });
      expect([second.turn?.isPaused, second.turn?.isInLoop]).toEqual([undefined, true]);
      const claim = newClaimOf(second);
      expect((await stores.inbox.nextTurn(claim))?.isInLoop).toBe(true);
      await stores.inbox.finishTurn(second.messageId, { ...ignored, loop: 'stopped' }, { claim });
      const resumed = await stores.chats.resume(chatId, { node: 'node-2' });
      expect(resumed).toMatchObject({ chat: { id: chatId, unanswered: 2 }, isNewWorker: true });
      expect(resumed?.chat.pause).toBeUndefined();
      if (!resumed?.worker) throw new Error('the chat was claimed');
      expect((await stores.inbox.nextTurn(resumed.worker))?.chatState?.loopFromMs).toEqual(
        expect.any(Number),
      );
      expect(await drain(stores.inbox, resumed.worker)).toEqual(['one', 'two']);

      const third = await add(person);
      await stores.inbox.finishTurn(
        third.messageId,
        { ...ignored, loop: 'stopped' },
        { claim: third.worker },
      );
      const typed = await add(person);
      await stores.inbox.finishTurn(
        typed.messageId,
        { ...answered(), loop: 'over' },
        { claim: typed.worker },
      );
      expect((await stores.chats.get(chatId))?.pause).toBeUndefined();
      await stores.chats.pause(chatId, { reason: 'Maria answers.' });
      const fourth = await add(person);
      await stores.inbox.finishTurn(
        fourth.messageId,
        { ...ignored, loop: 'stopped' },
        { claim: fourth.worker },
      );
      expect((await stores.chats.get(chatId))?.pause?.mode).toBe('listen-only');
      const fifth = await add(person);
      await stores.inbox.finishTurn(
        fifth.messageId,
        { ...answered(), loop: 'over' },
        { claim: fifth.worker },
      );
      expect((await stores.chats.get(chatId))?.pause?.reason).toBe('Maria answers.');
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

    it('is among what the next turn would read, found by any address', async () => {
      const person = aPerson();
      const { chatId } = await add(person);
      expect(await stores.chats.turnFacts(accountId, [person.phone])).toEqual({ chatId });
      await stores.chats.pause(chatId, {});
      await stores.outbox.addDirect(aReply(accountId, `${person.phone}@s.whatsapp.net`));
      expect(await stores.chats.turnFacts(accountId, ['999999999', `${person.lid}@lid`])).toEqual({
        chatId,
        isPaused: true,
        repliedAtMs: expect.any(Number),
      });
      expect(await stores.chats.turnFacts(accountId, ['999999999'])).toBeUndefined();
      expect(await stores.chats.turnFacts(anAccount(), [person.phone])).toBeUndefined();
      expect(await stores.chats.turnFacts(accountId, [])).toBeUndefined();
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
