import { afterEach, beforeEach, expect, it } from 'vitest';
import { WhatsAppAccount } from '../support/whatsapp-account.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

let emulator: WhatsAppEmulator;
let phone: Phone;
let ana: Person;
let account: WhatsAppAccount;

beforeEach(async () => {
  emulator = await WhatsAppEmulator.start();
  phone = createPhone(emulator, { phone: '34600000001', name: 'Shop' });
  ana = createPerson(emulator, { phone: '34600000002', name: 'Ana' });
  account = new WhatsAppAccount(emulator);
});

afterEach(async () => {
  await account.provider.stop();
  await emulator.stop();
});

/** Links the account; resolves when its connection is live. */
async function link(): Promise<void> {
  const live = emulator.waitFor('live');
  await account.pairWith(phone);
  await live;
}

it('reports chats that the owner locks and unlocks, people and groups', async () => {
  await link();
  const group = createGroup(emulator, { subject: 'Family', members: [ana, phone] });
  await phone.lock(ana);
  await account.untilLock(ana.pn, true);
  await phone.lock(group);
  await account.untilLock(group.jid, true);
  await phone.lock(ana, false);
  await account.untilLock(ana.pn, false);
  expect(account.locks.get(group.jid.split('@')[0] ?? '')).toBe(true);
});

it('reports chats that were locked before the account was linked, once the phone gives its key', async () => {
  await phone.lock(ana);
  await link();
  await phone.shareStateKey();
  await account.untilLock(ana.pn, true);
});

it('reports a lock again that could not be stored', async () => {
  await link();
  let refusals = 0;
  account.onLock = async () => {
    refusals += 1;
    if (refusals === 1) throw new Error('the database is away');
  };
  const again = emulator.waitFor('logged-in');
  await phone.lock(ana);
  await again;
  await account.untilLock(ana.pn, true);
});

it('reports all locks again in another process, as one may have ended before it stored them', async () => {
  await link();
  await phone.lock(ana);
  await account.untilLock(ana.pn, true);
  await account.provider.stop();
  account = new WhatsAppAccount(emulator, account.stores);
  await account.provider.start();
  await account.untilLock(ana.pn, true);
});
