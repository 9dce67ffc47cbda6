import { beforeEach, expect, it } from 'vitest';
import type { ChatClaim } from '../../router/src/core/ports/inbox.ts';
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

describeStores('parts of a reply in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });

  /** A turn that runs, and what adds parts to it. */
  async function runningTurn() {
    const message = aMessage(accountId, aPerson());
    const stored = await stores.inbox.add(message, NODE);
    const claim = newClaimOf(stored);
    const { messageId } = stored;
    const part = (text: string, waMessageId?: string) => ({
      ...aReply(accountId, 'x@s.whatsapp.net'),
      text,
      ...(waMessageId && { waMessageId }),
    });
    const add = (text: string, waMessageId?: string, by: ChatClaim = claim, edits = 0) =>
      stores.inbox.addPart(by, { messageId, edits }, part(text, waMessageId));
    const repliesTo = async () => (await stores.log.message(messageId))?.replies.map(({ text }) => text);
    return { message, messageId, claim, add, part, repliesTo };
  }

  it('are stored in their order while the turn runs, and before the replies of its end', async () => {
    const { messageId, claim, add, part, repliesTo } = await runningTurn();
    const first = await add('one');
    await add('two');
    expect(first).toMatchObject({ messageId, message: { text: 'one' } });
    expect(await stores.inbox.parts(messageId)).toMatchObject([
      { text: 'one', waMessageId: first?.message.waMessageId, isSent: false },
      { text: 'two', isSent: false },
    ]);
    expect((await stores.outbox.queued(accountId, 10)).map(({ message }) => message.text)).toEqual([
      'one',
      'two',
    ]);
    const ended = await stores.inbox.finishTurn(messageId, answered([part('three')]), { claim });
    expect(ended.replies.map(({ message }) => message.text)).toEqual(['three']);
    expect(await repliesTo()).toEqual(['one', 'two', 'three']);
  });

  it('are stored once for a WhatsApp id', async () => {
    const { messageId, add } = await runningTurn();
    const [first, again] = [await add('one', 'PART1'), await add('one', 'PART1')];
    expect(again).toEqual(first);
    expect(await stores.inbox.parts(messageId)).toHaveLength(1);
  });

  it('know whether they were sent, and do not have those that could not be sent', async () => {
    const { messageId, add } = await runningTurn();
    const [first, second] = [await add('one'), await add('two')];
    await stores.outbox.markSending(first?.outboxId ?? '');
    await stores.outbox.markSent(first?.outboxId ?? '');
    await stores.outbox.markDead(second?.outboxId ?? '', { sentence: 'WhatsApp refused it.' });
    expect(await stores.inbox.parts(messageId)).toMatchObject([{ text: 'one', isSent: true }]);
  });

  it('are not stored under a void claim, for an ended turn or for a message that was edited meanwhile', async () => {
    const { message, messageId, claim, add } = await runningTurn();
    const edit = aMessage(accountId, message.sender, { editOf: message.waMessageId, text: 'other words' });
    expect(await add('one', undefined, { ...claim, epoch: claim.epoch + 1 })).toBeUndefined();
    await stores.inbox.add({ ...edit, chat: message.chat, sender: message.sender }, NODE);
    expect(await add('one')).toBeUndefined();
    expect(await add('two', undefined, claim, 1)).toBeDefined();
    await stores.inbox.finishTurn(messageId, answered([]));
    expect(await add('three', undefined, claim, 1)).toBeUndefined();
    expect(await stores.inbox.parts(messageId)).toMatchObject([{ text: 'two' }]);
  });

  it('are edited and deleted by the end of the turn, and the conversation has their last text once', async () => {
    const { messageId, claim, add, part } = await runningTurn();
    const [kept, dropped] = [await add('on'), await add('surplus')];
    const { replies } = await stores.inbox.finishTurn(
      messageId,
      answered([
        { ...part('once'), special: { kind: 'edit', of: kept?.message.waMessageId ?? '', atMs: 5 } },
        { ...part(''), special: { kind: 'deletion', of: dropped?.message.waMessageId ?? '' } },
        part('more'),
      ]),
      { claim },
    );
    expect(replies.map(({ message }) => message.special?.kind)).toEqual(['edit', 'deletion', undefined]);
    const { chatId } = claim;
    const [past] = await stores.history.pastTurns(chatId, '0', 5);
    expect(past?.replies.map(({ text }) => text)).toEqual(['once', 'surplus', 'more']);
  });

  it('are no parts any more once the dead letter of their message is replayed', async () => {
    const { messageId, add } = await runningTurn();
    await add('one');
    await stores.inbox.finishTurn(messageId, {
      state: 'dead',
      reason: 'AGENT_TIMEOUT',
      error: 'Late.',
      replies: [],
    });
    expect(await stores.inbox.parts(messageId)).toHaveLength(1);
    const [letter] = await stores.log.deadLetters({ accountId, limit: 1 });
    await stores.deadLetters.replay(letter?.id ?? '', NODE);
    expect(await stores.inbox.parts(messageId)).toEqual([]);
  });
});
