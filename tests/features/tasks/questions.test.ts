import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { InboundMessage } from '../../../router/src/core/messages/inbound-message.ts';
import { aMessage, anAccount, answered, aPerson, describeStores, NODE } from '../../contracts/adapters.ts';

const DAY_MS = 86_400_000;

describeStores('questions to people in $name', (stores) => {
  /** Adds a question to a person; it is open unless another one of the chat is. */
  async function ask(accountId: string, person: { phone: string }, deadlineMs = DAY_MS) {
    const id = randomUUID();
    const to = `${person.phone}@s.whatsapp.net`;
    await stores.questions.add({ id, accountId, to, remindMs: deadlineMs / 2, deadlineMs });
    return { id, state: await stores.questions.open(id) };
  }

  /** A message of the person that is stored now. */
  async function say(
    accountId: string,
    person: { phone?: string; lid?: string },
    given: Partial<InboundMessage> = {},
  ) {
    const message = aMessage(accountId, person, { sentAtMs: Date.now(), ...given });
    const { messageId, chatId } = await stores.inbox.add(message, NODE);
    return { messageId, chatId };
  }

  it('gives the next message of the chat to the open question, and the same message again', async () => {
    const [accountId, person] = [anAccount(), aPerson()];
    const { id, state } = await ask(accountId, person);
    expect(state).toBe('open');
    const answer = await say(accountId, person, { text: 'Blue' });
    expect(await stores.questions.chats()).toContain(answer.chatId);
    expect(await stores.questions.answer(answer.chatId, answer.messageId)).toBe(id);
    expect(await stores.questions.answer(answer.chatId, answer.messageId)).toBe(id);
    expect(await stores.questions.get(id)).toMatchObject({ state: 'answered', answer: 'Blue' });
    const next = await say(accountId, person);
    expect(await stores.questions.answer(next.chatId, next.messageId)).toBeUndefined();
  });

  it('names the chat of an answer until the turn of the answer has ended', async () => {
    const [accountId, person] = [anAccount(), aPerson()];
    await ask(accountId, person);
    const { messageId, chatId } = await say(accountId, person);
    await stores.questions.answer(chatId, messageId);
    expect(await stores.questions.chats()).toContain(chatId);
    await stores.inbox.finishTurn(messageId, answered());
    expect(await stores.questions.chats()).not.toContain(chatId);
  });

  it('takes no message that came before, no edit, and none without text', async () => {
    const [accountId, person] = [anAccount(), aPerson()];
    const before = await say(accountId, person);
    const storedMs = Date.now();
    // Times are stored to a millisecond.
    await expect.poll(() => Date.now(), { interval: 2 }).toBeGreaterThan(storedMs + 1);
    const { id } = await ask(accountId, person);
    const late = await say(accountId, person, { sentAtMs: Date.now() - 3_600_000 });
    const edit = await say(accountId, person, { editOf: '3EB0AA' });
    const empty = await say(accountId, person, { text: ' ' });
    for (const { chatId, messageId } of [before, late, edit, empty]) {
      expect(await stores.questions.answer(chatId, messageId)).toBeUndefined();
    }
    expect((await stores.questions.get(id))?.state).toBe('open');
  });

  it('opens one question of a chat at a time, in their order', async () => {
    const [accountId, person] = [anAccount(), aPerson()];
    const [first, second, third] = [
      await ask(accountId, person),
      await ask(accountId, person),
      await ask(accountId, person),
    ];
    expect([first.state, second.state, third.state]).toEqual(['open', 'waiting', 'waiting']);
    expect((await ask(accountId, aPerson())).state).toBe('open');
    await stores.questions.close(first.id);
    expect(await stores.questions.open(third.id)).toBe('waiting');
    expect(await stores.questions.open(second.id)).toBe('open');
    expect(await stores.questions.open(third.id)).toBe('waiting');
  });

  it('takes no answer after the deadline', async () => {
    const [accountId, person] = [anAccount(), aPerson()];
    const { id } = await ask(accountId, person, 1);
    await expect.poll(async () => ((await stores.questions.get(id))?.deadlineMs ?? 1) < 0).toBe(true);
    const { chatId, messageId } = await say(accountId, person);
    expect(await stores.questions.answer(chatId, messageId)).toBeUndefined();
  });

  it('keeps the answer of a question that is closed later, and nothing after a close', async () => {
    const [accountId, person] = [anAccount(), aPerson()];
    const { id } = await ask(accountId, person);
    const { chatId, messageId } = await say(accountId, person, { text: 'Yes' });
    await stores.questions.answer(chatId, messageId);
    await stores.questions.close(id);
    expect(await stores.questions.get(id)).toMatchObject({ state: 'answered', answer: 'Yes' });
    const closed = await ask(accountId, person);
    await stores.questions.close(closed.id);
    expect(await stores.questions.open(closed.id)).toBe('closed');
    const late = await say(accountId, person);
    expect(await stores.questions.answer(late.chatId, late.messageId)).toBeUndefined();
    expect(await stores.questions.open('none')).toBe('closed');
  });

  it('finds the question when the number and the LID of the person become one chat', async () => {
    const [accountId, person] = [anAccount(), aPerson()];
    const byLid = await say(accountId, { lid: person.lid });
    const { id } = await ask(accountId, { phone: person.phone });
    const { chatId, messageId } = await say(accountId, person, { text: 'Both' });
    expect(chatId).toBe(byLid.chatId);
    expect(await stores.questions.answer(chatId, messageId)).toBe(id);
  });
});
