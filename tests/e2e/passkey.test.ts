import { afterAll, beforeAll, expect, it } from 'vitest';
import { runWa2ai } from '../support/cli.ts';
import { untilState, untilStatus } from '../support/pairing.ts';
import { newNumber, TestBed } from '../support/test-bed.ts';
import { Passkey } from '../whatsapp-emulator/passkey.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';

let bed: TestBed;
const passkey = new Passkey();

beforeAll(async () => {
  bed = await TestBed.start();
  await bed.startService();
});
afterAll(() => bed?.close());

interface Account {
  state: string;
  nextAction: string;
  reason?: string;
  passkey?: { step: string; options?: string; script?: string; code?: string };
}

async function account(): Promise<Account> {
  const { body } = await bed.service.api('GET', '/api/accounts/default');
  return body.data as Account;
}

/** The account at this step of linking with a passkey. */
async function atStep(step: string): Promise<NonNullable<Account['passkey']>> {
  await untilStatus(bed.service, (status) => (status as unknown as Account).passkey?.step === step);
  return (await account()).passkey ?? { step };
}

/** The QR code that is shown, as soon as it is another one. */
async function nextQr(before?: string): Promise<string> {
  const { qr } = await untilStatus(bed.service, ({ qr }) => qr !== undefined && qr !== before);
  return qr ?? '';
}

const pair = () => bed.service.api('POST', '/api/accounts/default/pair', { method: 'qr' });
const use = (body: object) => bed.service.api('POST', '/api/accounts/default/passkey', body);

/** An account whose owner has a passkey. */
const owner = () => createPhone(bed.emulator, { phone: newNumber('349'), passkey });

/** The owner scans the code, and signs. */
async function sign(phone: Phone, qr?: string): Promise<{ linked: Promise<string> }> {
  const linked = phone.scan(qr ?? (await nextQr()));
  linked.catch(() => undefined);
  const { options = '' } = await atStep('sign');
  await use({ answer: passkey.sign(JSON.parse(options)) });
  return { linked };
}

/** Nothing is linked, and the account says why; pairing starts again. */
async function expectNothingLinked(phone: Phone, linked: Promise<string>, reason: RegExp): Promise<void> {
  await untilStatus(bed.service, (status) => {
    const { state, passkey } = status as unknown as Account;
    return state === 'passkey-required' && passkey === undefined;
  });
  await expect(linked).rejects.toThrow();
  expect(await account()).toMatchObject({
    reason: expect.stringMatching(reason),
    nextAction: expect.stringMatching(/^WhatsApp asks for your passkey.*again/),
  });
  expect(bed.emulator.linkedDevices(phone.pn)).toEqual([]);
  await pair();
}

it('A phone that shows another code links nothing, and wa2ai pair says so', async () => {
  const phone = owner();
  bed.emulator.faults.replacedNonces = 1;
  const before = await nextQr();
  const command = runWa2ai(['pair', '--url', bed.service.url]);
  const { linked } = await sign(phone, await nextQr(before));
  const { code } = await atStep('compare');
  expect(code).not.toBe(phone.passkeyCode);
  const [page, shown] = [await (await fetch(`${bed.service.url}/qr`)).text(), await account()];
  expect(page).toContain('Continue in the console');
  expect(shown).toMatchObject({ state: 'passkey-required', nextAction: expect.stringMatching(/^Compare/) });
  expect((await use({ isSameCode: false })).status).toBe(200);
  expect(await command).toMatchObject({ code: 1, errors: expect.stringContaining('differ') });
  await expectNothingLinked(phone, linked, /differ/);
});

it('An assertion that WhatsApp refuses links nothing', async () => {
  const phone = createPhone(bed.emulator, { phone: newNumber('349'), passkey: new Passkey() });
  const { linked } = await sign(phone);
  await expectNothingLinked(phone, linked, /refused/);
});

it('An answer to another request is refused in a sentence, and the owner may answer again', async () => {
  const phone = owner();
  const linked = phone.scan(await nextQr());
  linked.catch(() => undefined);
  const { options = '', script } = await atStep('sign');
  expect(script).toContain(JSON.parse(options).challenge);
  const wrong = await use({ answer: passkey.sign({ challenge: 'AAAA' }) });
  expect([wrong.status, wrong.body.code]).toEqual([409, 'PASSKEY_ANSWER']);
  const early = await use({ isSameCode: true });
  expect([early.status, early.body.code]).toEqual([409, 'PASSKEY_NOT_ASKED']);
  expect((await use({ answer: passkey.sign(JSON.parse(options)) })).status).toBe(200);
  await atStep('compare');
  await use({ isSameCode: false });
  await expectNothingLinked(phone, linked, /differ/);
});

it('A crash before the codes are compared links nothing, and the account can be linked after the restart', async () => {
  const phone = owner();
  const { linked } = await sign(phone);
  await atStep('compare');
  await bed.service.end('SIGKILL');
  await expect(linked).rejects.toThrow('hung up');
  await bed.startService();
  await untilState(bed.service, 'pairing');
  expect(bed.emulator.linkedDevices(phone.pn)).toEqual([]);

  const again = await sign(phone);
  const { code } = await atStep('compare');
  expect(code).toBe(phone.passkeyCode);
  await use({ isSameCode: true });
  await again.linked;
  await untilState(bed.service, 'open');
  await bed.service.addRoute('*', bed.agent.url);
  const ana = bed.person();
  await ana.say('linked?', { to: phone });
  expect((await ana.nextReply()).text).toBe('Echo: linked?');
  phone.unlink();
  await untilState(bed.service, 'logged-out');
  await pair();
});

it('An account that is linked by letters links with a passkey too', async () => {
  const phone = owner();
  const number = phone.pn.split('@')[0];
  await bed.service.api('POST', '/api/accounts/default/pair', { method: 'code', phone: number });
  const { pairingCode } = await untilStatus(bed.service, (status) => status.pairingCode !== undefined);
  const linked = phone.enterCode(pairingCode ?? '', 60_000);
  linked.catch(() => undefined);
  const { options = '' } = await atStep('sign');
  await use({ answer: passkey.sign(JSON.parse(options)) });
  expect((await atStep('compare')).code).toBe(phone.passkeyCode);
  await use({ isSameCode: true });
  await linked;
  await untilState(bed.service, 'open');
  phone.unlink();
  await untilState(bed.service, 'logged-out');
});

it('A QR code that WhatsApp retires is replaced by one that links the phone', async () => {
  await pair();
  bed.emulator.faults.retiredScans = 1;
  const retired = await nextQr();
  await expect(bed.phone.scan(retired)).rejects.toThrow('retired');
  const fresh = await nextQr(retired);
  expect(fresh.split(',')[0]).toBe(retired.split(',')[0]);
  await expect(bed.phone.scan(retired)).rejects.toThrow('retired');
  await bed.phone.scan(fresh);
  await untilState(bed.service, 'open');
  const ana = bed.person();
  await ana.say('linked?', { to: bed.phone });
  expect((await ana.nextReply()).text).toBe('Echo: linked?');
});
