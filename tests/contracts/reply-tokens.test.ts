import { describe, expect, it } from 'vitest';
import type { LateReply } from '../../router/src/core/ports/pending-answers.ts';
import type { TurnResult } from '../../router/src/core/turns/turn.ts';
import { aMessage, anAccount, answered, aPerson, aReply, describeStores, NODE } from './adapters.ts';

let minted = 0;
const late = (text: string, more: Partial<LateReply> = {}): LateReply => ({
  waMessageId: `LATE${++minted}`,
  text,
  ...more,
});

const LATER: TurnResult = { state: 'answered', reason: 'agent-later', replies: [] };
const DEAD: TurnResult = { state: 'dead', reason: 'AGENT_TIMEOUT', error: 'It took too long.', replies: [] };

describeStores('ReplyTokens in $name', (stores) => {
  /** A stored message with a token, whose turn ended so, or runs. */
  async function aToken(end: TurnResult | 'runs' = LATER, validMs?: number) {
    const [account, person] = [anAccount(), aPerson()];
    const { messageId, chatId } = await stores.inbox.add(aMessage(account, person), NODE);
    const tokens = stores.replyTokens(validMs);
    const token = await tokens.issue(messageId);
    if (end !== 'runs') await stores.inbox.finishTurn(messageId, end);
    return { account, person, messageId, chatId, tokens, token };
  }

  it('issues a different token of 43 characters each time', async () => {
    const { tokens, token, messageId } = await aToken();
    const other = await tokens.issue(messageId);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(other).not.toBe(token);
  });

  it('stores the replies for the chat of the message, behind its earlier ones', async () => {
    const { account, person, tokens, token, messageId, chatId } = await aToken();
    const next = await stores.inbox.add(aMessage(account, person), NODE);
    const to = `${person.phone}@s.whatsapp.net`;
    await stores.inbox.finishTurn(next.messageId, answered([aReply(account, to, 'in time')]));
    const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 2 };
    const file = new Uint8Array([7, 8]);
    const answer = await tokens.redeem(token, [late('one'), late('two', { media, file })]);
    if (answer.outcome !== 'stored') throw new Error(answer.outcome);
    expect(answer.replies).toMatchObject([
      { messageId, chatId, message: { accountId: account, to: expect.stringContaining('@'), text: 'one' } },
      { messageId, chatId, message: { text: 'two', media } },
    ]);
    const waiting = await stores.outbox.undelivered(account, { limit: 10 });
    expect(waiting.map(({ message }) => message.text)).toEqual(['in time', 'one', 'two']);
    const stored = await stores.outbox.fileOf(answer.replies[1]?.outboxId ?? '');
    expect([...(stored?.bytes ?? [])]).toEqual([7, 8]);
    expect((await stores.log.message(messageId))?.replies.map(({ text }) => text)).toEqual(['one', 'two']);
  });

  it('is valid for one answer, whichever token of the message is used', async () => {
    const { tokens, token, messageId } = await aToken();
    const other = await tokens.issue(messageId);
    expect(await tokens.stateOf(token)).toBe('valid');
    expect((await tokens.redeem(token, [late('first')])).outcome).toBe('stored');
    for (const used of [token, other]) {
      expect(await tokens.stateOf(used)).toBe('used');
      expect(await tokens.redeem(used, [late('second')])).toEqual({ outcome: 'used' });
    }
    expect((await stores.log.message(messageId))?.replies).toHaveLength(1);
  });

  it('stores one answer of several that come at the same time', async () => {
    const { tokens, token, messageId } = await aToken();
    const answers = await Promise.all(['a', 'b', 'c'].map((text) => tokens.redeem(token, [late(text)])));
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['stored', 'used', 'used']);
    expect((await stores.log.message(messageId))?.replies).toHaveLength(1);
  });

  it('is used when the turn ended with an answer of the agent', async () => {
    const { account, person, tokens, token, messageId } = await aToken('runs');
    const reply = aReply(account, `${person.phone}@s.whatsapp.net`, 'in time');
    await stores.inbox.finishTurn(messageId, answered([reply]));
    expect(await tokens.redeem(token, [late('late')])).toEqual({ outcome: 'used' });
  });

  it('takes an answer that comes before the turn has ended, or after a fallback text', async () => {
    const running = await aToken('runs');
    expect((await running.tokens.redeem(running.token, [late('early')])).outcome).toBe('stored');
    const ended = await stores.inbox.finishTurn(running.messageId, LATER);
    expect(ended.replies.map(({ message }) => message.text)).toEqual([]);
    const { account, person, tokens, token, messageId } = await aToken('runs');
    const sorry = answered([aReply(account, `${person.phone}@s.whatsapp.net`, 'sorry')]);
    await stores.inbox.finishTurn(messageId, { ...sorry, reason: 'fallback-text' });
    expect((await tokens.redeem(token, [late('late')])).outcome).toBe('stored');
  });

  it('ends the dead letter of a message that was given up', async () => {
    const { account, tokens, token, messageId } = await aToken(DEAD);
    expect((await tokens.redeem(token, [late('late')])).outcome).toBe('stored');
    expect(await stores.log.message(messageId)).toMatchObject({ state: 'answered', reason: 'agent-later' });
    expect(await stores.log.deadLetters({ accountId: account, limit: 10 })).toMatchObject([
      { state: 'replayed', error: 'It took too long. The agent answered later.' },
    ]);
  });

  it('can store an answer without replies', async () => {
    const { tokens, token } = await aToken();
    expect(await tokens.redeem(token, [])).toEqual({ outcome: 'stored', replies: [] });
    expect(await tokens.stateOf(token)).toBe('used');
  });

  describe('refuses a token', () => {
    it('that has expired', async () => {
      const { tokens, token, messageId } = await aToken(LATER, 0);
      expect(await tokens.stateOf(token)).toBe('expired');
      expect(await tokens.redeem(token, [late('late')])).toEqual({ outcome: 'expired' });
      expect((await stores.log.message(messageId))?.replies).toEqual([]);
    });

    it.each(['', 'x', 'A'.repeat(43), "'; DROP TABLE message", '\u0000'])(
      'that was never issued: %j',
      async (token) => {
        expect(await stores.replyTokens().stateOf(token)).toBe('unknown');
        expect(await stores.replyTokens().redeem(token, [late('late')])).toEqual({ outcome: 'unknown' });
      },
    );
  });
});
