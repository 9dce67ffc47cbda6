import sql, { raw } from 'sql-template-tag';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentExchange } from '../../../router/src/core/agent-exchange.ts';
import { say } from '../../../router/src/core/phrases.ts';
import { PostgresMessageLog } from '../../../router/src/features/chats/postgres-message-log.ts';
import { PostgresInbox } from '../../../router/src/infra/db/stores/postgres-inbox.ts';
import {
  aMessage,
  anAccount,
  answered,
  aPerson,
  aReply,
  describeStores,
  NODE,
} from '../../contracts/adapters.ts';
import { createTestDatabase } from '../../support/database.ts';

describeStores('message log in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });
  const add = async (person = aPerson(), given: Parameters<typeof aMessage>[2] = {}) =>
    (await stores.inbox.add(aMessage(accountId, person, given), NODE)).messageId;

  it('shows a message with its outcome and its replies', async () => {
    const person = aPerson();
    const message = aMessage(accountId, person, { text: 'hola', quotedText: 'before' });
    const { messageId, chatId } = await stores.inbox.add(message, NODE);
    const replies = [aReply(accountId, 'a@lid', 'one'), aReply(accountId, 'a@lid', 'two')];
    await stores.inbox.finishTurn(messageId, {
      ...answered(replies),
      routeId: 'r1',
      attempts: 1,
      agentMs: 5,
    });
    const row = await stores.log.message(messageId);
    expect(row).toMatchObject({
      id: messageId,
      accountId,
      chatId,
      channelId: person.phone,
      waMessageId: message.waMessageId,
      from: `${person.phone}@s.whatsapp.net`,
      fromLid: `${person.lid}@lid`,
      pushName: 'Ana',
      kind: 'text',
      text: 'hola',
      quotedText: 'before',
      state: 'answered',
      routeId: 'r1',
      attempts: 1,
      agentMs: 5,
      sentAt: new Date(message.sentAtMs),
      receivedAt: expect.any(Date),
      finishedAt: expect.any(Date),
    });
    expect(row?.replies.map((reply) => [reply.text, reply.state, reply.waMessageId])).toEqual(
      replies.map((reply) => [reply.text, 'queued', reply.waMessageId]),
    );
    expect(await stores.log.messages({ accountId, limit: 5 })).toEqual([row]);
  });

  it('keeps the exchanges with agents of each turn, once', async () => {
    const { messageId } = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
    const exchange: AgentExchange = {
      attempt: 1,
      at: '2026-01-31T12:00:00.000Z',
      ms: 12,
      request: {
        method: 'POST',
        url: 'http://agent/run',
        headers: { accept: '*/*' },
        body: '{"a":1}',
        bytes: 7,
      },
      response: { status: 503, headers: {} },
      fault: 'broken: reset',
    };
    const result = { ...answered([]), exchanges: [exchange, { ...exchange, attempt: 2 }] };
    await stores.inbox.finishTurn(messageId, result);
    await stores.inbox.finishTurn(messageId, result);
    expect(await stores.log.exchanges(messageId)).toEqual(result.exchanges);
    const other = await add();
    await stores.inbox.finishTurn(other, answered([]));
    expect(await stores.log.exchanges(other)).toEqual([]);
  });

  it('shows reactions, deletions and edits with the message that they are about', async () => {
    const person = aPerson();
    const first = aMessage(accountId, person, { text: 'hola', media: undefined });
    await stores.inbox.add(first, NODE);
    const of = first.waMessageId;
    await add(person, { kind: 'reaction', text: '👍', ignoredReason: 'reaction', reactsTo: of });
    await add(person, { text: 'hello', editOf: of });
    await add(person, { kind: 'other', text: '', ignoredReason: 'deleted', deletes: of });
    const rows = await stores.log.messages({ accountId, limit: 9, isOldestFirst: true });
    expect(rows).toMatchObject([
      { text: 'hello', edits: 1, state: 'ignored', reason: 'deleted-by-author' },
      { kind: 'reaction', text: '👍', about: of },
      { text: 'hello', editOf: of, reason: 'edit-applied' },
      { text: '', reason: 'deleted', about: of },
    ]);
    for (const row of rows.slice(1)) expect(row.edits).toBeUndefined();
  });

  it('shows the card of a message, and whether its file can be loaded', async () => {
    const card = { kind: 'location' as const, latitude: 1, longitude: 2 };
    await add(aPerson(), { kind: 'location', text: '', details: { card } });
    const media = { kind: 'image' as const, mimeType: 'image/png', reference: 'secret' };
    await add(aPerson(), { kind: 'image', text: '', media });
    const [image, location] = await stores.log.messages({ accountId, limit: 2 });
    expect(image).toMatchObject({ hasFile: true, media: { kind: 'image', mimeType: 'image/png' } });
    expect(JSON.stringify(image)).not.toContain('secret');
    expect(location?.card).toEqual(card);
    expect(location?.hasFile).toBeUndefined();
  });

  it('shows what a message sent is, who wrote it and what it quotes, without the key of a poll', async () => {
    const { phone } = aPerson();
    const reply = () => aReply(accountId, `${phone}@s.whatsapp.net`, 'words');
    const quote = { waMessageId: 'A1', from: '1@lid', text: 'before' };
    await stores.outbox.addDirect({ ...reply(), quote }, { byHand: { pauseMs: 60_000 } });
    const poll = { kind: 'poll' as const, question: 'When?', options: ['a', 'b'], selectable: 1 };
    await stores.outbox.addDirect({ ...reply(), special: { ...poll, secret: 'c2VjcmV0' } });
    const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 2 };
    const file = { source: 'x', bytes: new Uint8Array([1, 2]) };
    await stores.outbox.addDirect({ ...reply(), media }, { file });
    const [written, polled, image] = await stores.log.sentMessages({
      accountId,
      limit: 3,
      isOldestFirst: true,
    });
    expect(written).toMatchObject({ byHand: true, quote });
    expect(written?.special).toBeUndefined();
    expect(polled?.special).toEqual(poll);
    expect(polled?.byHand).toBeUndefined();
    expect(image).toMatchObject({ hasFile: true, media });
  });

  it('gives the messages that a route was chosen for, or will be, as the choice of a route takes them', async () => {
    const person = aPerson();
    const media = { kind: 'image' as const, mimeType: 'image/png', reference: 'secret' };
    const first = await stores.inbox.add(
      aMessage(accountId, person, { kind: 'image', text: 'caption', media, toUs: 'quote' }),
      NODE,
    );
    await stores.inbox.finishTurn(first.messageId, { ...answered([]), trace: [] });
    await add(person, { text: '', ignoredReason: 'reaction', kind: 'reaction' });
    const card = { kind: 'event' as const, name: 'party' };
    const second = await add(person, { kind: 'other', text: 'x', details: { card } });
    await stores.inbox.add(aMessage(anAccount(), aPerson()), NODE);
    const rows = await stores.log.messagesToRoute({ accountId, limit: 5 });
    const channelIds = [person.phone, `${person.lid}@lid`];
    expect(rows).toMatchObject([
      { messageId: second, channelIds, message: { text: 'x', kind: 'other', card } },
      {
        messageId: first.messageId,
        chatId: first.chatId,
        accountId,
        channelIds,
        message: { text: 'caption', kind: 'image', media: { kind: 'image' } },
        toUs: 'quote',
        receivedAtMs: expect.any(Number),
      },
    ]);
    const row = await stores.log.message(first.messageId);
    expect(rows[1]?.receivedAtMs).toBe(row?.receivedAt.getTime());
    expect(await stores.log.messagesToRoute({ accountId, limit: 1 })).toEqual(rows.slice(0, 1));
    expect(await stores.log.messagesToRoute({ limit: 1 })).toHaveLength(1);
  });

  it('counts dead letters by reason, the largest group first', async () => {
    const failures = [
      ['AGENT_TIMEOUT', 'first'],
      ['AGENT_TIMEOUT', 'second'],
      ['ROUTE_GONE', 'third'],
    ] as const;
    const people = failures.map(() => aPerson());
    for (const [index, [reason, error]] of failures.entries()) {
      await stores.inbox.finishTurn(await add(people[index]), { state: 'dead', reason, error, replies: [] });
    }
    const groups = await stores.log.deadLetterGroups({ accountId, state: 'open' });
    expect(groups).toMatchObject([
      { reason: 'AGENT_TIMEOUT', count: 2, error: 'second' },
      { reason: 'ROUTE_GONE', count: 1, error: 'third' },
    ]);
    expect(groups[0]?.oldestAt.getTime()).toBeLessThanOrEqual(groups[0]?.newestAt.getTime() ?? 0);
    const [letter] = await stores.log.deadLetters({ accountId, limit: 1 });
    await stores.deadLetters.close(letter?.id ?? '');
    expect(await stores.log.deadLetterGroups({ accountId, state: 'open' })).toMatchObject([{ count: 2 }]);
    expect(await stores.log.deadLetterGroups({ accountId, state: 'closed' })).toMatchObject([
      { reason: 'ROUTE_GONE', count: 1 },
    ]);
    expect(await stores.log.deadLetterGroups({ accountId, chats: [people[0]?.phone ?? ''] })).toMatchObject([
      { reason: 'AGENT_TIMEOUT', count: 1, error: 'first' },
    ]);
    expect(await stores.log.deadLetterGroups({ accountId, channelId: 'nonsense' })).toEqual([]);
  });

  it('pages backward, newest first', async () => {
    const ids = [await add(), await add(), await add(), await add(), await add()];
    const page = async (before?: string) =>
      (await stores.log.messages({ accountId, limit: 2, before })).map((row) => row.id);
    expect(await page()).toEqual([ids[4], ids[3]]);
    expect(await page(ids[3])).toEqual([ids[2], ids[1]]);
    expect(await page(ids[1])).toEqual([ids[0]]);
    expect(await page(ids[0])).toEqual([]);
  });

  it('filters by chat, given as number, LID or group id, and by state', async () => {
    const [ana, ben] = [aPerson(), aPerson()];
    const fromAna = await add(ana);
    const ignored = await add(ana, { ignoredReason: 'too-old' });
    await add(ben);
    const fromGroup = await add(ben, { chat: { kind: 'group', groupId: '120363000000000042' } });
    const ids = async (query: { channelId?: string; state?: string }) =>
      (await stores.log.messages({ accountId, limit: 9, ...query })).map((row) => row.id);
    for (const channelId of [ana.phone, `+${ana.phone}`, `${ana.lid}@lid`, `${ana.phone}@s.whatsapp.net`]) {
      expect(await ids({ channelId })).toEqual([ignored, fromAna]);
    }
    expect(await ids({ channelId: '120363000000000042@g.us' })).toEqual([fromGroup]);
    expect(await ids({ channelId: ana.phone, state: 'ignored' })).toEqual([ignored]);
    expect(await ids({ channelId: '999999999' })).toEqual([]);
    expect(await ids({ channelId: 'nonsense' })).toEqual([]);
    expect(await ids({ state: 'answered' })).toEqual([]);
  });

  it('shows some chats only, also together with the filter of one of them', async () => {
    const [ana, ben] = [aPerson(), aPerson()];
    const fromAna = await add(ana);
    const fromBen = await add(ben);
    const fromGroup = await add(ben, { chat: { kind: 'group', groupId: '120363000000000043' } });
    const ids = async (query: { chats: string[]; channelId?: string }) =>
      (await stores.log.messages({ accountId, limit: 9, ...query })).map((row) => row.id);
    const chats = [`${ana.lid}@lid`, '120363000000000043@g.us'];
    expect(await ids({ chats })).toEqual([fromGroup, fromAna]);
    expect(await ids({ chats, channelId: ana.phone })).toEqual([fromAna]);
    expect(await ids({ chats, channelId: ben.phone })).toEqual([]);
    expect(await ids({ chats: [ben.phone, '999999999'] })).toEqual([fromBen]);
    for (const none of [[], ['*'], ['nonsense']]) expect(await ids({ chats: none })).toEqual([]);
  });

  it.each(['', 'abc', '-1', '1.5', '99999999999999999999999', "1' OR 1=1"])(
    'finds no message %j and no page before it',
    async (id) => {
      await add();
      expect(await stores.log.message(id)).toBeUndefined();
      expect(await stores.log.messages({ accountId, limit: 5, before: id })).toEqual([]);
      expect(await stores.log.deadLetters({ accountId, limit: 5, before: id })).toEqual([]);
    },
  );

  it('shows dead letters of messages and replies, newest first, by page and chat', async () => {
    const person = aPerson();
    const dead = {
      state: 'dead' as const,
      reason: 'AGENT_PROTOCOL' as const,
      error: 'It spoke another protocol.',
    };
    const first = await add(person);
    await stores.inbox.finishTurn(first, { ...dead, attempts: 2, replies: [] });
    const second = await add();
    const {
      replies: [reply],
    } = await stores.inbox.finishTurn(second, answered([aReply(accountId, 'a@lid')]));
    await stores.outbox.markDead(reply?.outboxId ?? '', { sentence: 'No such address.' });
    const letters = await stores.log.deadLetters({ accountId, limit: 9 });
    expect(letters).toMatchObject([
      { messageId: second, error: 'No such address.' },
      { messageId: first, reason: 'AGENT_PROTOCOL', error: 'It spoke another protocol.', attempts: 2 },
    ]);
    const older = await stores.log.deadLetters({ accountId, limit: 9, before: letters[0]?.id });
    expect(older).toEqual([letters[1]]);
    expect(await stores.log.deadLetters({ accountId, limit: 1 })).toEqual([letters[0]]);
    expect(await stores.log.deadLetters({ accountId, limit: 9, channelId: person.phone })).toEqual([
      letters[1],
    ]);
    const ofOthers = await stores.log.deadLetters({ accountId, limit: 9, chats: ['999999999'] });
    expect(ofOthers).toEqual([]);
    expect(await stores.log.deadLetters({ accountId, limit: 9, state: 'open' })).toHaveLength(2);
    expect(await stores.log.deadLetters({ accountId, limit: 9, state: 'replayed' })).toEqual([]);
  });

  it('shows messages sent, by id and as a list, with the reason of those that are dead', async () => {
    const person = aPerson();
    const messageId = await add(person);
    const {
      replies: [reply],
    } = await stores.inbox.finishTurn(
      messageId,
      answered([aReply(accountId, `${person.phone}@s.whatsapp.net`, 'an answer')]),
    );
    const { row: direct } = await stores.outbox.addDirect(
      aReply(accountId, '5491100000001@s.whatsapp.net', 'x'),
    );
    await stores.outbox.markSending(direct.id);
    await stores.outbox.markDead(direct.id, { sentence: 'This number is not on WhatsApp.' });
    const [letter] = await stores.log.deadLetters({ accountId, limit: 9 });
    const shown = await stores.log.sentMessage(direct.id);
    expect(shown).toMatchObject({
      direction: 'outgoing',
      channelId: '5491100000001',
      to: '5491100000001@s.whatsapp.net',
      state: 'dead',
      reason: 'send-failed',
      error: 'This number is not on WhatsApp.',
      deadLetterId: letter?.id,
    });
    const sent = await stores.log.sentMessages({ accountId, limit: 9 });
    expect(sent).toEqual([shown, await stores.log.sentMessage(reply?.outboxId ?? '')]);
    expect(sent[1]).toMatchObject({
      messageId,
      channelId: person.phone,
      text: 'an answer',
      reason: undefined,
    });
    const list = (query: object) => stores.log.sentMessages({ accountId, limit: 9, ...query });
    expect(await list({ state: 'dead' })).toEqual([shown]);
    expect(await list({ channelId: person.phone })).toEqual([sent[1]]);
    expect(await list({ chats: [person.phone] })).toEqual([sent[1]]);
    expect(await list({ before: direct.id })).toEqual([sent[1]]);
    expect(await list({ text: 'AN ANS' })).toEqual([sent[1]]);
  });

  it('shows nothing of what delayed a message that was sent after all', async () => {
    const { row } = await stores.outbox.addDirect(aReply(accountId, `${aPerson().phone}@s.whatsapp.net`));
    await stores.outbox.delay(row.id, 60_000, say('send.bad-address'));
    expect((await stores.log.sentMessage(row.id))?.phrase).toEqual({ code: 'send.bad-address' });
    await stores.outbox.endDelays(accountId);
    await stores.outbox.markSending(row.id);
    await stores.outbox.markSent(row.id);
    const { state, error, phrase } = (await stores.log.sentMessage(row.id)) ?? {};
    expect({ state, error, phrase }).toEqual({ state: 'sent', error: undefined, phrase: undefined });
  });

  it('uses each id once over received and sent messages', async () => {
    const person = aPerson();
    const messageId = await add(person);
    const {
      replies: [reply],
    } = await stores.inbox.finishTurn(messageId, answered([aReply(accountId, 'a@lid')]));
    const second = await add(person);
    const ids = [messageId, reply?.outboxId ?? '', second].map(Number);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(new Set(ids).size).toBe(3);
    expect(await stores.log.sentMessage(second)).toBeUndefined();
    expect(await stores.log.message(reply?.outboxId ?? '')).toBeUndefined();
  });

  it('filters by person, route, text and time', async () => {
    const ana = aPerson();
    const bob = aPerson();
    const group = { chat: { kind: 'group' as const, groupId: '120363000000000043' } };
    const first = await add(ana, { text: 'The 100%_price is fine' });
    const inGroup = await add(ana, { ...group, text: 'hello' });
    const ofBob = await add(bob, { ...group, text: 'hello too' });
    await stores.inbox.finishTurn(first, { ...answered(), routeId: 'r7' });
    const ids = async (query: object) =>
      (await stores.log.messages({ accountId, limit: 9, ...query })).map(({ id }) => id);
    expect(await ids({ from: ana.phone })).toEqual([inGroup, first]);
    expect(await ids({ from: `${ana.lid}@lid` })).toEqual([inGroup, first]);
    expect(await ids({ from: bob.phone })).toEqual([ofBob]);
    expect(await ids({ from: `${aPerson().lid}@lid` })).toEqual([]);
    expect(await ids({ routeId: 'r7' })).toEqual([first]);
    expect(await ids({ from: ana.phone, text: 'HELLO' })).toEqual([inGroup]);
    expect(await ids({ from: ana.phone, text: '100%_p' })).toEqual([first]);
    expect(await ids({ from: ana.phone, text: '1_0' })).toEqual([]);
    const { receivedAt } = (await stores.log.message(ofBob)) ?? { receivedAt: new Date() };
    expect(await ids({ since: receivedAt })).toContain(ofBob);
    expect(await ids({ until: receivedAt })).not.toContain(ofBob);
    expect(await ids({ since: new Date(receivedAt.getTime() + 60_000) })).toEqual([]);
  });

  it('finds words of a locked chat only where the chat is named', async () => {
    const [ana, bob] = [aPerson(), aPerson()];
    const inLocked = await stores.inbox.add(aMessage(accountId, ana, { text: 'the secret plan' }), NODE);
    const { row } = await stores.outbox.addDirect(
      aReply(accountId, `${ana.phone}@s.whatsapp.net`, 'a plan B'),
    );
    const open = await stores.inbox.add(aMessage(accountId, bob, { text: 'no plan' }), NODE);
    await stores.chats.lock(accountId, { kind: 'person', ...ana }, true);
    const search = { accountId, text: 'plan', limit: 9 };
    const found = async (query: object) => ({
      received: (await stores.log.messages({ ...search, ...query })).map(({ id }) => id),
      sent: (await stores.log.sentMessages({ ...search, ...query })).map(({ id }) => id),
    });
    const inChat = { received: [inLocked.messageId], sent: [row.id] };
    expect(await found({})).toEqual({ received: [open.messageId], sent: [] });
    expect(await found({ channelId: ana.phone })).toEqual(inChat);
    expect(await found({ chatId: inLocked.chatId })).toEqual(inChat);
    expect(await found({ text: undefined })).toMatchObject({ sent: [row.id] });
  });

  it('tells where a search ends that reads a number of messages of one chat', async () => {
    const [ana, bob] = [aPerson(), aPerson()];
    const received = [];
    for (let count = 0; count < 4; count++) {
      received.push(await stores.inbox.add(aMessage(accountId, ana), NODE));
      await stores.inbox.add(aMessage(accountId, bob), NODE);
    }
    const [first, second, third] = received;
    if (!first || !second || !third) throw new Error('there are four messages');
    const sent = [];
    for (let count = 0; count < 3; count++) {
      const { row } = await stores.outbox.addDirect(aReply(accountId, `${ana.phone}@s.whatsapp.net`));
      sent.push(row.id);
    }
    const { chatId } = first;
    const end = (rows: number, before?: string) => stores.log.searchEnd({ accountId, chatId, before }, rows);
    expect(await end(4)).toBeUndefined();
    expect(await end(3)).toBe(first.messageId);
    expect(await end(2)).toBe(sent[0]);
    expect(await end(2, sent[0])).toBe(second.messageId);
    expect(await end(2, third.messageId)).toBeUndefined();
    expect(await stores.log.searchEnd({ accountId, channelId: ana.phone }, 3)).toBe(first.messageId);
    expect(await stores.log.searchEnd({ accountId, channelId: '999999999' }, 0)).toBeUndefined();
  });

  it('shows text and person of dead letters, and filters them by person', async () => {
    const person = aPerson();
    const messageId = await add(person, { text: 'help' });
    await stores.inbox.finishTurn(messageId, {
      state: 'dead',
      reason: 'AGENT_TIMEOUT',
      error: 'Too slow.',
      trace: [{ rule: 1 }],
      replies: [],
    });
    const { row } = await stores.outbox.addDirect(
      aReply(accountId, `${person.phone}@s.whatsapp.net`, 'an offer'),
    );
    await stores.outbox.markDead(row.id, { sentence: 'Refused.' }, 'send-refused');
    const [ofReply, ofMessage] = await stores.log.deadLetters({ accountId, limit: 9 });
    expect(ofMessage).toMatchObject({
      messageId,
      channelId: person.phone,
      state: 'open',
      from: `${person.phone}@s.whatsapp.net`,
      pushName: 'Ana',
      text: 'help',
      error: 'Too slow.',
      trace: [{ rule: 1 }],
    });
    expect(ofReply).toMatchObject({
      outboxId: row.id,
      channelId: person.phone,
      to: `${person.phone}@s.whatsapp.net`,
      text: 'an offer',
      from: undefined,
    });
    expect(await stores.log.deadLetter(ofMessage?.id ?? '')).toEqual(ofMessage);
    expect(await stores.log.deadLetter('999999999999')).toBeUndefined();
    expect(await stores.log.deadLetters({ accountId, from: person.phone, limit: 9 })).toEqual([ofMessage]);
  });

  it('counts what an account has not sent, and until when it waits', async () => {
    const own = anAccount();
    const add = async () =>
      (await stores.outbox.addDirect(aReply(own, `${aPerson().phone}@s.whatsapp.net`))).row;
    expect(await stores.log.outgoingWork(own)).toEqual({ queued: 0, delayed: [] });
    const [now, sent, soon, late, quiet] = [await add(), await add(), await add(), await add(), await add()];
    await stores.outbox.markSending(sent.id);
    await stores.outbox.markSent(sent.id);
    await stores.outbox.delay(late.id, 7_200_000, { sentence: 'first contact' });
    await stores.outbox.delay(soon.id, 3_600_000, { sentence: 'first contact' });
    await stores.outbox.delay(quiet.id, 10_800_000, { sentence: 'quiet hours' });
    const work = await stores.log.outgoingWork(own);
    expect(work).toEqual({
      queued: 1,
      delayed: [
        { why: 'first contact', messages: 2, until: expect.any(Date) },
        { why: 'quiet hours', messages: 1, until: expect.any(Date) },
      ],
    });
    expect(work.delayed[0]?.until).toEqual((await stores.log.sentMessage(soon.id))?.delayedUntil);
    expect((await stores.log.sentMessage(now.id))?.state).toBe('queued');
  });

  it('shows the first contacts of an account', async () => {
    const own = anAccount();
    const { row } = await stores.outbox.addDirect(aReply(own, `${aPerson().phone}@s.whatsapp.net`));
    expect((await stores.log.firstContacts(own)).earlierMs).toEqual([]);
    await stores.outbox.countFirstContact(row.id);
    const { earlierMs } = await stores.log.firstContacts(own);
    expect(earlierMs).toHaveLength(1);
    expect(earlierMs[0]).toBeLessThan(3_600_000);
  });

  it('counts open messages and replies, not ended ones', async () => {
    const before = await stores.log.openWork();
    await add();
    await add(aPerson(), { ignoredReason: 'too-old' });
    const dead = { state: 'dead' as const, reason: 'X' as const, replies: [aReply(accountId, 'a@lid')] };
    await stores.inbox.finishTurn(await add(), dead);
    const {
      replies: [sent],
    } = await stores.inbox.finishTurn(await add(), answered([aReply(accountId, 'b@lid')]));
    await stores.outbox.markSending(sent?.outboxId ?? '');
    await stores.outbox.markSent(sent?.outboxId ?? '');
    const after = await stores.log.openWork();
    expect(after.messages - before.messages).toBe(1);
    expect(after.oldestMessageMs).toBeGreaterThanOrEqual(0);
    const grown = (state: string) => (after.replies[state] ?? 0) - (before.replies[state] ?? 0);
    expect([grown('queued'), grown('sent')]).toEqual([1, 1]);
    expect(Object.keys(after.replies).sort()).toEqual(['queued', 'sent']);
    expect(after.deadLetters - before.deadLetters).toBe(1);
    expect(after.unacknowledged).toBe(before.unacknowledged);
  });
});

describe('message log in PostgreSQL', () => {
  it('shows the right times on a server of another time zone', async () => {
    const database = await createTestDatabase();
    try {
      const admin = database.open({ poolSize: 1 });
      const [{ name } = { name: '' }] = await admin.query<{ name: string }>(
        sql`SELECT current_database() AS name`,
      );
      await admin.execute(sql`ALTER DATABASE ${raw(name)} SET timezone = 'Asia/Kolkata'`);
      const postgres = database.open();
      const inbox = new PostgresInbox(postgres);
      const beforeMs = Date.now();
      const message = aMessage('a', aPerson());
      const { messageId, chatId } = await inbox.add(message, NODE);
      const row = await new PostgresMessageLog(postgres).message(messageId);
      expect(row?.sentAt).toEqual(new Date(message.sentAtMs));
      expect(Math.abs((row?.receivedAt.getTime() ?? 0) - beforeMs)).toBeLessThan(60_000);
      expect((await inbox.nextTurn({ chatId, node: NODE, epoch: 1 }))?.message.timestamp).toEqual(
        new Date(message.sentAtMs),
      );
    } finally {
      await database.drop();
    }
  });

  it('reads a page of any size in the same number of statements', async () => {
    const database = await createTestDatabase();
    try {
      const postgres = database.open();
      const inbox = new PostgresInbox(postgres);
      for (let n = 0; n < 30; n++) {
        const { messageId } = await inbox.add(aMessage('a', aPerson()), NODE);
        await inbox.finishTurn(messageId, answered([aReply('a', 'a@lid')]));
      }
      let statements = 0;
      const log = new PostgresMessageLog({
        query: (statement) => {
          statements += 1;
          return postgres.query(statement);
        },
      });
      const rows = await log.messages({ limit: 30 });
      expect(rows.map((row) => row.replies.length)).toEqual(Array(30).fill(1));
      expect(statements).toBe(4);
    } finally {
      await database.drop();
    }
  });

  it('counts open rows without reading ended ones', async () => {
    const database = await createTestDatabase();
    try {
      const postgres = database.open({ poolSize: 1 });
      const inbox = new PostgresInbox(postgres);
      const { chatId } = await inbox.add(aMessage('a', aPerson()), NODE);
      await postgres.execute(sql`
        INSERT INTO message (account_id, chat_id, wa_message_id, kind, text, state, stanza_order, sent_at, finished_at)
        SELECT 'a', ${BigInt(chatId)}, 'M' || i, 'text', 'hello', 'answered', i, now(), now() FROM generate_series(1, 5000) i`);
      await postgres.execute(sql`
        INSERT INTO outbox (account_id, chat_id, wa_message_id, to_jid, text, state)
        SELECT 'a', ${BigInt(chatId)}, 'R' || i, 'a@lid', 'hello', 'read' FROM generate_series(1, 5000) i`);
      await postgres.execute(sql`VACUUM ANALYZE message, outbox`);
      const rowsRead = async () => {
        await postgres.execute(sql`SELECT pg_stat_force_next_flush()`);
        const [{ rows } = { rows: 0 }] = await postgres.query<{ rows: number }>(sql`
          SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN ('message', 'outbox'))::float8
               + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ('message', 'outbox'))::float8 AS rows`);
        return rows;
      };
      const before = await rowsRead();
      expect(await new PostgresMessageLog(postgres).openWork()).toMatchObject({ messages: 1, replies: {} });
      expect((await rowsRead()) - before).toBeLessThan(10);
    } finally {
      await database.drop();
    }
  });
});
