import { beforeEach, expect, it } from 'vitest';
import type { ChatClaim } from '../../../router/src/core/ports/inbox.ts';
import type { TurnResult } from '../../../router/src/core/turns/turn.ts';
import {
  aMessage,
  anAccount,
  answered,
  aPerson,
  aReply,
  describeStores,
  NODE,
} from '../../contracts/adapters.ts';

const died: TurnResult = {
  state: 'dead',
  reason: 'AGENT_TIMEOUT',
  error: 'It took too long.',
  attempts: 2,
  replies: [],
};

describeStores('dead letters in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });

  const letters = () => stores.log.deadLetters({ accountId, limit: 20 });
  const openIds = (filter = {}) => stores.deadLetters.open({ accountId, ...filter }, 20);

  /** A message that became a dead letter; its chat has no worker. */
  async function deadMessage(person = aPerson(), result: TurnResult = died) {
    const stored = await stores.inbox.add(aMessage(accountId, person), NODE);
    const messageId = stored.messageId;
    await stores.inbox.finishTurn(messageId, result);
    if (stored.worker) await stores.inbox.nextTurn(stored.worker);
    const [letter] = await letters();
    if (!letter) throw new Error('a dead letter was stored');
    return { person, messageId, chatId: stored.chatId, letterId: letter.id };
  }

  /** Answers the waiting messages of a chat and returns their texts in order. */
  async function turnsOf(claim: ChatClaim | undefined) {
    const turns = [];
    for (let n = 0; claim && n < 20; n++) {
      const turn = await stores.inbox.nextTurn(claim);
      if (!turn) break;
      turns.push(turn);
      await stores.inbox.finishTurn(turn.messageId, answered());
    }
    return turns;
  }

  it('returns a replayed message to its chat with a new claim and its earlier attempts', async () => {
    const { messageId, chatId, letterId } = await deadMessage();
    const replay = await stores.deadLetters.replay(letterId, NODE);
    expect(replay).toMatchObject({
      outcome: 'replayed',
      messageId,
      worker: { chatId, node: NODE },
      isNewWorker: true,
    });
    expect(await stores.log.message(messageId)).toMatchObject({ state: 'received' });
    expect(await letters()).toMatchObject([{ id: letterId, replayedAt: expect.any(Date) }]);
    expect(await turnsOf('worker' in replay ? replay.worker : undefined)).toMatchObject([
      { messageId, earlierAttempts: 2 },
    ]);
    expect(await stores.log.message(messageId)).toMatchObject({ state: 'answered' });
  });

  it('returns a replayed message as one whose earlier attempts forbid no further one', async () => {
    const stored = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
    const { messageId } = stored;
    const claim = stored.worker as ChatClaim;
    await (await stores.inbox.countAttempt(messageId, 1)).stored;
    expect((await stores.inbox.nextTurn(claim))?.mayHaveRun).toBe(true);
    await stores.inbox.finishTurn(messageId, died);
    await stores.deadLetters.replay((await letters())[0]?.id ?? '', NODE);
    const turn = await stores.inbox.nextTurn(claim);
    expect(turn).toMatchObject({ messageId, earlierAttempts: 2 });
    expect(turn?.mayHaveRun).toBeFalsy();
    await (await stores.inbox.countAttempt(messageId, 3)).stored;
    expect((await stores.inbox.nextTurn(claim))?.mayHaveRun).toBe(true);
  });

  it('replays under the existing claim, and puts the message last in its chat', async () => {
    const { person, messageId, chatId, letterId } = await deadMessage();
    const waiting = await stores.inbox.add(aMessage(accountId, person, { text: 'newer' }), NODE);
    const replay = await stores.deadLetters.replay(letterId, NODE);
    expect(replay).toEqual({
      outcome: 'replayed',
      messageId,
      chatId,
      worker: waiting.worker,
      isNewWorker: false,
    });
    const turns = await turnsOf(waiting.worker);
    expect(turns.map((turn) => turn.messageId)).toEqual([waiting.messageId, messageId]);
  });

  it('refuses to replay a dead letter twice unless the message failed again', async () => {
    const { letterId, messageId } = await deadMessage();
    await stores.deadLetters.replay(letterId, NODE);
    expect(await stores.deadLetters.replay(letterId, NODE)).toEqual({ outcome: 'known' });
    await stores.inbox.finishTurn(messageId, answered());
    expect(await stores.deadLetters.replay(letterId, NODE)).toEqual({ outcome: 'known' });
    expect(await stores.deadLetters.replay('999999999999', NODE)).toEqual({ outcome: 'missing' });
  });

  it('updates the same dead letter when the message fails again', async () => {
    const { letterId, messageId } = await deadMessage();
    for (const error of ['Again.', 'And again.']) {
      await stores.deadLetters.replay(letterId, NODE);
      await stores.inbox.finishTurn(messageId, { ...died, error, attempts: 3 });
      expect(await letters()).toMatchObject([
        { id: letterId, state: 'open', error, attempts: 3, replayedAt: undefined },
      ]);
    }
    expect(await openIds()).toEqual([letterId]);
  });

  it('updates the same dead letter when the reply fails again', async () => {
    const reply = aReply(accountId, `${aPerson().phone}@s.whatsapp.net`);
    const { row } = await stores.outbox.addDirect(reply);
    await stores.outbox.markDead(row.id, { sentence: 'First.' });
    const [first] = await letters();
    await stores.deadLetters.replay(first?.id ?? '', NODE);
    await stores.outbox.markSending(row.id);
    await stores.outbox.markRefused(accountId, reply.waMessageId, { sentence: 'Second.' });
    expect(await letters()).toMatchObject([
      { id: first?.id, outboxId: row.id, state: 'open', reason: 'send-refused', error: 'Second.' },
    ]);
    const [second] = await letters();
    expect(second?.createdAt).toEqual(first?.createdAt);
    expect(second?.failedAt.getTime()).toBeGreaterThanOrEqual(first?.failedAt.getTime() ?? 0);
  });

  it('closes an open dead letter, which is then replayed only by its id', async () => {
    const { letterId, messageId } = await deadMessage();
    expect(await stores.deadLetters.close(letterId)).toBe('closed');
    expect(await stores.deadLetters.close(letterId)).toBe('closed');
    expect(await letters()).toMatchObject([{ state: 'closed', closedAt: expect.any(Date) }]);
    expect(await openIds()).toEqual([]);
    expect(await stores.deadLetters.replay(letterId, NODE)).toMatchObject({ outcome: 'replayed' });
    expect(await letters()).toMatchObject([{ state: 'replayed', closedAt: undefined }]);
    expect(await stores.deadLetters.close(letterId)).toBe('replayed');
    expect(await stores.deadLetters.close('999999999999')).toBe('missing');
    await stores.inbox.finishTurn(messageId, died);
    expect(await letters()).toMatchObject([{ id: letterId, state: 'open' }]);
  });

  it('keeps the apology of the first turn beside the reply of the replay', async () => {
    const person = aPerson();
    const to = `${person.phone}@s.whatsapp.net`;
    const sorry = aReply(accountId, to, 'Sorry.');
    const { letterId, messageId } = await deadMessage(person, { ...died, replies: [sorry] });
    await stores.deadLetters.replay(letterId, NODE);
    const { replies } = await stores.inbox.finishTurn(messageId, answered([aReply(accountId, to, 'hello')]));
    expect(replies.map((reply) => reply.message.text)).toEqual(['hello']);
    const stored = (await stores.log.message(messageId))?.replies.map((reply) => reply.text);
    expect(stored).toEqual(['Sorry.', 'hello']);
  });

  it('queues an unsent reply again in the same row and with the same WhatsApp id', async () => {
    const reply = aReply(accountId, `${aPerson().phone}@s.whatsapp.net`);
    const { row } = await stores.outbox.addDirect(reply);
    await stores.outbox.markSending(row.id);
    await stores.outbox.markRefused(accountId, reply.waMessageId, { sentence: 'error 479' });
    const [letter] = await letters();
    expect(letter).toMatchObject({ reason: 'send-refused', outboxId: row.id });
    expect(await stores.deadLetters.replay(letter?.id ?? '', NODE)).toEqual({
      outcome: 'replayed',
      reply: { outboxId: row.id, chatId: row.chatId, message: reply },
    });
    expect(await stores.outbox.undelivered(accountId, { limit: 5 })).toHaveLength(1);
    expect(await stores.outbox.markSending(row.id)).toBe(true);
    expect(await stores.deadLetters.replay(letter?.id ?? '', NODE)).toEqual({ outcome: 'known' });
  });

  it('finds the open dead letters of a filter, oldest first', async () => {
    const first = await deadMessage();
    const second = await deadMessage(aPerson(), { ...died, reason: 'AGENT_UNAVAILABLE' });
    const third = await deadMessage(first.person);
    const ids = [first, second, third].map((dead) => dead.letterId);
    expect(await openIds()).toEqual(ids);
    expect(await openIds({ reason: 'AGENT_TIMEOUT' })).toEqual([ids[0], ids[2]]);
    expect(await openIds({ channelId: first.person.phone })).toEqual([ids[0], ids[2]]);
    expect(await openIds({ channelId: `${first.person.lid}@lid`, before: ids[2] })).toEqual([ids[0]]);
    expect(await openIds({ after: ids[0] })).toEqual(ids.slice(1));
    expect(await stores.deadLetters.open({ accountId }, 2)).toEqual(ids.slice(0, 2));
    await stores.deadLetters.replay(first.letterId, NODE);
    expect(await openIds()).toEqual(ids.slice(1));
    expect(await openIds({ accountId: anAccount() })).toEqual([]);
    expect(await stores.log.deadLetters({ accountId, state: 'open', limit: 9 })).toHaveLength(2);
    expect(await stores.log.deadLetters({ accountId, reason: 'AGENT_UNAVAILABLE', limit: 9 })).toHaveLength(
      1,
    );
  });

  it('closes the open dead letters of a filter, but none that failed later', async () => {
    for (const reason of ['AGENT_TIMEOUT', 'AGENT_UNAVAILABLE'] as const) {
      await deadMessage(aPerson(), { ...died, reason });
    }
    const [last] = await letters();
    const seen = new Date((last?.failedAt.getTime() ?? 0) - 60_000);
    expect(await stores.deadLetters.closeAll({ accountId, until: seen })).toBe(0);
    const filter = { accountId, reason: 'AGENT_TIMEOUT', until: last?.failedAt };
    expect(await stores.deadLetters.closeAll(filter)).toBe(1);
    expect(await openIds()).toEqual([last?.id]);
    expect(await stores.deadLetters.closeAll({ accountId })).toBe(1);
    expect(await openIds()).toEqual([]);
  });

  it('replays all dead letters of a chat in the order in which the messages arrived', async () => {
    const person = aPerson();
    const dead = [await deadMessage(person), await deadMessage(person), await deadMessage(person)];
    let claim: ChatClaim | undefined;
    for (const id of await openIds()) {
      const replay = await stores.deadLetters.replay(id, NODE);
      if ('worker' in replay) claim ??= replay.worker;
    }
    const turns = await turnsOf(claim);
    expect(turns.map((turn) => turn.messageId)).toEqual(dead.map(({ messageId }) => messageId));
  });
});
