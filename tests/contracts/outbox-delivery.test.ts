import { beforeEach, describe, expect, it } from 'vitest';
import type { ChatAddress } from '../../router/src/core/messages/inbound-message.ts';
import type { OutgoingMessage } from '../../router/src/core/models.ts';
import type { DeadLetterState } from '../../router/src/core/ports/message-log.ts';
import { MAX_REFUSALS } from '../../router/src/core/ports/outbox.ts';
import { aMessage, anAccount, answered, aPerson, aReply, describeStores, NODE } from './adapters.ts';

const HOUR_MS = 3_600_000;

describeStores('delivery state of the outbox in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });

  async function queued(message: OutgoingMessage = aReply(accountId, `${aPerson().phone}@s.whatsapp.net`)) {
    const idempotencyKey = message.waMessageId;
    const { row } = await stores.outbox.addDirect(message, { idempotencyKey });
    const read = async () => (await stores.outbox.addDirect(message, { idempotencyKey })).row;
    return { ...message, id: row.id, read };
  }
  const ids = (rows: Array<{ outboxId: string }>) => rows.map((row) => row.outboxId);
  const queuedIds = async () => ids(await stores.outbox.queued(accountId, 20));
  const overdue = (ackTimeoutMs: number) => stores.outbox.overdue(accountId, { ackTimeoutMs, limit: 20 });

  describe('a receipt', () => {
    it('is accepted only from the chat of the row, by number or LID', async () => {
      const [ana, eve] = [aPerson(), aPerson()];
      await stores.inbox.add(aMessage(accountId, { ...ana, lid: '900000000000777' }), 'node');
      const row = await queued(aReply(accountId, `${ana.phone}@s.whatsapp.net`));
      const read = (from: ChatAddress) =>
        stores.outbox.recordReceipts(accountId, [
          { waMessageId: row.waMessageId, state: 'read', atMs: Date.now(), from },
        ]);
      await read({ kind: 'person', phone: eve.phone });
      await read({ kind: 'person', lid: '900000000000778' });
      await read({ kind: 'group', groupId: '120363000000000777' });
      expect((await row.read()).state).toBe('queued');
      await read({ kind: 'person', lid: '900000000000777' });
      expect((await row.read()).state).toBe('read');
    });

    it('of a group is accepted for the rows of that group only', async () => {
      const row = await queued(aReply(accountId, '120363000000000778@g.us'));
      const read = (groupId: string) =>
        stores.outbox.recordReceipts(accountId, [
          {
            waMessageId: row.waMessageId,
            state: 'delivered',
            atMs: Date.now(),
            from: { kind: 'group', groupId },
          },
        ]);
      await read('120363000000000779');
      expect((await row.read()).state).toBe('queued');
      await read('120363000000000778');
      expect((await row.read()).state).toBe('delivered');
    });
  });

  describe('the suspicion that sending a reply ends processes', () => {
    const suspicions = async (...rows: Array<{ id: string }>) => {
      const open = await stores.outbox.undelivered(accountId, { limit: 20 });
      return rows.map(({ id }) => open.find(({ outboxId }) => outboxId === id)?.suspicion ?? 0);
    };
    /** A reply that was being sent in two processes that ended. */
    async function suspect() {
      const row = await queued();
      await stores.outbox.markSending(row.id);
      for (let ends = 0; ends < 2; ends += 1) await stores.countEnd(accountId);
      return row;
    }

    it('grows for what was being sent, up to two, and for nothing else', async () => {
      const [sending, sent, waiting] = [await queued(), await queued(), await queued()];
      for (const row of [sending, sent]) await stores.outbox.markSending(row.id);
      await stores.outbox.markSent(sent.id);
      for (const count of [1, 2, 2]) {
        await stores.countEnd(accountId);
        expect(await suspicions(sending, sent, waiting)).toEqual([count, 0, 0]);
      }
      await stores.countEnd(anAccount());
      expect(await suspicions(sending)).toEqual([2]);
    });

    it('grows by two for a reply that was sent alone, also one that was sent before', async () => {
      const row = await suspect();
      await stores.outbox.markSent(row.id);
      await stores.outbox.setAlone(row.id, true);
      for (let ends = 0; ends < 2; ends += 1) {
        await stores.countEnd(accountId);
        expect(await suspicions(row)).toEqual([4]);
      }
    });

    it('grows by one for it when a newer reply was being sent too', async () => {
      const [row, newer] = [await suspect(), await queued()];
      await stores.outbox.setAlone(row.id, true);
      await stores.outbox.markSending(newer.id);
      await stores.countEnd(accountId);
      expect(await suspicions(row, newer)).toEqual([3, 1]);
    });

    it('does not grow further for a reply that is no longer sent alone, and ends with a replay', async () => {
      const row = await suspect();
      await stores.outbox.setAlone(row.id, true);
      await stores.outbox.setAlone(row.id, false);
      await stores.countEnd(accountId);
      expect(await suspicions(row)).toEqual([2]);
      await stores.outbox.markDead(row.id, { sentence: 'It ended processes.' }, 'process-ended');
      const [letter] = await stores.log.deadLetters({ accountId, limit: 1 });
      expect(letter).toMatchObject({ reason: 'process-ended' });
      await stores.deadLetters.replay(letter?.id ?? '', NODE);
      expect((await row.read()).state).toBe('queued');
      expect(await suspicions(row)).toEqual([0]);
    });
  });

  describe('a message that WhatsApp has not acknowledged', () => {
    it('is found when its last send is long enough ago, with the number of overdue sends', async () => {
      const [sending, sent, fresh] = [await queued(), await queued(), await queued()];
      for (const row of [sending, sent]) await stores.outbox.markSending(row.id);
      await stores.outbox.markSent(sent.id);
      expect(await overdue(HOUR_MS)).toEqual([]);
      const late = await overdue(0);
      expect(late.map(({ reply, attempts }) => [reply.outboxId, attempts])).toEqual([
        [sending.id, 1],
        [sent.id, 1],
      ]);
      expect(late[0]?.reply.message).toMatchObject({ waMessageId: sending.waMessageId, to: sending.to });
      expect(late[0]?.openForMs).toBeGreaterThanOrEqual(0);
      expect(await sent.read()).toMatchObject({ error: expect.stringMatching(/not acknowledged/) });
      expect((await fresh.read()).error).toBeUndefined();
      expect(await stores.outbox.overdue(anAccount(), { ackTimeoutMs: 0, limit: 9 })).toEqual([]);
    });

    it('is not found after its ack, which clears the overdue state', async () => {
      const row = await queued();
      await stores.outbox.markSending(row.id);
      await stores.outbox.markSent(row.id);
      await overdue(0);
      await stores.outbox.recordReceipts(accountId, [
        { waMessageId: row.waMessageId, state: 'acked', atMs: Date.now() },
      ]);
      expect(await overdue(0)).toEqual([]);
      expect(await row.read()).toMatchObject({ state: 'acked', error: undefined });
    });

    it('becomes a dead letter with its own reason when it is given up', async () => {
      const row = await queued();
      await stores.outbox.markSending(row.id);
      await stores.outbox.markDead(row.id, { sentence: 'Never.' }, 'never-acknowledged');
      expect(await stores.log.deadLetters({ accountId, limit: 5 })).toMatchObject([
        { reason: 'never-acknowledged', error: 'Never.', outboxId: row.id },
      ]);
    });
  });

  describe('a dead letter that is acknowledged later', () => {
    async function givenUp() {
      const row = await queued();
      await stores.outbox.markSending(row.id);
      await stores.outbox.markSent(row.id);
      await stores.outbox.markDead(row.id, { sentence: 'Never.' }, 'never-acknowledged');
      return row;
    }
    const receipt = (row: { waMessageId: string }, state: 'acked' | 'delivered' | 'read') =>
      stores.outbox.recordReceipts(accountId, [{ waMessageId: row.waMessageId, state, atMs: Date.now() }]);
    const letters = (state?: DeadLetterState) => stores.log.deadLetters({ accountId, state, limit: 9 });

    it.each(['acked', 'delivered', 'read'] as const)(
      'becomes %s again, and the dead letter records it',
      async (state) => {
        const [row, other] = [await givenUp(), await givenUp()];
        await receipt(row, state);
        expect(await row.read()).toMatchObject({ state, error: undefined, ackedAt: expect.any(Date) });
        expect(await letters('open')).toMatchObject([{ outboxId: other.id, error: 'Never.' }]);
        expect(await letters('replayed')).toMatchObject([
          { outboxId: row.id, reason: 'never-acknowledged', error: 'Never. WhatsApp acknowledged it later.' },
        ]);
      },
    );

    it('is not sent again, neither by the next connection nor by a replay', async () => {
      const row = await givenUp();
      const [letter] = await letters('open');
      await receipt(row, 'delivered');
      expect(await stores.outbox.undelivered(accountId, { limit: 9 })).toEqual([]);
      expect(await overdue(0)).toEqual([]);
      expect(await stores.outbox.markSending(row.id)).toBe(false);
      expect(await stores.deadLetters.replay(letter?.id ?? '', NODE)).toEqual({ outcome: 'known' });
      await receipt(row, 'acked');
      expect(await row.read()).toMatchObject({ state: 'delivered' });
    });

    it('is not sent when it was replayed just before', async () => {
      const row = await givenUp();
      const [letter] = await letters('open');
      expect(await stores.deadLetters.replay(letter?.id ?? '', NODE)).toMatchObject({ outcome: 'replayed' });
      await receipt(row, 'acked');
      expect(await stores.outbox.markSending(row.id)).toBe(false);
      expect((await letters('replayed'))[0]?.error).toBe('Never.');
    });

    it('loses the limit that it waited for', async () => {
      const row = await queued();
      await stores.outbox.markSending(row.id);
      await stores.outbox.markRefused(
        accountId,
        row.waMessageId,
        { sentence: 'error 463' },
        { delayMs: HOUR_MS },
      );
      await receipt(row, 'acked');
      expect(await row.read()).toMatchObject({ state: 'acked', delayedUntil: undefined });
    });
  });

  describe('a delayed message', () => {
    it('waits until its time, and only later messages of its chat wait behind it', async () => {
      const [held, other] = [await queued(), await queued()];
      const behind = await queued(aReply(accountId, held.to));
      await stores.outbox.delay(held.id, HOUR_MS, { sentence: 'Limited.' });
      expect(await held.read()).toMatchObject({
        state: 'queued',
        error: 'Limited.',
        delayedUntil: expect.any(Date),
      });
      expect(await queuedIds()).toEqual([other.id]);
      expect(await stores.outbox.markSending(held.id)).toBe(false);
      expect(await stores.outbox.markSending(behind.id)).toBe(false);
      const undelivered = ids(await stores.outbox.undelivered(accountId, { limit: 9 }));
      expect(undelivered).not.toContain(held.id);

      await stores.outbox.delay(held.id, -1, { sentence: 'Limited.' });
      expect(await queuedIds()).toEqual([held.id, other.id, behind.id]);
      expect(await stores.outbox.markSending(held.id)).toBe(true);
      expect((await held.read()).delayedUntil).toBeUndefined();
    });

    it('is sent when the delays of its account end, and those of other accounts are not', async () => {
      const [held, behind] = [await queued(), await queued()];
      const elsewhere = await queued(aReply(anAccount(), `${aPerson().phone}@s.whatsapp.net`));
      for (const row of [held, elsewhere])
        await stores.outbox.delay(row.id, HOUR_MS, { sentence: 'Limited.' });
      await stores.outbox.endDelays(accountId);
      expect(await queuedIds()).toEqual([held.id, behind.id]);
      expect(await elsewhere.read()).toMatchObject({ delayedUntil: expect.any(Date) });
    });

    it('results from a temporary refusal, until it was refused too often', async () => {
      const row = await queued();
      for (let refusals = 1; refusals < MAX_REFUSALS; refusals++) {
        expect(await stores.outbox.markSending(row.id)).toBe(true);
        await stores.outbox.markRefused(
          accountId,
          row.waMessageId,
          { sentence: 'error 463' },
          { delayMs: -1 },
        );
        expect(await row.read()).toMatchObject({ state: 'queued', attempts: refusals, error: 'error 463' });
      }
      await stores.outbox.markSending(row.id);
      await stores.outbox.markRefused(accountId, row.waMessageId, { sentence: 'error 463' }, { delayMs: -1 });
      expect(await row.read()).toMatchObject({ state: 'dead' });
      expect(await stores.log.deadLetters({ accountId, limit: 5 })).toMatchObject([
        { reason: 'send-refused', attempts: MAX_REFUSALS },
      ]);
    });

    it.each(['sending', 'sent'] as const)(
      'that may have been sent before (%s) is neither overdue nor sent until its time',
      async (state) => {
        const row = await queued();
        await stores.outbox.markSending(row.id);
        if (state === 'sent') await stores.outbox.markSent(row.id);
        await stores.outbox.delay(row.id, HOUR_MS, { sentence: 'Limited.' });
        expect(await overdue(0)).toEqual([]);
        expect(await stores.outbox.undelivered(accountId, { limit: 9 })).toEqual([]);
        expect(await row.read()).toMatchObject({ state: 'queued', error: 'Limited.' });
        await stores.outbox.endDelays(accountId);
        expect(await queuedIds()).toEqual([row.id]);
        const acked = { waMessageId: row.waMessageId, state: 'acked' as const, atMs: Date.now() };
        await stores.outbox.recordReceipts(accountId, [acked]);
        expect(await stores.outbox.markSending(row.id)).toBe(false);
      },
    );

    it.each(['sending', 'sent'] as const)(
      'comes before a later message of its chat that may have been sent (%s)',
      async (state) => {
        const to = `${aPerson().phone}@s.whatsapp.net`;
        const [refused, later] = [await queued(aReply(accountId, to)), await queued(aReply(accountId, to))];
        for (const row of [refused, later]) await stores.outbox.markSending(row.id);
        if (state === 'sent') await stores.outbox.markSent(later.id);
        await stores.outbox.markRefused(
          accountId,
          refused.waMessageId,
          { sentence: 'error 429' },
          { delayMs: HOUR_MS },
        );
        expect(await stores.outbox.markSending(later.id)).toBe(false);
        expect(await queuedIds()).toEqual([]);
        await stores.outbox.endDelays(accountId);
        expect(await queuedIds()).toEqual([refused.id, later.id]);
        expect(await stores.outbox.markSending(later.id)).toBe(false);
        expect(await stores.outbox.markSending(refused.id)).toBe(true);
        expect(await stores.outbox.markSending(later.id)).toBe(true);
      },
    );

    it('stays delayed when it is marked as sent after the refusal', async () => {
      const row = await queued();
      await stores.outbox.markSending(row.id);
      await stores.outbox.markRefused(
        accountId,
        row.waMessageId,
        { sentence: 'error 463' },
        { delayMs: HOUR_MS },
      );
      await stores.outbox.markSent(row.id);
      expect(await row.read()).toMatchObject({ state: 'queued' });
    });
  });

  describe('a first contact', () => {
    const direct = async (to: string) => (await stores.outbox.addDirect(aReply(accountId, to))).row;

    it('is a message to a person who never wrote, until it is counted', async () => {
      const [one, two] = [aPerson(), aPerson()];
      const first = await direct(`${one.phone}@s.whatsapp.net`);
      const second = await direct(`${two.phone}@s.whatsapp.net`);
      expect(await stores.outbox.firstContact(first.id)).toMatchObject({ earlierMs: [] });
      await stores.outbox.countFirstContact(first.id);
      expect(await stores.outbox.firstContact(first.id)).toBeUndefined();
      const facts = await stores.outbox.firstContact(second.id);
      expect(facts?.earlierMs).toHaveLength(1);
      expect(facts?.accountAgeMs).toBeGreaterThanOrEqual(0);
      await stores.inbox.add(aMessage(accountId, two), NODE);
      expect(await stores.outbox.firstContact(second.id)).toBeUndefined();
    });

    it('names the number that WhatsApp must be asked about, and what it said', async () => {
      const { phone } = aPerson();
      const to = `${phone}@s.whatsapp.net`;
      const row = await direct(to);
      const number = async () => (await stores.outbox.firstContact(row.id))?.number;
      expect(await number()).toEqual({ phone });
      expect(await stores.outbox.numberToCheck(accountId, to)).toEqual({ phone });
      for (const isOnWhatsApp of [false, true]) {
        await stores.outbox.keepNumberCheck(accountId, phone, isOnWhatsApp);
        expect(await number()).toEqual({ phone, isOnWhatsApp });
        expect(await stores.outbox.numberToCheck(accountId, to)).toEqual({ phone, isOnWhatsApp });
      }
      expect(await stores.outbox.numberToCheck(anAccount(), to)).toEqual({ phone });
    });

    it('needs no question for a LID, a group, somebody who wrote, and a repeat', async () => {
      const { phone, lid } = aPerson();
      const to = `${phone}@s.whatsapp.net`;
      const ask = (jid: string, key?: string) => stores.outbox.numberToCheck(accountId, jid, key);
      expect(await ask(`${lid}@lid`)).toBeUndefined();
      expect(await ask('120363043211234567@g.us')).toBeUndefined();
      expect((await stores.outbox.firstContact((await direct(`${lid}@lid`)).id))?.number).toBeUndefined();
      await stores.outbox.addDirect(aReply(accountId, to), { idempotencyKey: 'key' });
      expect(await ask(to, 'other')).toEqual({ phone });
      expect(await ask(to, 'key')).toBeUndefined();
      await stores.inbox.add(aMessage(accountId, { phone, lid }, { ignoredReason: 'own-message' }), NODE);
      expect(await ask(to)).toBeUndefined();
      const other = aPerson();
      await stores.inbox.add(aMessage(accountId, { phone: other.phone }), NODE);
      expect(await ask(`${other.phone}@s.whatsapp.net`)).toBeUndefined();
    });

    it('is not the only message that answers nobody', async () => {
      const person = aPerson();
      const to = `${person.phone}@s.whatsapp.net`;
      const row = await direct(to);
      expect(await stores.outbox.isUnasked(row.id)).toBe(true);
      await stores.inbox.add(aMessage(accountId, person, { ignoredReason: 'own-message' }), NODE);
      expect(await stores.outbox.isUnasked(row.id)).toBe(true);
      const byHand = await stores.outbox.addDirect(aReply(accountId, to), { byHand: { pauseMs: 0 } });
      expect(await stores.outbox.isUnasked(byHand.row.id)).toBe(false);
      const { messageId } = await stores.inbox.add(aMessage(accountId, person), NODE);
      expect(await stores.outbox.isUnasked(row.id)).toBe(false);
      const { replies } = await stores.inbox.finishTurn(messageId, answered([aReply(accountId, to)]));
      expect(await stores.outbox.isUnasked(replies[0]?.outboxId ?? '')).toBe(false);
      expect(await stores.outbox.isUnasked((await direct('120363043211234567@g.us')).id)).toBe(true);
    });

    it('is neither a message to a group nor a reply', async () => {
      expect(await stores.outbox.firstContact((await direct('120363043211234567@g.us')).id)).toBeUndefined();
      const answer = await stores.inbox.add(aMessage(accountId, aPerson()), NODE);
      const { replies } = await stores.inbox.finishTurn(
        answer.messageId,
        answered([aReply(accountId, '5493777000111@s.whatsapp.net')]),
      );
      expect(await stores.outbox.firstContact(replies[0]?.outboxId ?? '')).toBeUndefined();
    });

    it('is sent before a reply to its person, whose message ends its delay', async () => {
      const person = aPerson();
      const to = `${person.phone}@s.whatsapp.net`;
      const row = await direct(to);
      await stores.outbox.delay(row.id, HOUR_MS, { sentence: 'first contact' });
      const { messageId } = await stores.inbox.add(aMessage(accountId, person), NODE);
      const {
        replies: [reply],
      } = await stores.inbox.finishTurn(messageId, answered([aReply(accountId, to)]));
      expect(await stores.outbox.markSending(reply?.outboxId ?? '')).toBe(false);
      await stores.outbox.endDelaysOf(row.chatId);
      const next = await stores.outbox.queued(accountId, 10);
      expect(next.map(({ outboxId }) => outboxId)).toEqual([row.id, reply?.outboxId]);
    });
  });

  describe('a chat', () => {
    const isColdTo = async (to: string) => stores.outbox.isCold((await queued(aReply(accountId, to))).id);

    it('is cold until its person wrote by either address', async () => {
      const { phone, lid } = aPerson();
      expect(await isColdTo(`${phone}@s.whatsapp.net`)).toBe(true);
      await stores.inbox.add(aMessage(accountId, { phone, lid }, { ignoredReason: 'own-message' }), NODE);
      expect(await isColdTo(`${phone}@s.whatsapp.net`)).toBe(true);
      await stores.inbox.add(aMessage(accountId, { phone, lid }), NODE);
      expect(await isColdTo(`${phone}@s.whatsapp.net`)).toBe(false);
      expect(await isColdTo(`${lid}@lid`)).toBe(false);
    });

    it('is not cold when it is a group', async () => {
      expect(await isColdTo('120363043211234567@g.us')).toBe(false);
    });
  });
});
