import { beforeEach, describe, expect, it } from 'vitest';
import type { OutgoingMessage } from '../../router/src/core/models.ts';
import { errorOfSaid, say } from '../../router/src/core/phrases.ts';
import type { OutboxRow } from '../../router/src/core/ports/outbox.ts';
import { aMessage, anAccount, answered, aPerson, aReply, describeStores, NODE } from './adapters.ts';

// Later than every row of the test.
const AT_MS = Date.now() + 3_600_000;

describeStores('outbox in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });

  /** The reply of one answered message. */
  async function queued(reply: OutgoingMessage = aReply(accountId, '5493777000111@s.whatsapp.net')) {
    const stored = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
    const messageId = stored.messageId;
    const {
      replies: [row],
    } = await stores.inbox.finishTurn(messageId, answered([reply]));
    if (!row) throw new Error('a reply was stored');
    const read = async (): Promise<OutboxRow> => {
      const now = (await stores.log.message(messageId))?.replies[0];
      if (!now) throw new Error('the reply is there');
      return now;
    };
    return { ...row, waMessageId: reply.waMessageId, read };
  }
  const receipt = (waMessageId: string, state: 'acked' | 'delivered' | 'read', afterMs = 0) =>
    stores.outbox.recordReceipts(accountId, [{ waMessageId, state, atMs: AT_MS + afterMs }]);
  const undelivered = async () =>
    (await stores.outbox.undelivered(accountId, { limit: 50 })).map((row) => row.outboxId);

  it('keeps what a message is besides text and file, and finds a repeat although secret and time differ', async () => {
    const message = aReply(accountId, '5493777000111@s.whatsapp.net');
    const poll = { kind: 'poll' as const, question: 'Q', options: ['a', 'b'], selectable: 1, secret: 's' };
    const quote = { waMessageId: 'W', from: '1@lid', text: 'hi' };
    const add = (special: typeof poll, waMessageId = message.waMessageId) =>
      stores.outbox.addDirect({ ...message, waMessageId, special, quote }, { idempotencyKey: 'key' });
    expect((await add(poll)).outcome).toBe('queued');
    expect((await add({ ...poll, secret: 't' }, `${message.waMessageId}2`)).outcome).toBe('known');
    expect((await add({ ...poll, question: 'R' }, `${message.waMessageId}3`)).outcome).toBe('conflict');
    const [row] = await stores.outbox.undelivered(accountId, { limit: 10 });
    expect(row?.message).toMatchObject({ special: poll, quote });
    const found = await stores.outbox.findByWaId(accountId, message.waMessageId);
    expect(found?.message).toMatchObject({ special: poll, quote });
  });

  describe('a reply', () => {
    it('goes from queued over sending, sent, acked and delivered to read', async () => {
      const { outboxId, waMessageId, read } = await queued();
      expect(await read()).toMatchObject({ state: 'queued', attempts: 0, waMessageId });
      expect(await stores.outbox.markSending(outboxId)).toBe(true);
      expect(await read()).toMatchObject({ state: 'sending', attempts: 1 });
      await stores.outbox.markSent(outboxId);
      expect(await read()).toMatchObject({ state: 'sent', sentAt: expect.any(Date) });
      await receipt(waMessageId, 'acked', 1);
      await receipt(waMessageId, 'delivered', 2);
      await receipt(waMessageId, 'read', 3);
      expect(await read()).toMatchObject({
        state: 'read',
        ackedAt: new Date(AT_MS + 1),
        deliveredAt: new Date(AT_MS + 2),
        readAt: new Date(AT_MS + 3),
      });
    });

    it('is stored as sending by the end of the turn, only the first, when the caller sends it at once', async () => {
      const lease = await stores.leaseOf(accountId);
      const { messageId } = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      const to = '5493777000111@s.whatsapp.net';
      const end = answered([aReply(accountId, to), aReply(accountId, to)]);
      const { replies: rows } = await stores.inbox.finishTurn(messageId, end, { lease });
      expect(rows.map(({ isSending }) => isSending)).toEqual([true, undefined]);
      expect((await stores.log.message(messageId))?.replies).toMatchObject([
        { state: 'sending', attempts: 1, attemptedAt: expect.any(Date) },
        { state: 'queued', attempts: 0 },
      ]);
      expect(await undelivered()).toEqual(rows.map(({ outboxId }) => outboxId));
      expect(await stores.outbox.markSending(rows[1]?.outboxId ?? '')).toBe(true);
      // The same end again says nothing about what was sent since.
      const { replies: again } = await stores.inbox.finishTurn(messageId, end, { lease });
      expect(again.map(({ isSending }) => isSending)).toEqual([undefined, undefined]);
    });

    it('stays queued at the end of the turn while an older one of its chat is queued', async () => {
      const lease = await stores.leaseOf(accountId);
      const person = aPerson();
      const to = `${person.phone}@s.whatsapp.net`;
      const first = await stores.inbox.add(aMessage(accountId, person), NODE);
      const second = await stores.inbox.add(aMessage(accountId, person), NODE);
      await stores.inbox.finishTurn(first.messageId, answered([aReply(accountId, to)]));
      const {
        replies: [row],
      } = await stores.inbox.finishTurn(second.messageId, answered([aReply(accountId, to)]), { lease });
      expect(row?.isSending).toBeUndefined();
      expect((await stores.log.message(second.messageId))?.replies).toMatchObject([{ state: 'queued' }]);
    });

    it('gets the timer that its chat had when it was stored', async () => {
      const person = aPerson();
      const to = `${person.phone}@s.whatsapp.net`;
      const answerTo = async (timerSeconds: number | undefined) => {
        const { messageId } = await stores.inbox.add(aMessage(accountId, person, { timerSeconds }), NODE);
        const { replies } = await stores.inbox.finishTurn(messageId, answered([aReply(accountId, to)]));
        return replies[0]?.message;
      };
      expect((await answerTo(undefined))?.timerSeconds).toBeUndefined();
      const timed = await answerTo(86_400);
      expect(timed?.timerSeconds).toBe(86_400);
      expect((await answerTo(undefined))?.timerSeconds).toBe(86_400);
      const { row } = await stores.outbox.addDirect(aReply(accountId, to));
      expect(row.timerSeconds).toBe(86_400);
      expect((await answerTo(0))?.timerSeconds).toBeUndefined();
      const all = await stores.outbox.undelivered(accountId, { limit: 50 });
      expect(all.map(({ message }) => message.timerSeconds)).toEqual([
        undefined,
        86_400,
        86_400,
        86_400,
        undefined,
      ]);
      const sent = await stores.outbox.findByWaId(accountId, timed?.waMessageId ?? '');
      expect(sent?.message.timerSeconds).toBe(86_400);
    });

    it('never moves back when receipts are late, repeated or out of order', async () => {
      const { waMessageId, read } = await queued();
      const states = ['acked', 'delivered', 'read'] as const;
      for (const [rank, reached] of states.entries()) {
        await receipt(waMessageId, reached, rank);
        const before = await read();
        for (const state of states.slice(0, rank + 1)) {
          await receipt(waMessageId, state, 9);
          expect(await read()).toEqual(before);
        }
      }
    });

    it('gets the times that a receipt implies: a read reply was delivered and acknowledged', async () => {
      const { waMessageId, read } = await queued();
      await receipt(waMessageId, 'read');
      const at = new Date(AT_MS);
      expect(await read()).toMatchObject({
        state: 'read',
        sentAt: at,
        ackedAt: at,
        deliveredAt: at,
        readAt: at,
      });
    });

    it('never has a sent, acked or read time before its queued time', async () => {
      const { waMessageId, read } = await queued();
      const { queuedAt } = await read();
      await receipt(waMessageId, 'read', queuedAt.getTime() - 900 - AT_MS);
      expect(await read()).toMatchObject({ sentAt: queuedAt, ackedAt: queuedAt, readAt: queuedAt });
    });

    it('accepts a receipt that arrives before the reply is marked as sent', async () => {
      const { outboxId, waMessageId, read } = await queued();
      await stores.outbox.markSending(outboxId);
      await receipt(waMessageId, 'delivered');
      await stores.outbox.markSent(outboxId);
      expect(await read()).toMatchObject({ state: 'delivered', sentAt: new Date(AT_MS) });
    });

    it('is not sent again after WhatsApp acknowledged it', async () => {
      const { outboxId, waMessageId, read } = await queued();
      await receipt(waMessageId, 'acked');
      expect(await stores.outbox.markSending(outboxId)).toBe(false);
      await stores.outbox.release(outboxId, { sentence: 'not connected' });
      await stores.outbox.markDead(outboxId, { sentence: 'too late' });
      await stores.outbox.markRefused(accountId, waMessageId, { sentence: 'too late' });
      expect(await read()).toMatchObject({ state: 'acked', attempts: 0 });
      expect(await stores.log.deadLetters({ accountId, limit: 5 })).toEqual([]);
    });

    it('can be sent again from sent or sending until WhatsApp acknowledges it', async () => {
      const { outboxId, read } = await queued();
      expect(await stores.outbox.markSending(outboxId)).toBe(true);
      expect(await stores.outbox.markSending(outboxId)).toBe(true);
      await stores.outbox.markSent(outboxId);
      expect(await stores.outbox.markSending(outboxId)).toBe(true);
      expect(await read()).toMatchObject({ state: 'sent', attempts: 3 });
    });

    it('moves back to queued after a send that did not happen', async () => {
      const { outboxId, read } = await queued();
      await stores.outbox.markSending(outboxId);
      await stores.outbox.release(outboxId, { sentence: 'not connected' });
      expect(await read()).toMatchObject({ state: 'queued', error: 'not connected', attempts: 1 });
      await stores.outbox.markSending(outboxId);
      await stores.outbox.markSent(outboxId);
      expect((await read()).error).toBeUndefined();
    });

    it('stays sent when a repeated send did not happen', async () => {
      const { outboxId, read } = await queued();
      await stores.outbox.markSending(outboxId);
      await stores.outbox.markSent(outboxId);
      await stores.outbox.release(outboxId, { sentence: 'not connected' });
      expect(await read()).toMatchObject({ state: 'sent' });
    });

    it('becomes one dead letter, and stays dead without an ack of WhatsApp', async () => {
      const { outboxId, chatId, read } = await queued();
      await stores.outbox.markSending(outboxId);
      const said = say('send.refused-for-chat', { code: 404 });
      await stores.outbox.markDead(outboxId, said);
      await stores.outbox.markDead(outboxId, { sentence: 'again' });
      await stores.outbox.markSent(outboxId);
      await stores.outbox.release(outboxId, { sentence: 'again' });
      expect(await stores.outbox.markSending(outboxId)).toBe(false);
      expect(await read()).toMatchObject({ state: 'dead', ...errorOfSaid(said) });
      const letters = await stores.log.deadLetters({ accountId, limit: 5 });
      expect(letters).toMatchObject([{ chatId, reason: 'send-failed', ...errorOfSaid(said), attempts: 1 }]);
    });

    it('becomes a dead letter by an error ack with its WhatsApp id', async () => {
      const { waMessageId, read } = await queued();
      await stores.outbox.markRefused(accountId, 'UNKNOWN', {
        sentence: 'WhatsApp refused it with error 479.',
      });
      await stores.outbox.markRefused(anAccount(), waMessageId, {
        sentence: 'WhatsApp refused it with error 479.',
      });
      expect((await read()).state).toBe('queued');
      await stores.outbox.markRefused(accountId, waMessageId, {
        sentence: 'WhatsApp refused it with error 479.',
      });
      expect((await read()).state).toBe('dead');
      expect(await stores.log.deadLetters({ accountId, limit: 5 })).toMatchObject([
        { reason: 'send-refused' },
      ]);
    });
  });

  describe('receipts in bulk', () => {
    it('move several messages, ignoring unknown ids and those of other accounts', async () => {
      const [one, two, other] = [await queued(), await queued(), await queued()];
      await stores.outbox.recordReceipts(accountId, [
        { waMessageId: one.waMessageId, state: 'read', atMs: AT_MS + 30 },
        { waMessageId: 'UNKNOWN', state: 'read', atMs: AT_MS },
        { waMessageId: one.waMessageId, state: 'acked', atMs: AT_MS + 10 },
        { waMessageId: two.waMessageId, state: 'acked', atMs: AT_MS + 20 },
        { waMessageId: one.waMessageId, state: 'delivered', atMs: AT_MS + 20 },
      ]);
      await stores.outbox.recordReceipts(anAccount(), [
        { waMessageId: other.waMessageId, state: 'read', atMs: AT_MS },
      ]);
      expect(await one.read()).toMatchObject({
        state: 'read',
        ackedAt: new Date(AT_MS + 10),
        deliveredAt: new Date(AT_MS + 20),
        readAt: new Date(AT_MS + 30),
      });
      expect(await two.read()).toMatchObject({ state: 'acked', ackedAt: new Date(AT_MS + 20) });
      expect(await other.read()).toMatchObject({ state: 'queued' });
    });

    it('can be none', async () => {
      await expect(stores.outbox.recordReceipts(accountId, [])).resolves.toBeUndefined();
    });
  });

  describe('the undelivered replies', () => {
    it('are those that WhatsApp has not acknowledged, oldest first, page by page', async () => {
      const rows = [];
      for (let n = 0; n < 6; n++) rows.push(await queued());
      const [dead, acked, sending, sent, fresh, last] = rows;
      await stores.outbox.markDead(dead?.outboxId ?? '', { sentence: 'x' });
      await receipt(acked?.waMessageId ?? '', 'acked');
      await stores.outbox.markSending(sending?.outboxId ?? '');
      await stores.outbox.markSent(sent?.outboxId ?? '');
      const open = [sending, sent, fresh, last].map((row) => row?.outboxId);
      expect(await undelivered()).toEqual(open);
      const page = await stores.outbox.undelivered(accountId, { limit: 2, afterId: sending?.outboxId });
      expect(page.map((row) => row.outboxId)).toEqual(open.slice(1, 3));
      expect(await stores.outbox.undelivered(anAccount(), { limit: 9 })).toEqual([]);
    });
  });

  describe('messages of the API', () => {
    it('are queued for the chat of their address, which is created when it does not exist', async () => {
      const { phone, lid } = aPerson();
      const known = await stores.inbox.add(aMessage(accountId, { phone, lid }), NODE);
      const byLid = await stores.outbox.addDirect(aReply(accountId, `${lid}@lid`));
      expect(byLid).toMatchObject({ outcome: 'queued', row: { chatId: known.chatId, state: 'queued' } });

      const stranger = aPerson();
      const message = aReply(accountId, `${stranger.phone}@s.whatsapp.net`, 'hi \u{1F44B}');
      const { row } = await stores.outbox.addDirect(message);
      expect(row).toMatchObject({ ...message, attempts: 0, queuedAt: expect.any(Date) });
      expect(row.chatId).not.toBe(known.chatId);
      expect((await stores.inbox.add(aMessage(accountId, stranger), NODE)).chatId).toBe(row.chatId);
      expect(await undelivered()).toEqual([byLid.row.id, row.id]);

      const group = await stores.outbox.addDirect(aReply(accountId, '120363000000000009@g.us'));
      expect(group.outcome).toBe('queued');
    });

    it('are added once per idempotency key, also concurrently', async () => {
      const to = `${aPerson().phone}@s.whatsapp.net`;
      const tries = await Promise.all(
        [1, 2, 3, 4, 5].map(() =>
          stores.outbox.addDirect(aReply(accountId, to, 'once'), { idempotencyKey: 'key-1' }),
        ),
      );
      expect(tries.map((one) => one.outcome).sort()).toEqual(['known', 'known', 'known', 'known', 'queued']);
      expect(new Set(tries.map((one) => one.row.waMessageId)).size).toBe(1);
      expect(await undelivered()).toHaveLength(1);
    });

    it('are refused when the key belongs to another text or chat, except in another account', async () => {
      const to = `${aPerson().phone}@s.whatsapp.net`;
      const first = await stores.outbox.addDirect(aReply(accountId, to, 'text'), { idempotencyKey: 'key-2' });
      const text = await stores.outbox.addDirect(aReply(accountId, to, 'other'), { idempotencyKey: 'key-2' });
      expect(text).toEqual({ outcome: 'conflict', row: first.row });
      const elsewhere = aReply(accountId, `${aPerson().phone}@s.whatsapp.net`, 'text');
      expect((await stores.outbox.addDirect(elsewhere, { idempotencyKey: 'key-2' })).outcome).toBe(
        'conflict',
      );
      const account = anAccount();
      expect(
        (await stores.outbox.addDirect(aReply(account, to, 'other'), { idempotencyKey: 'key-2' })).outcome,
      ).toBe('queued');
    });

    it('keep their file and mentions; a repeat is known by what the file was made of, without its bytes', async () => {
      const to = `${aPerson().phone}@s.whatsapp.net`;
      const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 3 };
      const mentions = ['34600000001@s.whatsapp.net'];
      const message = { ...aReply(accountId, to, 'caption'), media, mentions };
      const bytes = Buffer.from([0, 1, 255]);
      const idempotencyKey = 'key-3';
      expect(await stores.outbox.hasDirect(accountId, idempotencyKey)).toBe(false);
      const file = { source: 'image abc', bytes };
      const { row } = await stores.outbox.addDirect(message, { idempotencyKey, file });
      expect(row).toMatchObject({ media, text: 'caption' });
      expect(await stores.outbox.hasDirect(accountId, idempotencyKey)).toBe(true);
      expect(await stores.outbox.hasDirect(anAccount(), idempotencyKey)).toBe(false);
      const kept = await stores.outbox.fileOf(row.id);
      expect(Buffer.from(kept?.bytes ?? [])).toEqual(bytes);
      expect((await stores.outbox.queued(accountId, 5))[0]?.message).toEqual(message);

      const repeat = { ...aReply(accountId, to, 'caption') };
      const again = (source?: string) =>
        stores.outbox.addDirect(repeat, { idempotencyKey, ...(source && { file: { source } }) });
      expect(await again('image abc')).toEqual({ outcome: 'known', row });
      expect((await again('image abd')).outcome).toBe('conflict');
      expect((await again()).outcome).toBe('conflict');
    });

    it('are not added without the bytes of their file', async () => {
      const message = aReply(accountId, `${aPerson().phone}@s.whatsapp.net`);
      await expect(stores.outbox.addDirect(message, { file: { source: 'x' } })).rejects.toThrow();
      expect(await undelivered()).toEqual([]);
    });

    it('are added each time without a key', async () => {
      const to = `${aPerson().phone}@s.whatsapp.net`;
      for (let n = 0; n < 2; n++) {
        expect((await stores.outbox.addDirect(aReply(accountId, to, 'same'))).outcome).toBe('queued');
      }
      expect(await undelivered()).toHaveLength(2);
    });

    it('are accepted for people and groups only', async () => {
      await expect(stores.outbox.addDirect(aReply(accountId, 'status@broadcast'))).rejects.toThrow(
        'neither a person nor a group',
      );
    });
  });

  it('finds a message by its WhatsApp id, in its own account only', async () => {
    const reply = aReply(accountId, '5493777000111@s.whatsapp.net', 'resend me');
    await queued(reply);
    expect(await stores.outbox.findByWaId(accountId, reply.waMessageId)).toEqual({ message: reply });
    expect(await stores.outbox.findByWaId(anAccount(), reply.waMessageId)).toBeUndefined();
    expect(await stores.outbox.findByWaId(accountId, 'UNKNOWN')).toBeUndefined();
  });
});
