import { beforeEach, describe, expect, it } from 'vitest';
import type { InboundMessage } from '../../router/src/core/messages/inbound-message.ts';
import { aMessage, anAccount, aPerson, describeStores, NODE } from './adapters.ts';

const secret = Buffer.from(Array.from({ length: 32 }, (_, index) => index));

describeStores('secrets of messages in $name', (stores) => {
  let accountId: string;
  beforeEach(() => {
    accountId = anAccount();
  });
  const add = (message: InboundMessage) => stores.inbox.add(message, NODE);
  const original = (edit: InboundMessage, { waMessageId }: InboundMessage) =>
    stores.inbox.original(edit, waMessageId);

  describe('original', () => {
    it.each([
      ['number', 'number'],
      ['number', 'LID'],
      ['LID', 'number'],
      ['LID', 'LID'],
      ['number', 'both'],
      ['both', 'LID'],
    ])('finds a message that came by %s for an edit by %s', async (first, then) => {
      const person = aPerson();
      const addresses: Record<string, { phone?: string; lid?: string }> = {
        number: { phone: person.phone },
        LID: { lid: person.lid },
        both: person,
      };
      // A group names both addresses.
      await add(aMessage(accountId, person, { chat: { kind: 'group', groupId: '120363000000000009' } }));
      const message = aMessage(accountId, addresses[first] ?? {}, { secret });
      await add(message);
      const edit = aMessage(accountId, addresses[then] ?? {});
      const { sender, ...found } = (await original(edit, message)) ?? {};
      expect(found).toEqual({ isOfSender: true, isDecrypted: true, secret });
      expect(Object.values(sender ?? {}).length).toBeGreaterThan(0);
    });

    it('finds that of the sender among messages of a group with the same id, and says when it has none', async () => {
      const chat = { kind: 'group' as const, groupId: '120363000000000001' };
      const [ana, bo, cleo] = [aPerson(), aPerson(), aPerson()];
      const message = aMessage(accountId, ana, { chat, secret });
      const { waMessageId } = message;
      await add(message);
      expect(await original(aMessage(accountId, bo, { chat }), message)).toMatchObject({
        isOfSender: false,
        isDecrypted: true,
        sender: ana,
      });
      const same = { ...aMessage(accountId, bo, { chat }), waMessageId, secret: Buffer.alloc(32, 9) };
      await add(same);
      for (const [person, expected] of [
        [ana, { isOfSender: true, isDecrypted: true, secret }],
        [bo, { isOfSender: true, isDecrypted: true, secret: same.secret }],
        [cleo, { isOfSender: false, isDecrypted: true }],
      ] as const) {
        expect(await original(aMessage(accountId, person, { chat }), message)).toMatchObject(expected);
      }
    });

    it('finds none in another chat or account', async () => {
      const ana = aPerson();
      const message = aMessage(accountId, ana, { secret });
      await add(message);
      const chat = { kind: 'group' as const, groupId: '120363000000000002' };
      expect(await original(aMessage(accountId, ana, { chat }), message)).toBeUndefined();
      expect(await original(aMessage(accountId, aPerson()), message)).toBeUndefined();
      expect(await original(aMessage(anAccount(), ana), message)).toBeUndefined();
    });

    it('has no secret when the message had none, or its author took it back', async () => {
      const ana = aPerson();
      const [plain, message] = [aMessage(accountId, ana), aMessage(accountId, ana, { secret })];
      await add(plain);
      await add(message);
      expect(await original(message, plain)).toEqual({ isOfSender: true, isDecrypted: true, sender: ana });
      await add(
        aMessage(accountId, ana, { text: '', deletes: message.waMessageId, ignoredReason: 'deleted' }),
      );
      expect(await original(message, message)).not.toHaveProperty('secret');
    });

    it('has the secret of the copy that could be decrypted', async () => {
      const message = aMessage(accountId, aPerson(), { secret });
      const unread = { ...message, kind: 'undecryptable' as const, text: '', secret: undefined };
      await add({ ...unread, ignoredReason: 'undecryptable' });
      await add(message);
      expect(await original(message, message)).toMatchObject({ secret });
    });
  });

  it('are in no message of the log', async () => {
    const { messageId } = await add(aMessage(accountId, aPerson(), { secret }));
    const shown: unknown[] = [
      await stores.log.message(messageId),
      await stores.log.messages({ accountId, limit: 5 }),
    ];
    expect(JSON.stringify(shown)).not.toMatch(/secret/);
  });

  it('leave a step in the trace of an edit that could not be read, which no route is chosen for', async () => {
    const step = { step: 'encrypted-edit', outcome: 'no-secret', sentence: 'It has none.' };
    const edit = aMessage(accountId, aPerson(), {
      kind: 'other',
      text: '',
      ignoredReason: 'encrypted-edit',
      ignoredStep: step,
    });
    const { messageId } = await add(edit);
    const row = await stores.log.message(messageId);
    expect(row).toMatchObject({ state: 'ignored', reason: 'encrypted-edit', trace: [step] });
    expect(await stores.log.messagesToRoute({ accountId, limit: 5 })).toEqual([]);
  });

  it('leave the card of an edited message as the edit has it', async () => {
    const ana = aPerson();
    const event = (name: string) => ({
      kind: 'other' as const,
      text: '',
      details: { card: eventCard(name) },
    });
    const message = aMessage(accountId, ana, event('Lunch'));
    const { messageId } = await add(message);
    await add(aMessage(accountId, ana, { ...event('Dinner'), editOf: message.waMessageId }));
    expect(await stores.log.message(messageId)).toMatchObject({ card: eventCard('Dinner'), edits: 1 });
    await add(aMessage(accountId, ana, { text: 'words', editOf: message.waMessageId }));
    expect(await stores.log.message(messageId)).toMatchObject({ card: eventCard('Dinner'), text: 'words' });
  });
});

const eventCard = (name: string) => ({ kind: 'event' as const, name });
