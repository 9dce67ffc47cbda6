import { encodeBigEndian } from '@whiskeysockets/baileys';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryOutbox } from '../doubles/memory-outbox.ts';
import { MemoryState } from '../doubles/memory-state.ts';
import { WhatsAppAccount } from '../support/whatsapp-account.ts';
import type { ReceiptToDevice } from '../whatsapp-emulator/actors.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

let emulator: WhatsAppEmulator;
let phone: Phone;
let ana: Person;
let eve: Person;
let account: WhatsAppAccount;

beforeEach(async () => {
  emulator = await WhatsAppEmulator.start();
  phone = createPhone(emulator, { phone: '34600000001', name: 'Shop' });
  ana = createPerson(emulator, { phone: '34600000002', name: 'Ana' });
  eve = createPerson(emulator, { phone: '34600000003', name: 'Eve' });
  account = new WhatsAppAccount(emulator);
  const live = emulator.waitFor('live');
  await account.pairWith(phone);
  await live;
  await eve.say('hello', { to: phone });
  await account.untilReceived(1);
});

afterEach(async () => {
  await account.provider.stop();
  await emulator.stop();
});

const device = () => emulator.linkedDevices(phone.pn)[0]?.pn ?? '';

/** Eve's phone requests a message as if it could not decrypt it. */
function askFor(id: string, chat: ReceiptToDevice['chat']): void {
  emulator.sendReceipt({
    from: eve,
    to: device(),
    ids: [id],
    type: 'retry',
    chat,
    children: [
      { tag: 'retry', attrs: { count: '1', id, t: '1700000000', v: '1', error: '0' } },
      { tag: 'registration', attrs: {}, content: encodeBigEndian(1) },
    ],
  });
}

const refusals = () => account.log.filter(({ message }) => message.startsWith('resend refused')).length;

describe('a person who requests a reply to another person by its id', () => {
  it('does not receive that reply', async () => {
    const { waMessageId } = await account.send(ana.pn, 'my secret 4711');
    await ana.nextReply();
    askFor(waMessageId, { kind: 'direct', addressing: 'pn' });
    await emulator.waitUntilSettled(device());
    await account.send(eve.pn, 'for you');
    expect((await eve.nextReply()).text).toBe('for you');
    expect(eve.received.map(({ text }) => text)).toEqual(['for you']);
    expect(refusals()).toBe(1);
  });

  it('does not receive it through a group either', async () => {
    const group = createGroup(emulator, { subject: 'Team', members: [eve, ana, phone] });
    const { waMessageId } = await account.send(ana.pn, 'my secret 4711');
    await ana.nextReply();
    askFor(waMessageId, { kind: 'group', group: group.jid });
    await emulator.waitUntilSettled(device());
    await account.send(eve.pn, 'for you');
    await eve.nextReply();
    expect(eve.received.map(({ text }) => text)).toEqual(['for you']);
    expect(refusals()).toBe(1);
  });

  it('is the sender of the receipt, so that it moves no row of another chat', async () => {
    const { waMessageId } = await account.send(ana.pn, 'hello Ana');
    await account.untilReceipt(waMessageId, 'delivered');
    emulator.sendReceipt({
      from: eve,
      to: device(),
      ids: [waMessageId],
      type: 'read',
      chat: { kind: 'direct', addressing: 'pn' },
    });
    await account.untilReceipt(waMessageId, 'read');
    const from = (state: string) => account.receipts.find((receipt) => receipt.state === state)?.from;
    expect(from('acked')).toBeUndefined();
    expect(from('delivered')).toMatchObject({ kind: 'person', phone: '34600000002' });
    expect(from('read')).toMatchObject({ kind: 'person', phone: '34600000003' });
  });
});

describe('a stored message to a group', () => {
  it.each([
    ['is not moved by a receipt from a direct chat', 'direct', 'queued'],
    ['is not moved by a receipt from another group', 'other', 'queued'],
    ['is moved by a receipt from its group', 'team', 'read'],
  ])('%s', async (_, from, state) => {
    const team = createGroup(emulator, { subject: 'Team', members: [ana, phone] });
    const other = createGroup(emulator, { subject: 'Other', members: [eve, phone] });
    const outbox = new MemoryOutbox(new MemoryState());
    const sent = await account.send(team.jid, 'for the team');
    await outbox.addDirect(sent, { idempotencyKey: 'key' });
    const chat: ReceiptToDevice['chat'] =
      from === 'direct'
        ? { kind: 'direct', addressing: 'pn' }
        : { kind: 'group', group: (from === 'team' ? team : other).jid };
    const { waMessageId } = sent;
    const person = from === 'team' ? ana : eve;
    emulator.sendReceipt({ from: person, to: device(), ids: [waMessageId], type: 'read', chat });
    await account.untilReceipt(waMessageId, 'read');
    const read = account.receipts.filter((one) => one.waMessageId === waMessageId && one.state === 'read');
    await outbox.recordReceipts('main', read);
    expect((await outbox.addDirect(sent, { idempotencyKey: 'key' })).row.state).toBe(state);
  });
});

it('receives a reply again when it was sent to this person', async () => {
  await ana.say('hello', { to: phone });
  await account.untilReceived(2);
  const { waMessageId } = await account.send(ana.pn, 'once more');
  await ana.nextReply();
  const again = emulator.waitFor('reply', (reply) => reply.id === waMessageId && reply.isRepeat);
  ana.askAgain(waMessageId);
  expect(await again).toMatchObject({ person: ana.pn, text: 'once more' });
  expect(refusals()).toBe(0);
});
