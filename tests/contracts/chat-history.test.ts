import { expect, it } from 'vitest';
import type { InboundMessage, TurnReason } from '../../router/src/core/messages/inbound-message.ts';
import { PAST_TEXT_CHARS } from '../../router/src/core/ports/message-log.ts';
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

  it('returns past turns with all their replies, the newest first, without the one that runs', async () => {
    const [account, person] = [anAccount(), aPerson()];
    const chatId = await aTurn(aMessage(account, person, { text: 'one' }), 'a', 'b');
    await aTurn(aMessage(account, person, { text: 'two' }), 'c');
    await aTurn(aMessage(account, person, { text: 'said nothing' }));
    const { messageId } = await stores.inbox.add(aMessage(account, person, { text: 'now' }), NODE);
    expect(await stores.history.pastTurns(chatId, messageId, 10)).toEqual([
      { sender: person.lid, pushName: 'Ana', kind: 'text', text: 'two', replies: [{ text: 'c' }] },
      {
        sender: person.lid,
        pushName: 'Ana',
        kind: 'text',
        text: 'one',
        replies: [{ text: 'a' }, { text: 'b' }],
      },
    ]);
    await stores.inbox.finishTurn(
      messageId,
      answered([aReply(account, `${person.phone}@s.whatsapp.net`, 'd')]),
    );
    expect(await stores.history.pastTurns(chatId, messageId, 10)).toHaveLength(2);
    expect(await stores.history.pastTurns(chatId, '0', 1)).toMatchObject([{ text: 'now' }]);
  });

  it('returns the turns of a person in several chats, and of nobody else there', async () => {
    const [account, person, other] = [anAccount(), aPerson(), aPerson()];
    const chat = { kind: 'group' as const, groupId: `1203${account.replace(/\D/g, '').slice(0, 8)}` };
    const alone = await aTurn(aMessage(account, person, { text: 'alone' }), 'a');
    const group = await aTurn(aMessage(account, person, { text: 'in the group', chat }), 'b');
    await aTurn(aMessage(account, other, { text: 'somebody else', chat }), 'c');
    const chatIds = [alone, group];
    const found = await stores.history.pastTurns(alone, '0', 10, 0, { sender: person.lid, chatIds });
    expect(found.map(({ text }) => text)).toEqual(['in the group', 'alone']);
    expect(await stores.history.pastTurns(alone, '0', 1, 0, { sender: person.lid, chatIds })).toHaveLength(1);
  });

  it('returns no turn that only the route answered, and no reply that could not be sent', async () => {
    const [account, person] = [anAccount(), aPerson()];
    const to = `${person.phone}@s.whatsapp.net`;
    const failed = await stores.inbox.add(aMessage(account, person), NODE);
    const sorry = answered([aReply(account, to, 'sorry')]);
    await stores.inbox.finishTurn(failed.messageId, { ...sorry, reason: 'fallback-text' });
    const unsent = await stores.inbox.add(aMessage(account, person), NODE);
    const { replies } = await stores.inbox.finishTurn(unsent.messageId, answered([aReply(account, to)]));
    await stores.outbox.markDead(replies[0]?.outboxId ?? '', { sentence: 'refused' });
    expect(await stores.history.pastTurns(failed.chatId, '0', 10)).toEqual([]);
  });

  it('names the files of past turns, and cuts long texts between characters', async () => {
    const [account, person] = [anAccount(), aPerson()];
    const to = `${person.phone}@s.whatsapp.net`;
    const picture = { kind: 'image' as const, text: '' };
    const { messageId, chatId } = await stores.inbox.add(aMessage(account, person, picture), NODE);
    const media = { kind: 'document' as const, mimeType: 'application/pdf', sizeBytes: 1 };
    const file = { ...aReply(account, to, ''), media, file: new Uint8Array([1]) };
    const long = aReply(account, to, '😀'.repeat(PAST_TEXT_CHARS + 1));
    await stores.inbox.finishTurn(messageId, answered([file, long]));
    const [turn] = await stores.history.pastTurns(chatId, '0', 1);
    expect(turn).toMatchObject({ kind: 'image', text: '' });
    expect(turn?.replies).toEqual([{ text: '', media: 'document' }, { text: '😀'.repeat(PAST_TEXT_CHARS) }]);
  });

  it('returns what the agent did not get since the last answer, with the words of the owner', async () => {
    const [account, person] = [anAccount(), aPerson()];
    const to = `${person.phone}@s.whatsapp.net`;
    const ignored = async (text: string, ignoredReason: TurnReason, given: Partial<InboundMessage> = {}) => {
      const message = aMessage(account, person, { text, ...given });
      const { messageId } = await stores.inbox.add(message, NODE);
      await stores.inbox.finishTurn(messageId, { state: 'ignored', reason: ignoredReason, replies: [] });
    };
    const own = { sender: aPerson(), ignoredReason: 'owner-message' as const };
    const takeover = { ownerEffect: { kind: 'takeover' as const, forMs: 1 } };
    await ignored('before the answer', 'chat-paused');
    const chatId = await aTurn(aMessage(account, person, { text: 'one' }), 'first');
    await stores.inbox.add(aMessage(account, person, { text: 'we open at nine', ...own, ...takeover }), NODE);
    await ignored('thanks', 'chat-paused');
    await ignored('for another reason', 'no-route');
    await stores.outbox.addDirect(aReply(account, to, 'sent by a program'));
    await stores.outbox.addDirect(aReply(account, to, 'sent by a person'), { byHand: { pauseMs: 0 } });
    const { messageId } = await stores.inbox.add(aMessage(account, person, { text: 'now' }), NODE);
    await stores.outbox.addDirect(aReply(account, to, 'later'), { byHand: { pauseMs: 0 } });
    const reasons = ['chat-paused', 'owner-message'];
    const found = await stores.history.unanswered(chatId, messageId, reasons, 10);
    expect(found).toEqual([
      { sender: '', isOwner: true, kind: 'text', text: 'sent by a person' },
      { sender: person.lid, pushName: 'Ana', kind: 'text', text: 'thanks' },
      { sender: own.sender.lid, isOwner: true, kind: 'text', text: 'we open at nine' },
    ]);
    expect(await stores.history.unanswered(chatId, messageId, reasons, 2)).toEqual(found.slice(0, 2));
    expect(await stores.history.unanswered(chatId, messageId, ['chat-paused'], 10)).toEqual([found[1]]);
  });

  it('has the events of a group with their text, and the names that their members had before', async () => {
    const account = anAccount();
    const [ana, bo] = [aPerson(), aPerson()];
    const chat = { kind: 'group' as const, groupId: '120363041234567890' };
    const chatId = await aTurn(aMessage(account, ana, { chat, text: 'hello' }), 'hi');
    for (const { phone, lid } of [ana, bo]) {
      const event = {
        chat,
        sender: { phone, lid },
        kind: 'other' as const,
        text: 'left the group',
        ignoredReason: 'group-event' as const,
      };
      await stores.inbox.add(aMessage(account, ana, event), NODE);
    }
    const { messageId } = await stores.inbox.add(
      aMessage(account, ana, { chat, text: 'who is here?' }),
      NODE,
    );
    expect(await stores.history.unanswered(chatId, messageId, ['group-event'], 9)).toEqual([
      { sender: bo.lid, kind: 'other', text: 'left the group' },
      { sender: ana.lid, pushName: 'Ana', kind: 'other', text: 'left the group' },
    ]);
  });
});
