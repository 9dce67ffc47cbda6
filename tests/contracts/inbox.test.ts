import { beforeEach, describe, expect, it } from 'vitest';
import { errorOfSaid, say } from '../../router/src/core/phrases.ts';
import type { ChatClaim, CountOptions } from '../../router/src/core/ports/inbox.ts';
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
} from './adapters.ts';

describeStores('inbox in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });
  const rows = () => stores.log.messages({ accountId, limit: 100 });

  describe('storing', () => {
    it('claims a chat with its first message, and keeps an existing claim', async () => {
      const person = aPerson();
      const first = await stores.inbox.add(aMessage(accountId, person), NODE);
      const second = await stores.inbox.add(aMessage(accountId, person), NODE);
      const worker = { chatId: first.chatId, node: NODE, epoch: 1 };
      expect(first).toMatchObject({ outcome: 'stored', worker, isNewWorker: true });
      expect(second).toMatchObject({ outcome: 'stored', chatId: first.chatId, worker, isNewWorker: false });
    });

    it('returns the turn of a message that is the only unanswered one of its chat, as it is read', async () => {
      const person = aPerson();
      const group = { kind: 'group' as const, groupId: `1203630000${person.phone}` };
      const longAgo = { sentAtMs: Date.UTC(2020, 0, 1) + 0.7 };
      for (const message of [
        aMessage(accountId, person, {
          ...longAgo,
          text: 'a\0b',
          quotedText: 'quoted \ud800',
          editOf: 'GONE',
        }),
        aMessage(accountId, { phone: person.phone }, { replyTo: `${person.lid}@lid` }),
        aMessage(accountId, { lid: person.lid }, { sender: { lid: person.lid } }),
        aMessage(accountId, person, { chat: group }),
        aMessage(accountId, { phone: person.phone }, { chat: group, kind: 'location' }),
      ]) {
        const { turn, worker } = await stores.inbox.add(message, NODE);
        if (!worker || !turn) throw new Error('the chat has one unanswered message');
        expect(turn).toEqual(await stores.inbox.nextTurn(worker));
        await stores.inbox.finishTurn(turn.messageId, answered([aReply(accountId, turn.replyTo)]));
      }
    });

    it('returns no turn behind an unanswered message, of a known or an ignored message', async () => {
      const person = aPerson();
      const message = aMessage(accountId, person);
      const ignored = aMessage(accountId, person, { ignoredReason: 'own-message' });
      expect((await stores.inbox.add(ignored, NODE)).turn).toBeUndefined();
      expect((await stores.inbox.add(message, NODE)).turn).toBeDefined();
      expect((await stores.inbox.add(message, NODE)).turn).toBeUndefined();
      expect((await stores.inbox.add(aMessage(accountId, person), NODE)).turn).toBeUndefined();
    });

    it('stores one row for a message that WhatsApp delivers many times at once', async () => {
      const message = aMessage(accountId, aPerson());
      const stored = await Promise.all(Array.from({ length: 8 }, () => stores.inbox.add(message, NODE)));
      expect(stored.filter((one) => one.outcome === 'stored')).toHaveLength(1);
      expect(stored.filter((one) => one.isNewWorker)).toHaveLength(1);
      expect(new Set(stored.map((one) => one.messageId)).size).toBe(1);
      expect(await rows()).toHaveLength(1);
    });

    it('changes nothing for a known id, also after it was answered', async () => {
      const message = aMessage(accountId, aPerson(), { text: 'first' });
      const claim = newClaimOf(await stores.inbox.add(message, NODE));
      expect(await drain(stores.inbox, claim)).toEqual(['first']);
      const again = await stores.inbox.add({ ...message, text: 'other' }, NODE);
      expect(again).toMatchObject({ outcome: 'known', isNewWorker: false });
      expect(again.worker).toBeUndefined();
      expect(await rows()).toMatchObject([{ text: 'first', state: 'answered' }]);
    });

    it('treats the same id from another group member as another message', async () => {
      const chat = { kind: 'group' as const, groupId: '120363000000000077' };
      const [ana, mallory] = [aPerson(), aPerson()];
      const waMessageId = 'CHOSEN';
      const attack = aMessage(accountId, mallory, { chat, waMessageId, text: 'mine first' });
      const message = aMessage(accountId, ana, { chat, waMessageId, text: 'real' });
      const claim = newClaimOf(await stores.inbox.add(attack, NODE));
      expect(await stores.inbox.add(message, NODE)).toMatchObject({ outcome: 'stored' });
      for (const again of [attack, message, { ...message, sender: { lid: ana.lid } }]) {
        expect(await stores.inbox.add(again, NODE)).toMatchObject({ outcome: 'known' });
      }
      expect(await drain(stores.inbox, claim)).toEqual(['mine first', 'real']);
    });

    it('treats the same id of an own message as another message', async () => {
      const person = aPerson();
      const own = { ignoredReason: 'own-message' as const, sender: aPerson(), waMessageId: 'SHARED' };
      await stores.inbox.add(aMessage(accountId, person, own), NODE);
      const stored = await stores.inbox.add(
        aMessage(accountId, person, { waMessageId: 'SHARED', text: 'hi' }),
        NODE,
      );
      expect(await drain(stores.inbox, newClaimOf(stored))).toEqual(['hi']);
    });

    it('treats the same id in another chat or account as another message', async () => {
      const waMessageId = 'SAME';
      const person = aPerson();
      const other = anAccount();
      for (const message of [
        aMessage(accountId, person, { waMessageId }),
        aMessage(accountId, aPerson(), { waMessageId }),
        aMessage(other, person, { waMessageId }),
      ]) {
        expect(await stores.inbox.add(message, NODE)).toMatchObject({ outcome: 'stored' });
      }
    });

    it('stores an ignored message with its reason and without its text', async () => {
      const message = aMessage(accountId, aPerson(), { ignoredReason: 'own-message', quotedText: 'private' });
      const stored = await stores.inbox.add(message, NODE);
      expect(stored.worker).toBeUndefined();
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
      await stores.inbox.add(stub, NODE);
      const readable = { ...stub, kind: 'text' as const, text: 'now readable', ignoredReason: undefined };
      const stored = await stores.inbox.add(readable, NODE);
      expect(stored.outcome).toBe('stored');
      expect(await drain(stores.inbox, newClaimOf(stored))).toEqual(['now readable']);
      expect(await stores.inbox.add(stub, NODE)).toMatchObject({ outcome: 'known' });
      expect(await rows()).toMatchObject([{ state: 'answered', text: 'now readable' }]);
    });

    it('stores text with characters that PostgreSQL refuses', async () => {
      const long = 'X'.repeat(5_000);
      const message = aMessage(accountId, aPerson(), { text: 'a\0b\ud800c 👋', waMessageId: long });
      const stored = await stores.inbox.add(message, NODE);
      const turn = await stores.inbox.nextTurn({ chatId: stored.chatId, node: NODE, epoch: 1 });
      expect(turn?.message.text.endsWith('c 👋')).toBe(true);
      expect(await stores.inbox.add(message, NODE)).toMatchObject({ outcome: 'known' });
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
    it('returns messages in stanza order, whatever the order of storing', async () => {
      const person = aPerson();
      const [one, two, three] = [1, 2, 3].map((n) => aMessage(accountId, person, { text: `line ${n}` }));
      if (!one || !two || !three) throw new Error('three messages');
      const claim = newClaimOf(await stores.inbox.add(three, NODE));
      await stores.inbox.add(one, NODE);
      await stores.inbox.add(two, NODE);
      expect(await drain(stores.inbox, claim)).toEqual(['line 1', 'line 2', 'line 3']);
    });

    it('returns the message as agents receive it', async () => {
      const person = aPerson();
      const message = aMessage(accountId, person, { text: 'hola', quotedText: 'before' });
      const stored = await stores.inbox.add(message, NODE);
      expect(await stores.inbox.nextTurn({ chatId: stored.chatId, node: NODE, epoch: 1 })).toEqual({
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

    it('returns the user name of the person, which another person may have later', async () => {
      const [ana, bo] = [1, 2].map(() => ({ lid: aPerson().lid }));
      const write = async (person: { lid: string } = { lid: '' }, username?: string) => {
        const chat = { kind: 'person' as const, ...person, ...(username && { username }) };
        const { turn, worker } = await stores.inbox.add(aMessage(accountId, person, { chat }), NODE);
        if (!worker || !turn) throw new Error('the chat has one unanswered message');
        expect(turn).toEqual(await stores.inbox.nextTurn(worker));
        await stores.inbox.finishTurn(turn.messageId, answered([aReply(accountId, turn.replyTo)]));
        return turn.channelIds;
      };
      expect(await write(ana, 'wanted')).toEqual([`${ana?.lid}@lid`, '@wanted']);
      expect(await write(ana)).toEqual([`${ana?.lid}@lid`, '@wanted']);
      expect(await write(bo, 'wanted')).toEqual([`${bo?.lid}@lid`, '@wanted']);
      expect(await write(ana)).toEqual([`${ana?.lid}@lid`]);
      const shown = { username: 'wanted', channelId: `${bo?.lid}@lid` };
      const [received, other] = await stores.log.messages({ accountId, channelId: '@wanted', limit: 9 });
      expect([received, received?.replies[0], other]).toMatchObject([shown, shown, undefined]);
    });

    it('returns the kind of a view-once file, at once and when it is read again', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson(), { viewOnce: 'image' }), NODE);
      const turn = await stores.inbox.nextTurn({ chatId: stored.chatId, node: NODE, epoch: 1 });
      for (const { message } of [stored.turn, turn].filter((found) => found !== undefined)) {
        expect(message).toMatchObject({ viewOnce: 'image' });
        expect(message.media).toBeUndefined();
      }
      expect(turn).toBeDefined();
    });

    it('returns the people whom a message mentions, with the names of their messages to the chat', async () => {
      const [ana, bo, cleo] = [aPerson(), aPerson(), aPerson()];
      const chat = { kind: 'group' as const, groupId: '120363000000000078' };
      const old = { chat, sender: { ...bo, pushName: 'Bo' }, ignoredReason: 'too-old' as const };
      await stores.inbox.add(aMessage(accountId, bo, old), NODE);
      const mentions = [
        { lid: bo.lid, tag: `@${bo.lid}` },
        { phone: cleo.phone, tag: `@${cleo.phone}` },
      ];
      const message = aMessage(accountId, ana, { chat, text: `@${bo.lid} and @${cleo.phone}`, mentions });
      const { chatId } = await stores.inbox.add(message, NODE);
      const turn = await stores.inbox.nextTurn({ chatId, node: NODE, epoch: 1 });
      expect(turn?.message.mentions).toEqual([
        { id: `${bo.phone}@s.whatsapp.net`, tag: `@${bo.lid}`, name: 'Bo' },
        { id: `${cleo.phone}@s.whatsapp.net`, tag: `@${cleo.phone}` },
      ]);
    });

    it('returns the card, the group and the writer of the quoted message with their name, from both reads', async () => {
      const [ana, bo] = [aPerson(), aPerson()];
      const chat = { kind: 'group' as const, groupId: '120363000000000079' };
      const old = { chat, sender: { ...bo, pushName: 'Bo' }, ignoredReason: 'too-old' as const };
      await stores.inbox.add(aMessage(accountId, bo, old), NODE);
      const card = { kind: 'location' as const, latitude: 52.52, longitude: -13.4, name: 'Café' };
      const details = { card, quoted: { lid: bo.lid }, subject: 'Tennis' };
      const { chatId, turn } = await stores.inbox.add(aMessage(accountId, ana, { chat, details }), NODE);
      const read = await stores.inbox.nextTurn({ chatId, node: NODE, epoch: 1 });
      for (const each of [turn, read])
        expect(each?.message).toMatchObject({
          card,
          subject: 'Tennis',
          quotedFrom: { id: `${bo.phone}@s.whatsapp.net`, name: 'Bo' },
        });
    });

    it('keeps the transcript of a voice message as its text, unless it has one or its turn has ended', async () => {
      const media = { kind: 'voice' as const, mimeType: 'audio/ogg', reference: 'r' };
      const voice = aMessage(accountId, aPerson(), { kind: 'audio', text: '', media });
      const { chatId, messageId } = await stores.inbox.add(voice, NODE);
      const claim = { chatId, node: NODE, epoch: 1 };
      for (const text of ['hello', 'other']) await stores.inbox.saveTranscript(messageId, { text });
      const turn = await stores.inbox.nextTurn(claim);
      expect(turn?.message).toMatchObject({ text: 'hello', isTranscript: true, kind: 'audio' });
      const silent = { ...voice, waMessageId: 'silent', stanzaOrder: voice.stanzaOrder + 1n };
      const second = await stores.inbox.add(silent, NODE);
      await drain(stores.inbox, claim);
      await stores.inbox.saveTranscript(second.messageId, { text: 'late' });
    });

    it('remembers why a voice message has no transcript', async () => {
      const media = { kind: 'voice' as const, mimeType: 'audio/ogg', reference: 'r' };
      const voice = aMessage(accountId, aPerson(), { kind: 'audio', text: '', media });
      const { chatId, messageId } = await stores.inbox.add(voice, NODE);
      const why = { outcome: 'failed' as const, sentence: 'The transcription server did not answer.' };
      await stores.inbox.saveTranscript(messageId, why);
      const turn = await stores.inbox.nextTurn({ chatId, node: NODE, epoch: 1 });
      expect(turn?.message).toMatchObject({ text: '', noTranscript: why, kind: 'audio' });
      expect(turn?.message.isTranscript).toBeUndefined();
    });

    it('returns the same message until its turn ends', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      const first = await stores.inbox.nextTurn({ chatId: stored.chatId, node: NODE, epoch: 1 });
      expect(await stores.inbox.nextTurn({ chatId: stored.chatId, node: NODE, epoch: 1 })).toEqual(first);
    });

    it('releases a chat without unanswered messages; the next message claims it again', async () => {
      const person = aPerson();
      const claim = newClaimOf(await stores.inbox.add(aMessage(accountId, person), NODE));
      await drain(stores.inbox, claim);
      const next = await stores.inbox.add(aMessage(accountId, person), NODE);
      expect(newClaimOf(next)).toEqual({ ...claim, epoch: claim.epoch + 1 });
    });

    it('returns and releases nothing under a void claim', async () => {
      const person = aPerson();
      const claim = newClaimOf(await stores.inbox.add(aMessage(accountId, person), NODE));
      expect(await stores.inbox.nextTurn({ ...claim, epoch: claim.epoch + 1 })).toBeUndefined();
      expect(await stores.inbox.nextTurn({ ...claim, epoch: claim.epoch - 1 })).toBeUndefined();
      expect(await stores.inbox.nextTurn({ chatId: '999999999', node: NODE, epoch: 1 })).toBeUndefined();
      expect(await stores.inbox.nextTurn({ ...claim, node: 'node-2' })).toBeUndefined();
      expect((await stores.inbox.add(aMessage(accountId, person), NODE)).isNewWorker).toBe(false);
      expect(await drain(stores.inbox, claim)).toHaveLength(2);
    });

    it('replies to the address of the last message', async () => {
      const person = aPerson();
      const stored = await stores.inbox.add(
        aMessage(accountId, person, { replyTo: `${person.lid}@lid` }),
        NODE,
      );
      expect(await stores.inbox.nextTurn({ chatId: stored.chatId, node: NODE, epoch: 1 })).toMatchObject({
        replyTo: `${person.lid}@lid`,
      });
      await stores.inbox.add(aMessage(accountId, person), NODE);
      const own = { replyTo: `${person.lid}@lid`, ignoredReason: 'own-message' as const };
      await stores.inbox.add(aMessage(accountId, person, own), NODE);
      const turn = await stores.inbox.nextTurn({ chatId: stored.chatId, node: NODE, epoch: 1 });
      expect(turn).toMatchObject({ replyTo: `${person.phone}@s.whatsapp.net` });
    });
  });

  describe('ending a turn', () => {
    it('stores the replies once and returns the stored ones to a repeated call', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      const messageId = stored.messageId;
      const replies = [aReply(accountId, 'a@lid', 'one'), aReply(accountId, 'a@lid', 'two')];
      const { replies: queued } = await stores.inbox.finishTurn(messageId, answered(replies));
      expect(queued.map((reply) => reply.message)).toEqual(replies);
      expect(queued.map((reply) => reply.chatId)).toEqual([stored.chatId, stored.chatId]);

      const repeat = answered([aReply(accountId, 'a@lid', 'three')]);
      expect((await stores.inbox.finishTurn(messageId, repeat)).replies).toEqual(queued);
      expect(await stores.outbox.undelivered(accountId, { limit: 10 })).toEqual(queued);
    });

    it('ends a turn once when two calls run at the same time', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      const ends = await Promise.all(
        [1, 2, 3, 4].map((n) =>
          stores.inbox.finishTurn(stored.messageId, answered([aReply(accountId, 'a@lid', `${n}`)])),
        ),
      );
      const queued = await stores.outbox.undelivered(accountId, { limit: 10 });
      expect(queued).toHaveLength(1);
      for (const { replies } of ends) expect(replies).toEqual(queued);
    });

    it('records the outcome of the message', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      await stores.inbox.finishTurn(stored.messageId, {
        state: 'answered',
        reason: 'agent-empty',
        routeId: 'r1',
        attempts: 2,
        agentMs: 12.7,
        trace: [{ routeId: 'r1', outcome: 'chosen' }],
        replies: [],
      });
      const row = await stores.log.message(stored.messageId);
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

    it('counts the attempts of all turns of a message, also of an interrupted turn', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      const { messageId } = stored;
      // The second note again, as after a lost answer, and the first one late.
      for (const attempt of [1, 2, 2, 1]) await (await stores.inbox.countAttempt(messageId, attempt)).stored;
      const turn = await stores.inbox.nextTurn(newClaimOf(stored));
      expect(turn).toMatchObject({ messageId, earlierAttempts: 2 });
      await stores.inbox.finishTurn(messageId, { state: 'dead', reason: 'TURN_FAULT', replies: [] });
      expect(await stores.log.message(messageId)).toMatchObject({ attempts: 2 });
      expect(await stores.log.deadLetters({ accountId, limit: 10 })).toMatchObject([{ attempts: 2 }]);
      await (await stores.inbox.countAttempt(messageId, 3)).stored;
    });

    it('tells an attempt that may have run from those that did not run, in any order of the notes', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      const { messageId } = stored;
      const claim = newClaimOf(stored);
      const note = async (attempt: number, options?: CountOptions) => {
        await (await stores.inbox.countAttempt(messageId, attempt, options)).stored;
        return (await stores.inbox.nextTurn(claim))?.mayHaveRun ?? false;
      };
      expect((await stores.inbox.nextTurn(claim))?.mayHaveRun).toBeFalsy();
      expect(await note(1, { isDurable: true })).toBe(true);
      expect(await note(1, { didNotRun: true })).toBe(false);
      expect(await note(1)).toBe(false);
      expect(await note(2)).toBe(true);
      expect(await note(1, { didNotRun: true })).toBe(true);
    });

    it('writes one dead letter for a dead message', async () => {
      const stored = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      const dead = {
        state: 'dead' as const,
        reason: 'AGENT_TIMEOUT' as const,
        error: 'The agent did not end in time.',
        attempts: 3,
        trace: { chosen: 'r1' },
        replies: [aReply(accountId, 'a@lid', 'sorry')],
      };
      expect((await stores.inbox.finishTurn(stored.messageId, dead)).replies).toHaveLength(1);
      await stores.inbox.finishTurn(stored.messageId, dead);
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

  describe('claims', () => {
    it.each([
      ['without replies', []],
      ['with replies', ['one', 'two']],
    ])('are released by the end of the last turn, %s', async (_, texts) => {
      const person = aPerson();
      const stored = await stores.inbox.add(aMessage(accountId, person), NODE);
      const claim = newClaimOf(stored);
      const behind = await stores.inbox.add(aMessage(accountId, person), NODE);
      const end = answered(texts.map((text) => aReply(accountId, 'a@lid', text)));
      const first = await stores.inbox.finishTurn(stored.messageId, end, { claim });
      expect(first).toMatchObject({ isClaimed: true, replies: texts.map((text) => ({ message: { text } })) });
      expect((await stores.inbox.nextTurn(claim))?.messageId).toBe(behind.messageId);
      const { isClaimed } = await stores.inbox.finishTurn(behind.messageId, answered(), { claim });
      expect(isClaimed).toBe(false);
      const next = await stores.inbox.add(aMessage(accountId, person), NODE);
      expect(newClaimOf(next)).toEqual({ ...claim, epoch: claim.epoch + 1 });
    });

    it('of a later worker are not released when the end of a turn is repeated', async () => {
      const person = aPerson();
      const stored = await stores.inbox.add(aMessage(accountId, person), NODE);
      const claim = newClaimOf(stored);
      const end = answered([aReply(accountId, 'a@lid', 'one')]);
      const first = await stores.inbox.finishTurn(stored.messageId, end, { claim });
      const later = newClaimOf(await stores.inbox.add(aMessage(accountId, person, { text: 'two' }), NODE));
      expect(await stores.inbox.finishTurn(stored.messageId, end, { claim })).toEqual(first);
      expect(await drain(stores.inbox, later)).toEqual(['two']);
    });

    it('are released by the repeated end of a turn that was stored without them', async () => {
      const person = aPerson();
      const stored = await stores.inbox.add(aMessage(accountId, person), NODE);
      const claim = newClaimOf(stored);
      await stores.inbox.finishTurn(stored.messageId, answered());
      const again = await stores.inbox.finishTurn(stored.messageId, answered(), { claim });
      expect(again.isClaimed).toBe(false);
      expect((await stores.inbox.add(aMessage(accountId, person), NODE)).isNewWorker).toBe(true);
    });

    it('are not released by the end of a turn under a void claim', async () => {
      const person = aPerson();
      const stored = await stores.inbox.add(aMessage(accountId, person), NODE);
      const former = newClaimOf(stored);
      const [claim] = await stores.inbox.claimChats([former], 'node-2');
      const { isClaimed } = await stores.inbox.finishTurn(stored.messageId, answered(), { claim: former });
      expect(isClaimed).toBe(false);
      const next = await stores.inbox.add(aMessage(accountId, person), NODE);
      expect(next).toMatchObject({ worker: claim, isNewWorker: false });
    });

    it('lets another node take over a chat once, and voids the former claim', async () => {
      const claim = newClaimOf(
        await stores.inbox.add(aMessage(accountId, aPerson(), { text: 'left' }), NODE),
      );
      const taken = await Promise.all(
        ['node-2', 'node-3'].map((node) => stores.inbox.claimChats([claim], node)),
      );
      const [winner, ...others] = taken.flat();
      if (!winner) throw new Error('one node took the chat');
      expect(others).toEqual([]);
      expect(winner).toMatchObject({ chatId: claim.chatId, epoch: claim.epoch + 1 });
      expect(await stores.inbox.nextTurn(claim)).toBeUndefined();
      expect(await drain(stores.inbox, winner)).toEqual(['left']);
    });

    it('lists chats with unanswered messages and their claims, except those of the given nodes', async () => {
      const open = newClaimOf(await stores.inbox.add(aMessage(accountId, aPerson()), NODE));
      const other = newClaimOf(await stores.inbox.add(aMessage(accountId, aPerson()), 'node-2'));
      const idle = newClaimOf(await stores.inbox.add(aMessage(accountId, aPerson()), NODE));
      await drain(stores.inbox, idle);
      const own = [open.chatId, other.chatId, idle.chatId];
      const openChats = async (except: string[]) =>
        (await stores.inbox.openChats(except)).filter((chat) => own.includes(chat.chatId));
      expect(await openChats([])).toEqual([open, other]);
      expect(await openChats(['node-2', 'node-9'])).toEqual([open]);
      expect(await openChats([NODE, 'node-2'])).toEqual([]);
    });
  });

  describe('the suspicion that a turn ends processes', () => {
    const suspicionOf = async (claim: ChatClaim | undefined) =>
      claim && ((await stores.inbox.nextTurn(claim))?.suspicion ?? 0);
    const leave = (...claims: ChatClaim[]) =>
      stores.inbox.claimChats(
        claims.map((claim) => ({ ...claim, isLeft: true })),
        NODE,
      );
    /** A message that was open in two processes that ended. */
    async function suspect() {
      const { messageId, worker } = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      const [first] = worker ? await leave(worker) : [];
      const [claim] = first ? await leave(first) : [];
      if (!claim) throw new Error('the chat is claimed');
      return { messageId, claim };
    }

    it('grows for the oldest message of a chat that a process left, up to two', async () => {
      const person = aPerson();
      let claim = newClaimOf(await stores.inbox.add(aMessage(accountId, person, { text: 'first' }), NODE));
      await stores.inbox.add(aMessage(accountId, person, { text: 'second' }), NODE);
      expect(await suspicionOf(claim)).toBe(0);
      for (const count of [1, 2, 2]) {
        [claim = claim] = await leave(claim);
        expect(await suspicionOf(claim)).toBe(count);
      }
      await stores.inbox.finishTurn((await stores.inbox.nextTurn(claim))?.messageId ?? '', answered());
      expect(await stores.inbox.nextTurn(claim)).toMatchObject({ message: { text: 'second' } });
      expect(await suspicionOf(claim)).toBe(0);
    });

    it('does not grow for a chat that a process gave to another one, or under a void claim', async () => {
      const claim = newClaimOf(await stores.inbox.add(aMessage(accountId, aPerson()), NODE));
      const [given] = await stores.inbox.claimChats([claim], 'node-2');
      expect(await leave(claim)).toEqual([]);
      expect(await suspicionOf(given)).toBe(0);
    });

    it('grows by two when the process ended while the turn ran alone', async () => {
      const { messageId, claim } = await suspect();
      await stores.inbox.setAlone(messageId, true);
      const [left] = await leave(claim);
      expect(await suspicionOf(left)).toBe(4);
      expect(await suspicionOf((await leave(left ?? claim))[0])).toBe(4);
    });

    it('grows by one when newer turns were open in that process too', async () => {
      const { messageId, claim } = await suspect();
      await stores.inbox.setAlone(messageId, true);
      const newer = newClaimOf(await stores.inbox.add(aMessage(accountId, aPerson()), NODE));
      const left = await leave(claim, newer);
      const suspicions = await Promise.all(left.map(async (each) => [each.chatId, await suspicionOf(each)]));
      expect(new Map(suspicions as [])).toEqual(
        new Map<string, number>([
          [claim.chatId, 3],
          [newer.chatId, 1],
        ]),
      );
    });

    it('does not grow further for a turn that no longer runs alone, and ends with a replay', async () => {
      const { messageId, claim } = await suspect();
      await stores.inbox.setAlone(messageId, true);
      await stores.inbox.setAlone(messageId, false);
      const [left] = await leave(claim);
      expect(await suspicionOf(left)).toBe(2);
      await stores.inbox.finishTurn(messageId, { state: 'dead', reason: 'PROCESS_ENDED', replies: [] });
      const [letter] = await stores.log.deadLetters({ accountId, limit: 1 });
      await stores.deadLetters.replay(letter?.id ?? '', NODE);
      expect(await suspicionOf(left)).toBe(0);
    });

    it('does not grow for the chats of a node that released them', async () => {
      const node = `node of ${accountId}`;
      const open = newClaimOf(await stores.inbox.add(aMessage(accountId, aPerson()), node));
      const other = newClaimOf(await stores.inbox.add(aMessage(accountId, aPerson()), NODE));
      await stores.inbox.releaseChats(node);
      const chats = (await stores.inbox.openChats([])).filter(({ chatId }) =>
        [open.chatId, other.chatId].includes(chatId),
      );
      expect(chats).toEqual([{ chatId: open.chatId, epoch: open.epoch }, other]);
      expect(await stores.inbox.nextTurn(open)).toBeUndefined();
    });
  });

  describe('ending a message unread', () => {
    const why = { reason: 'STORAGE_DAMAGED' as const, ...errorOfSaid(say('storage.damaged')) };

    it('makes the oldest message a dead letter, and the next one is answered', async () => {
      const person = aPerson();
      const claim = newClaimOf(await stores.inbox.add(aMessage(accountId, person, { text: 'first' }), NODE));
      await stores.inbox.add(aMessage(accountId, person, { text: 'second' }), NODE);
      const first = await stores.inbox.nextTurn(claim);
      await (await stores.inbox.countAttempt(first?.messageId ?? '', 2)).stored;
      expect(await stores.inbox.deadLetterUnreadable(claim, why)).toBe(first?.messageId);
      expect(await drain(stores.inbox, claim)).toEqual(['second']);
      expect(await stores.log.deadLetters({ accountId, limit: 5 })).toMatchObject([
        { messageId: first?.messageId, chatId: claim.chatId, attempts: 2, ...why },
      ]);
      expect((await rows()).find((row) => row.id === first?.messageId)).toMatchObject({
        state: 'dead',
        ...why,
      });
    });

    it('changes nothing under a void claim, or without an unanswered message', async () => {
      const claim = newClaimOf(await stores.inbox.add(aMessage(accountId, aPerson()), NODE));
      expect(
        await stores.inbox.deadLetterUnreadable({ ...claim, epoch: claim.epoch + 1 }, why),
      ).toBeUndefined();
      expect(
        await stores.inbox.deadLetterUnreadable({ chatId: '999999999', node: NODE, epoch: 1 }, why),
      ).toBeUndefined();
      await drain(stores.inbox, claim);
      expect(await stores.inbox.deadLetterUnreadable(claim, why)).toBeUndefined();
      expect(await stores.log.deadLetters({ accountId, limit: 5 })).toEqual([]);
    });
  });

  describe('edits', () => {
    it('replace the text of a message that waits behind another', async () => {
      const person = aPerson();
      const claim = newClaimOf(await stores.inbox.add(aMessage(accountId, person, { text: 'first' }), NODE));
      const waiting = aMessage(accountId, person, { text: 'secnod' });
      await stores.inbox.add(waiting, NODE);
      await stores.inbox.add(
        aMessage(accountId, person, { text: 'second', editOf: waiting.waMessageId }),
        NODE,
      );
      expect(await drain(stores.inbox, claim)).toEqual(['first', 'second']);
      expect((await rows())[0]).toMatchObject({ state: 'ignored', reason: 'edit-applied' });
    });

    it('end no turn that has the former text; the next one has the new text, under the id of the edit', async () => {
      const person = aPerson();
      const message = aMessage(accountId, person, { text: 'helo' });
      const { messageId, worker: claim } = await stores.inbox.add(message, NODE);
      if (!claim) throw new Error('the chat is claimed');
      const turn = await stores.inbox.nextTurn(claim);
      if (!turn) throw new Error('a message waits');
      await (await stores.inbox.countAttempt(messageId, 1)).stored;
      const edit = aMessage(accountId, person, { text: 'hello', editOf: message.waMessageId });
      expect(await stores.inbox.add(edit, NODE)).toMatchObject({ outcome: 'stored', changed: messageId });
      const reply = answered([aReply(accountId, turn.replyTo)]);
      const lost = { ...reply, statePatch: { notices: { slow: 1 } } };
      expect(await stores.inbox.finishTurn(messageId, lost, { claim, turn })).toEqual({
        replies: [],
        isClaimed: true,
      });
      const again = await stores.inbox.nextTurn(claim);
      expect(again).toMatchObject({
        messageId,
        edits: 1,
        earlierAttempts: 1,
        bubbleId: message.waMessageId,
        message: { id: edit.waMessageId, editOf: message.waMessageId, text: 'hello' },
      });
      expect(again?.mayHaveRun).toBeUndefined();
      expect(again?.chatState?.notices).toBeUndefined();
      const end = await stores.inbox.finishTurn(messageId, reply, { claim, turn: again });
      expect(end).toMatchObject({ replies: [{ messageId }], isClaimed: false });
    });

    it('keep the id of a message that no agent has', async () => {
      const person = aPerson();
      const message = aMessage(accountId, person, { text: 'helo' });
      const claim = newClaimOf(await stores.inbox.add(message, NODE));
      await stores.inbox.add(
        aMessage(accountId, person, { text: 'hello', editOf: message.waMessageId }),
        NODE,
      );
      const turn = await stores.inbox.nextTurn(claim);
      expect(turn).toMatchObject({ edits: 1, message: { id: message.waMessageId, text: 'hello' } });
      expect(turn?.message.editOf).toBeUndefined();
    });

    it('that come before the attempt is counted give the message their id: the agent may get the former text', async () => {
      const person = aPerson();
      const message = aMessage(accountId, person, { text: 'helo' });
      const claim = newClaimOf(await stores.inbox.add(message, NODE));
      const [early, late, later] = ['hello', 'hello!', 'hello?'].map((text) =>
        aMessage(accountId, person, { text, editOf: message.waMessageId }),
      );
      if (!early || !late || !later) throw new Error('three edits');
      await stores.inbox.add(early, NODE);
      const turn = await stores.inbox.nextTurn(claim);
      await stores.inbox.add(late, NODE);
      for (const attempt of [1, 2]) {
        const { edits, messageId } = turn ?? { messageId: '' };
        await (await stores.inbox.countAttempt(messageId, attempt, { edits })).stored;
        const again = await stores.inbox.nextTurn(claim);
        expect(again?.message).toMatchObject({ id: late.waMessageId, editOf: message.waMessageId });
        expect(again).toMatchObject({ edits: 2, bubbleId: message.waMessageId });
      }
      await stores.inbox.add(later, NODE);
      expect((await stores.inbox.nextTurn(claim))?.message.id).toBe(later.waMessageId);
    });

    it('are answered as messages after the answer, and while an agent works on a task', async () => {
      const person = aPerson();
      const message = aMessage(accountId, person, { text: 'helo' });
      const { messageId, worker: claim } = await stores.inbox.add(message, NODE);
      if (!claim) throw new Error('the chat is claimed');
      await stores.remoteTasks.add({ messageId, routeId: 'r', accountId }, `task ${messageId}`);
      const edit = aMessage(accountId, person, { text: 'hello', editOf: message.waMessageId });
      expect((await stores.inbox.add(edit, NODE)).changed).toBeUndefined();
      expect(await drain(stores.inbox, claim)).toEqual(['helo', 'hello']);
      const late = aMessage(accountId, person, { text: 'hello!', editOf: message.waMessageId });
      const stored = await stores.inbox.add(late, NODE);
      expect(stored.turn).toMatchObject({
        bubbleId: message.waMessageId,
        message: { id: late.waMessageId, editOf: message.waMessageId },
      });
      expect(await drain(stores.inbox, newClaimOf(stored))).toEqual(['hello!']);
    });

    it('keep the text of the last edit, also when an earlier one is delivered again', async () => {
      const person = aPerson();
      const claim = newClaimOf(await stores.inbox.add(aMessage(accountId, person, { text: 'first' }), NODE));
      const waiting = aMessage(accountId, person, { text: 'v1' });
      const [v2, v3] = ['v2', 'v3'].map((text) =>
        aMessage(accountId, person, { text, editOf: waiting.waMessageId }),
      );
      if (!v2 || !v3) throw new Error('two edits');
      for (const message of [waiting, v2, v3]) await stores.inbox.add(message, NODE);
      expect(await stores.inbox.add(v2, NODE)).toMatchObject({ outcome: 'known' });
      expect(await drain(stores.inbox, claim)).toEqual(['first', 'v3']);
    });

    it('are refused for a message of another group member', async () => {
      const chat = { kind: 'group' as const, groupId: '120363000000000001' };
      const [ana, ben] = [aPerson(), aPerson()];
      const claim = newClaimOf(
        await stores.inbox.add(aMessage(accountId, ana, { chat, text: 'first' }), NODE),
      );
      const waiting = aMessage(accountId, ana, { chat, text: 'mine' });
      await stores.inbox.add(waiting, NODE);
      await stores.inbox.add(
        aMessage(accountId, ben, { chat, text: 'theirs', editOf: waiting.waMessageId }),
        NODE,
      );
      expect(await drain(stores.inbox, claim)).toEqual(['first', 'mine', 'theirs']);
    });
  });

  describe('deletions', () => {
    it('end an unanswered message of their author, and its turn that runs', async () => {
      const person = aPerson();
      const message = aMessage(accountId, person, { text: 'oops' });
      const { messageId, worker: claim } = await stores.inbox.add(message, NODE);
      const turn = claim && (await stores.inbox.nextTurn(claim));
      if (!turn) throw new Error('a message waits');
      const deletion = aMessage(accountId, person, {
        kind: 'other',
        text: '',
        ignoredReason: 'deleted',
        deletes: message.waMessageId,
      });
      expect(await stores.inbox.add(deletion, NODE)).toMatchObject({ outcome: 'stored', changed: messageId });
      const end = await stores.inbox.finishTurn(messageId, answered([aReply(accountId, turn.replyTo)]), {
        claim,
        turn,
      });
      expect(end).toEqual({ replies: [], isClaimed: false });
      expect(await stores.log.message(messageId)).toMatchObject({
        state: 'ignored',
        reason: 'deleted-by-author',
      });
    });

    it('end a message that waits for the owner, and take one away from the context; edits change the former', async () => {
      const person = aPerson();
      const [pending, context] = [aMessage(accountId, person), aMessage(accountId, person)];
      for (const [message, reason] of [
        [pending, 'access-pending'],
        [context, 'group-not-addressed'],
      ] as const) {
        const { messageId } = await stores.inbox.add(message, NODE);
        await stores.inbox.finishTurn(messageId, { state: 'ignored', reason, replies: [] });
      }
      const edit = aMessage(accountId, person, { text: 'better', editOf: pending.waMessageId });
      const { changed } = await stores.inbox.add(edit, NODE);
      expect(await stores.log.message(changed ?? '')).toMatchObject({
        text: 'better',
        reason: 'access-pending',
      });
      for (const { waMessageId } of [pending, context]) {
        const deletion = aMessage(accountId, person, { ignoredReason: 'deleted', deletes: waMessageId });
        const stored = await stores.inbox.add(deletion, NODE);
        expect(await stores.log.message(stored.changed ?? '')).toMatchObject({ reason: 'deleted-by-author' });
      }
    });

    it('do nothing to an answered message, and none to that of another group member', async () => {
      const chat = { kind: 'group' as const, groupId: '120363000000000079' };
      const [ana, admin] = [aPerson(), aPerson()];
      const message = aMessage(accountId, ana, { chat, text: 'stays' });
      const deletionBy = (person: typeof ana) =>
        aMessage(accountId, person, {
          chat,
          text: '',
          ignoredReason: 'deleted',
          deletes: message.waMessageId,
        });
      const claim = newClaimOf(await stores.inbox.add(message, NODE));
      expect((await stores.inbox.add(deletionBy(admin), NODE)).changed).toBeUndefined();
      expect(await drain(stores.inbox, claim)).toEqual(['stays']);
      expect((await stores.inbox.add(deletionBy(ana), NODE)).changed).toBeUndefined();
    });
  });

  describe('merged messages', () => {
    /** Messages of a person, and their chat. */
    async function lines(...texts: string[]) {
      const person = aPerson();
      const messages = texts.map((text) => aMessage(accountId, person, { text }));
      const stored = [];
      for (const message of messages) stored.push(await stores.inbox.add(message, NODE));
      const [first] = stored;
      if (!first) throw new Error('a message is given');
      const ids = stored.map(({ messageId }) => messageId);
      return { person, messages, ids, claim: newClaimOf(first), chatId: first.chatId };
    }
    const mergedOf = (ids: readonly string[]) =>
      ids.map((messageId) => ({ messageId, bubbleId: `3EB0${messageId}` }));

    it('are read in their order, with the time of the store', async () => {
      const { chatId, ids, messages } = await lines('a', 'b', 'c');
      const { turns, nowMs } = await stores.inbox.waiting(chatId, 2);
      expect(turns.map(({ messageId }) => messageId)).toEqual(ids.slice(0, 2));
      expect(turns[0]).toMatchObject({ message: { id: messages[0]?.waMessageId, text: 'a' } });
      expect(nowMs).toBeGreaterThanOrEqual(turns[1]?.receivedAtMs ?? Number.POSITIVE_INFINITY);
    });

    it('are read as nextTurn reads them', async () => {
      const { chatId, claim } = await lines('a', 'b');
      expect((await stores.inbox.waiting(chatId, 5)).turns[0]).toEqual(await stores.inbox.nextTurn(claim));
    });

    it('end with the turn of the last one, and name it', async () => {
      const { claim, ids, person } = await lines('a', 'b', 'c');
      const [a = '', b = '', c = ''] = ids;
      const end = answered([aReply(accountId, `${person.phone}@s.whatsapp.net`)]);
      const options = { claim, turn: { merged: mergedOf([a, b]) } };
      const finished = await stores.inbox.finishTurn(c, end, options);
      expect(finished).toMatchObject({ replies: [{ messageId: c }], isClaimed: false });
      expect(await stores.inbox.finishTurn(c, end, options)).toMatchObject({ replies: finished.replies });
      for (const id of [a, b]) {
        const row = await stores.log.message(id);
        expect(row).toMatchObject({ state: 'ignored', reason: 'merged' });
        expect(row?.trace).toMatchObject([{ step: 'pace', outcome: 'merged', messageId: c }]);
      }
      const [turn] = await stores.history.pastTurns(claim.chatId, '0', 5);
      expect(turn?.text).toBe('a\nb\nc');
    });

    it('do not end when one of them was edited or deleted meanwhile', async () => {
      for (const change of ['edit', 'deletion']) {
        const { claim, ids, messages, person } = await lines('a', 'b');
        const [a = '', b = ''] = ids;
        const target = messages[0]?.waMessageId;
        const more =
          change === 'edit'
            ? { text: 'A', editOf: target }
            : { ignoredReason: 'deleted' as const, deletes: target };
        await stores.inbox.add(aMessage(accountId, person, more), NODE);
        const end = answered([aReply(accountId, `${person.phone}@s.whatsapp.net`)]);
        const finished = await stores.inbox.finishTurn(b, end, { claim, turn: { merged: mergedOf([a]) } });
        expect(finished).toEqual({ replies: [], isClaimed: true });
        expect(await drain(stores.inbox, claim)).toEqual(change === 'edit' ? ['A', 'b'] : ['b']);
      }
    });

    it('are remembered when their agent is called', async () => {
      const { claim, ids } = await lines('a', 'b', 'c');
      const [a = '', b = ''] = ids;
      await (await stores.inbox.countAttempt(b, 1, { merged: mergedOf([a]) })).stored;
      expect(await stores.inbox.nextTurn(claim)).toMatchObject({ messageId: a, mergedInto: b });
      const { turns } = await stores.inbox.waiting(claim.chatId, 5);
      expect(turns.map(({ mergedInto, earlierAttempts }) => [mergedInto, earlierAttempts])).toEqual([
        [b, undefined],
        [undefined, 1],
        [undefined, undefined],
      ]);
    });

    it('come back with the replay of their dead letter, behind what was written since', async () => {
      const { claim, ids, person, chatId } = await lines('a', 'b', 'c');
      const [a = '', b = '', c = ''] = ids;
      const died = {
        state: 'dead' as const,
        reason: 'AGENT_TIMEOUT' as const,
        error: 'Too slow.',
        replies: [],
      };
      await stores.inbox.finishTurn(c, died, { claim, turn: { merged: mergedOf([a, b]) } });
      await stores.inbox.add(aMessage(accountId, person, { text: 'later' }), NODE);
      const [letter] = await stores.log.deadLetters({ accountId, limit: 5 });
      await stores.deadLetters.replay(letter?.id ?? '', NODE);
      const { turns } = await stores.inbox.waiting(chatId, 9);
      expect(turns.map(({ message }) => message.text)).toEqual(['later', 'a', 'b', 'c']);
      expect(turns.map(({ mergedInto }) => mergedInto)).toEqual([undefined, c, c, undefined]);
    });
  });
});
