import { expect, it } from 'vitest';
import type { InboundMessage } from '../../router/src/core/messages/inbound-message.ts';
import { aMessage, anAccount, answered, aPerson, aReply, describeStores, NODE } from './adapters.ts';

describeStores('ChatHistory in $name', (stores) => {
  /** Stores a message and answers it with these texts. @returns the id of its chat */
  async function aTurn(message: InboundMessage, ...replies: string[]): Promise<string> {
    const { messageId, chatId } = await stores.inbox.add(message, NODE);
    const to = `${message.sender.phone}@s.whatsapp.net`;
    const result = answered(replies.map((text) => aReply(message.accountId, to, text)));
    await stores.inbox.finishTurn(messageId, result);
    return chatId;
  }

  it('returns the turns that got a reply, the newest first', async () => {
    const [account, person] = [anAccount(), aPerson()];
    const chatId = await aTurn(aMessage(account, person, { text: 'one' }), 'first');
    await aTurn(aMessage(account, person, { text: 'ignored' }));
    await aTurn(aMessage(account, person, { text: 'two' }), 'second');
    const turns = await stores.history.answeredTurns(chatId, 10);
    expect(turns).toMatchObject([
      { text: 'two', replyText: 'second' },
      { text: 'one', replyText: 'first' },
    ]);
  });

  it('returns a turn once for each of its replies', async () => {
    const [account, person] = [anAccount(), aPerson()];
    const chatId = await aTurn(aMessage(account, person, { text: 'one' }), 'a', 'b');
    const turns = await stores.history.answeredTurns(chatId, 10);
    expect(turns.map(({ text, replyText }) => [text, replyText])).toEqual([
      ['one', 'b'],
      ['one', 'a'],
    ]);
  });

  it('returns no more than the limit, and nothing of other chats', async () => {
    const [account, person, other] = [anAccount(), aPerson(), aPerson()];
    let chatId = '';
    for (const text of ['one', 'two', 'three']) {
      chatId = await aTurn(aMessage(account, person, { text }), `reply to ${text}`);
      await aTurn(aMessage(account, other, { text: 'from another person' }), 'reply');
    }
    const turns = await stores.history.answeredTurns(chatId, 2);
    expect(turns.map(({ text }) => text)).toEqual(['three', 'two']);
    expect(await stores.history.answeredTurns(chatId, 10)).toHaveLength(3);
  });

  it('names the sender by LID, else by number', async () => {
    const [account, known, hidden] = [anAccount(), aPerson(), aPerson()];
    const byLid = await aTurn(aMessage(account, known), 'reply');
    expect(await stores.history.answeredTurns(byLid, 1)).toMatchObject([{ sender: known.lid }]);
    const byNumber = await aTurn(aMessage(account, { phone: hidden.phone }), 'reply');
    expect(await stores.history.answeredTurns(byNumber, 1)).toMatchObject([{ sender: hidden.phone }]);
  });

  it('dates the message and the reply, in milliseconds', async () => {
    const chatId = await aTurn(aMessage(anAccount(), aPerson()), 'reply');
    const [turn] = await stores.history.answeredTurns(chatId, 1);
    const { receivedAtMs = 0, repliedAtMs = 0 } = turn ?? {};
    expect(repliedAtMs).toBeGreaterThanOrEqual(receivedAtMs);
    const hour = 60 * 60 * 1_000;
    expect(Math.abs(Date.now() - receivedAtMs)).toBeLessThan(hour);
    expect(Math.abs(Date.now() - repliedAtMs)).toBeLessThan(hour);
  });
});
