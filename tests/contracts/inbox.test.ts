import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ADAPTERS,
  aMessage,
  anAccount,
  answered,
  aPerson,
  aReply,
  drain,
  loopOf,
  type Stores,
} from './adapters.ts';

describe.each(ADAPTERS)('inbox in $name', ({ open }) => {
  let stores: Stores;
  let accountId: string;
  beforeAll(async () => {
    stores = await open();
  });
  afterAll(() => stores.close());
  beforeEach(() => {
    accountId = anAccount();
  });
  const rows = () => stores.log.messages({ accountId, limit: 100 });

  describe('storing', () => {
    it('asks for a loop with the first message of a chat and not again while it runs', async () => {
      const person = aPerson();
      const first = await stores.inbox.add(aMessage(accountId, person));
      const second = await stores.inbox.add(aMessage(accountId, person));
      expect(first).toMatchObject({ outcome: 'stored', startLoop: { chatId: first.chatId, epoch: 1 } });
      expect(second).toMatchObject({ outcome: 'stored', chatId: first.chatId });
      expect(second.startLoop).toBeUndefined();
    });

    it('keeps one of a message that WhatsApp delivers many times at once', async () => {
      const message = aMessage(accountId, aPerson());
      const stored = await Promise.all(Array.from({ length: 8 }, () => stores.inbox.add(message)));
      expect(stored.filter((one) => one.outcome === 'stored')).toHaveLength(1);
      expect(stored.filter((one) => one.startLoop)).toHaveLength(1);
      expect(new Set(stored.map((one) => one.messageId)).size).toBe(1);
      expect(await rows()).toHaveLength(1);
    });

    it('changes nothing for a known id, also after it was answered', async () => {
      const message = aMessage(accountId, aPerson(), { text: 'first' });
      const loop = loopOf(await stores.inbox.add(message));
      expect(await drain(stores.inbox, loop)).toEqual(['first']);
      const again = await stores.inbox.add({ ...message, text: 'other' });
      expect(again).toMatchObject({ outcome: 'known' });
      expect(again.startLoop).toBeUndefined();
      expect(await rows()).toMatchObject([{ text: 'first', state: 'answered' }]);
    });

    it('takes the same id in two chats and two accounts for different messages', async () => {
      const waMessageId = 'SAME';
      const person = aPerson();
      const other = anAccount();
      for (const message of [
        aMessage(accountId, person, { waMessageId }),
        aMessage(accountId, aPerson(), { waMessageId }),
        aMessage(other, person, { waMessageId }),
      ]) {
        expect(await stores.inbox.add(message)).toMatchObject({ outcome: 'stored' });
      }
    });

    it('stores what is not to be answered with its reason and without its text', async () => {
      const message = aMessage(accountId, aPerson(), { ignoredReason: 'own-message', quotedText: 'private' });
      const stored = await stores.inbox.add(message);
      expect(stored.startLoop).toBeUndefined();
      const [row] = await rows();
      expect(row).toMatchObject({ state: 'ignored', reason: 'own-message', text: '' });
      expect(row?.quotedText).toBeUndefined();
      expect(row?.finishedAt).toBeInstanceOf(Date);
    });

    it('answers a message whose first copy could not be decrypted', async () => {
      const person = aPerson();
      const stub = aMessage(accountId, person, {
        kind: 'undecryptable',
        text: '',
        ignoredReason: 'undecryptable',
      });
      await stores.inbox.add(stub);
      const readable = { ...stub, kind: 'text' as const, text: 'now readable', ignoredReason: undefined };
      const stored = await stores.inbox.add(readable);
      expect(stored.outcome).toBe('stored');
      expect(await drain(stores.inbox, loopOf(stored))).toEqual(['now readable']);
      expect(await stores.inbox.add(stub)).toMatchObject({ outcome: 'known' });
      expect(await rows()).toMatchObject([{ state: 'answered', text: 'now readable' }]);
    });

    it('stores text that no database column holds as it is', async () => {
      const long = 'X'.repeat(5_000);
      const message = aMessage(accountId, aPerson(), { text: 'a\0b\ud800c 👋', waMessageId: long });
      const stored = await stores.inbox.add(message);
      const turn = await stores.inbox.nextTurn(stored.chatId, 1);
      expect(turn?.message.text.endsWith('c 👋')).toBe(true);
      expect(await stores.inbox.add(message)).toMatchObject({ outcome: 'known' });
      await stores.inbox.finishTurn(turn?.messageId ?? '', {
        state: 'dead',
        reason: 'X\0',
        error: 'bad \0 \udc00',
        trace: { rules: ['\0', '\ud800'] },
        replies: [aReply(accountId, turn?.replyTo ?? '', 'sorry \0\ud800')],
      });
      expect(await rows()).toMatchObject([{ state: 'dead' }]);
    });
  });

  describe('turns', () => {
    it('hands out messages in stanza order, however they were stored', async () => {
      const person = aPerson();
      const [one, two, three] = [1, 2, 3].map((n) => aMessage(accountId, person, { text: `line ${n}` }));
      if (!one || !two || !three) throw new Error('three messages');
      const loop = loopOf(await stores.inbox.add(three));
      await stores.inbox.add(one);
      await stores.inbox.add(two);
      expect(await drain(stores.inbox, loop)).toEqual(['line 1', 'line 2', 'line 3']);
    });

    it('gives the message as agents see it', async () => {
      const person = aPerson();
      const message = aMessage(accountId, person, { text: 'hola', quotedText: 'before' });
      const stored = await stores.inbox.add(message);
      expect(await stores.inbox.nextTurn(stored.chatId, 1)).toEqual({
        messageId: stored.messageId,
        chatId: stored.chatId,
        accountId,
        channelIds: [person.phone, `${person.lid}@lid`],
        replyTo: `${person.phone}@s.whatsapp.net`,
        sender: person.lid,
        receivedAtMs: expect.any(Number),
        message: {
          id: message.waMessageId,
          from: `${person.phone}@s.whatsapp.net`,
          fromLid: `${person.lid}@lid`,
          channelId: person.phone,
          text: 'hola',
          timestamp: new Date(message.sentAtMs),
          accountId,
          isGroup: false,
          pushName: 'Ana',
          kind: 'text',
          quotedText: 'before',
        },
      });
    });

    it('gives the same message again until its turn is ended', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()));
      const first = await stores.inbox.nextTurn(stored.chatId, 1);
      expect(await stores.inbox.nextTurn(stored.chatId, 1)).toEqual(first);
    });

    it('closes the loop when nothing is left; the next message starts another', async () => {
      const person = aPerson();
      const loop = loopOf(await stores.inbox.add(aMessage(accountId, person)));
      await drain(stores.inbox, loop);
      const next = await stores.inbox.add(aMessage(accountId, person));
      expect(next.startLoop).toEqual({ chatId: loop.chatId, epoch: loop.epoch + 1 });
    });

    it('gives nothing to a loop of another epoch and closes nothing for it', async () => {
      const person = aPerson();
      const loop = loopOf(await stores.inbox.add(aMessage(accountId, person)));
      expect(await stores.inbox.nextTurn(loop.chatId, loop.epoch + 1)).toBeUndefined();
      expect(await stores.inbox.nextTurn(loop.chatId, loop.epoch - 1)).toBeUndefined();
      expect(await stores.inbox.nextTurn('999999999', 1)).toBeUndefined();
      expect((await stores.inbox.add(aMessage(accountId, person))).startLoop).toBeUndefined();
      expect(await drain(stores.inbox, loop)).toHaveLength(2);
    });

    it('answers to where the chat was last heard from', async () => {
      const person = aPerson();
      const stored = await stores.inbox.add(aMessage(accountId, person, { replyTo: `${person.lid}@lid` }));
      expect(await stores.inbox.nextTurn(stored.chatId, 1)).toMatchObject({ replyTo: `${person.lid}@lid` });
      await stores.inbox.add(aMessage(accountId, person));
      const own = { replyTo: `${person.lid}@lid`, ignoredReason: 'own-message' };
      await stores.inbox.add(aMessage(accountId, person, own));
      const turn = await stores.inbox.nextTurn(stored.chatId, 1);
      expect(turn).toMatchObject({ replyTo: `${person.phone}@s.whatsapp.net` });
    });
  });

  describe('ending a turn', () => {
    it('stores the replies once and gives the first ones back to a repeat', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()));
      const messageId = stored.messageId ?? '';
      const replies = [aReply(accountId, 'a@lid', 'one'), aReply(accountId, 'a@lid', 'two')];
      const queued = await stores.inbox.finishTurn(messageId, answered(replies));
      expect(queued.map((reply) => reply.message)).toEqual(replies);
      expect(queued.map((reply) => reply.chatId)).toEqual([stored.chatId, stored.chatId]);

      const repeat = answered([aReply(accountId, 'a@lid', 'three')]);
      expect(await stores.inbox.finishTurn(messageId, repeat)).toEqual(queued);
      expect(await stores.outbox.undelivered(accountId, { limit: 10 })).toEqual(queued);
    });

    it('ends it once when two try at the same moment', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()));
      const ends = await Promise.all(
        [1, 2, 3, 4].map((n) =>
          stores.inbox.finishTurn(stored.messageId ?? '', answered([aReply(accountId, 'a@lid', `${n}`)])),
        ),
      );
      const queued = await stores.outbox.undelivered(accountId, { limit: 10 });
      expect(queued).toHaveLength(1);
      for (const end of ends) expect(end).toEqual(queued);
    });

    it('records what became of the message', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()));
      await stores.inbox.finishTurn(stored.messageId ?? '', {
        state: 'answered',
        reason: 'agent-empty',
        routeId: 'r1',
        attempts: 2,
        agentMs: 12.7,
        trace: [{ routeId: 'r1', outcome: 'chosen' }],
        replies: [],
      });
      const row = await stores.log.message(stored.messageId ?? '');
      expect(row).toMatchObject({
        state: 'answered',
        reason: 'agent-empty',
        routeId: 'r1',
        attempts: 2,
        trace: [{ routeId: 'r1', outcome: 'chosen' }],
      });
      expect(row?.agentMs).toBeCloseTo(13, -1);
      expect(row?.finishedAt).toBeInstanceOf(Date);
      expect(await stores.log.deadLetters({ accountId, limit: 10 })).toEqual([]);
    });

    it('counts attempts over all turns of a message, also of one that ended without saying how many', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()));
      const { messageId = '', chatId } = stored;
      expect(await stores.inbox.noteAttempt(messageId)).toBe(1);
      expect(await stores.inbox.noteAttempt(messageId)).toBe(2);
      const turn = await stores.inbox.nextTurn(chatId, stored.startLoop?.epoch ?? 0);
      expect(turn).toMatchObject({ messageId, earlierAttempts: 2 });
      await stores.inbox.finishTurn(messageId, { state: 'dead', reason: 'TURN_FAULT', replies: [] });
      expect(await stores.log.message(messageId)).toMatchObject({ attempts: 2 });
      expect(await stores.log.deadLetters({ accountId, limit: 10 })).toMatchObject([{ attempts: 2 }]);
      expect(await stores.inbox.noteAttempt(messageId)).toBe(3);
    });

    it('writes one dead letter for a dead message', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()));
      const dead = {
        state: 'dead' as const,
        reason: 'AGENT_TIMEOUT',
        error: 'The agent did not end in time.',
        attempts: 3,
        trace: { chosen: 'r1' },
        replies: [aReply(accountId, 'a@lid', 'sorry')],
      };
      expect(await stores.inbox.finishTurn(stored.messageId ?? '', dead)).toHaveLength(1);
      await stores.inbox.finishTurn(stored.messageId ?? '', dead);
      expect(await stores.log.deadLetters({ accountId, limit: 10 })).toMatchObject([
        {
          messageId: stored.messageId,
          chatId: stored.chatId,
          reason: 'AGENT_TIMEOUT',
          error: 'The agent did not end in time.',
          attempts: 3,
          trace: { chosen: 'r1' },
        },
      ]);
    });
  });

  describe('loops', () => {
    it('hands a long loop over to a fresh one, and again the same when asked twice', async () => {
      const loop = loopOf(await stores.inbox.add(aMessage(accountId, aPerson(), { text: 'left' })));
      expect(await stores.inbox.renewLoop(loop.chatId, loop.epoch)).toBe(loop.epoch + 1);
      expect(await stores.inbox.renewLoop(loop.chatId, loop.epoch)).toBe(loop.epoch + 1);
      expect(await stores.inbox.nextTurn(loop.chatId, loop.epoch)).toBeUndefined();
      expect(await drain(stores.inbox, { ...loop, epoch: loop.epoch + 1 })).toEqual(['left']);
    });

    it('closes a loop that has nothing to hand over', async () => {
      const person = aPerson();
      const stored = await stores.inbox.add(aMessage(accountId, person));
      const loop = loopOf(stored);
      await stores.inbox.finishTurn(stored.messageId ?? '', answered());
      expect(await stores.inbox.renewLoop(loop.chatId, loop.epoch)).toBeUndefined();
      expect((await stores.inbox.add(aMessage(accountId, person))).startLoop?.epoch).toBe(loop.epoch + 1);
      expect(await stores.inbox.renewLoop(loop.chatId, loop.epoch + 5)).toBeUndefined();
    });

    it('names chats with unanswered messages, each with its epoch, and no others', async () => {
      const open = loopOf(await stores.inbox.add(aMessage(accountId, aPerson())));
      const closed = loopOf(await stores.inbox.add(aMessage(accountId, aPerson())));
      await drain(stores.inbox, closed);
      const mine = (await stores.inbox.openLoops()).filter((loop) =>
        [open.chatId, closed.chatId].includes(loop.chatId),
      );
      expect(mine).toEqual([open]);
      expect((await stores.inbox.openLoops()).filter((loop) => loop.chatId === open.chatId)).toEqual([open]);
    });
  });

  describe('ending a message unread', () => {
    const why = { reason: 'STORAGE_DAMAGED', error: 'It cannot be read.' };

    it('makes the oldest one dead, with a letter, and the next one has its turn', async () => {
      const person = aPerson();
      const loop = loopOf(await stores.inbox.add(aMessage(accountId, person, { text: 'first' })));
      await stores.inbox.add(aMessage(accountId, person, { text: 'second' }));
      const buried = await stores.inbox.deadLetterUnreadable(loop.chatId, loop.epoch, why);
      expect(await drain(stores.inbox, loop)).toEqual(['second']);
      expect(await stores.log.deadLetters({ accountId, limit: 5 })).toMatchObject([
        { messageId: buried, chatId: loop.chatId, ...why },
      ]);
      expect((await rows()).find((row) => row.id === buried)).toMatchObject({ state: 'dead', ...why });
    });

    it('does nothing for a loop that is not the chat’s any more, or has nothing left', async () => {
      const loop = loopOf(await stores.inbox.add(aMessage(accountId, aPerson())));
      expect(await stores.inbox.deadLetterUnreadable(loop.chatId, loop.epoch + 1, why)).toBeUndefined();
      expect(await stores.inbox.deadLetterUnreadable('999999999', 1, why)).toBeUndefined();
      await drain(stores.inbox, loop);
      expect(await stores.inbox.deadLetterUnreadable(loop.chatId, loop.epoch, why)).toBeUndefined();
      expect(await stores.log.deadLetters({ accountId, limit: 5 })).toEqual([]);
    });
  });

  describe('edits', () => {
    it('puts the new text into a message that waits behind another', async () => {
      const person = aPerson();
      const loop = loopOf(await stores.inbox.add(aMessage(accountId, person, { text: 'first' })));
      const waiting = aMessage(accountId, person, { text: 'secnod' });
      await stores.inbox.add(waiting);
      await stores.inbox.add(aMessage(accountId, person, { text: 'second', editOf: waiting.waMessageId }));
      expect(await drain(stores.inbox, loop)).toEqual(['first', 'second']);
      expect((await rows())[0]).toMatchObject({ state: 'ignored', reason: 'edit-applied' });
    });

    it('answers the edit of a message that an agent may be reading, or that was answered', async () => {
      const person = aPerson();
      const message = aMessage(accountId, person, { text: 'helo' });
      const loop = loopOf(await stores.inbox.add(message));
      const edit = aMessage(accountId, person, { text: 'hello', editOf: message.waMessageId });
      expect(await stores.inbox.add(edit)).toMatchObject({ outcome: 'stored' });
      expect(await drain(stores.inbox, loop)).toEqual(['helo', 'hello']);
      const late = aMessage(accountId, person, { text: 'hello!', editOf: message.waMessageId });
      expect(await drain(stores.inbox, loopOf(await stores.inbox.add(late)))).toEqual(['hello!']);
    });

    it('keeps the last of several edits, also when an earlier one is delivered again', async () => {
      const person = aPerson();
      const loop = loopOf(await stores.inbox.add(aMessage(accountId, person, { text: 'first' })));
      const waiting = aMessage(accountId, person, { text: 'v1' });
      const [v2, v3] = ['v2', 'v3'].map((text) =>
        aMessage(accountId, person, { text, editOf: waiting.waMessageId }),
      );
      if (!v2 || !v3) throw new Error('two edits');
      for (const message of [waiting, v2, v3]) await stores.inbox.add(message);
      expect(await stores.inbox.add(v2)).toMatchObject({ outcome: 'known' });
      expect(await drain(stores.inbox, loop)).toEqual(['first', 'v3']);
    });

    it('lets nobody edit what another member of a group wrote', async () => {
      const chat = { kind: 'group' as const, groupId: '120363000000000001' };
      const [ana, ben] = [aPerson(), aPerson()];
      const loop = loopOf(await stores.inbox.add(aMessage(accountId, ana, { chat, text: 'first' })));
      const waiting = aMessage(accountId, ana, { chat, text: 'mine' });
      await stores.inbox.add(waiting);
      await stores.inbox.add(aMessage(accountId, ben, { chat, text: 'theirs', editOf: waiting.waMessageId }));
      expect(await drain(stores.inbox, loop)).toEqual(['first', 'mine', 'theirs']);
    });
  });
});
