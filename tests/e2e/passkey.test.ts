import { afterAll, beforeAll, expect, it } from 'vitest';
import { runWa2ai } from '../support/cli.ts';
import { qrStatus, untilState, untilStatus } from '../support/pairing.ts';
import { newNumber, TestBed } from '../support/test-bed.ts';
import { Passkey } from '../whatsapp-emulator/passkey.ts';
import { createPhone } from '../whatsapp-emulator/phone.ts';

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.start();
  await bed.startService();
});
afterAll(() => bed?.close());

/** The QR code that is shown, as soon as it is another one. */
async function nextQr(before?: string): Promise<string> {
  const { qr } = await untilStatus(bed.service, ({ qr }) => qr !== undefined && qr !== before);
  return qr ?? '';
}

it('An account that WhatsApp asks for a passkey is in the state passkey-required, and can be paired again', async () => {
  const owner = createPhone(bed.emulator, { phone: newNumber('349'), passkey: new Passkey() });
  const acknowledged = bed.emulator.waitFor(
    'stanza',
    ({ stanza }) => stanza.tag === 'ack' && stanza.attrs.type === 'passkey_prologue_request',
  );
  const linked = owner.scan(await nextQr());
  linked.catch(() => undefined);
  await acknowledged;
  await untilState(bed.service, 'passkey-required');
  await expect(linked).rejects.toThrow('hung up');
  const words = { state: 'passkey-required', nextAction: expect.stringContaining('passkey') };
  expect(await qrStatus(bed.service)).toMatchObject(words);
  const { body } = await bed.service.api('GET', '/api/accounts');
  expect(body.data).toMatchObject([
    { ...words, reason: 'WhatsApp asks for a passkey to link this account.' },
  ]);
  expect(await (await fetch(`${bed.service.url}/qr`)).text()).toContain('Link again');
  expect(bed.service.lines.findLast(({ msg }) => msg === 'account state')).toMatchObject(words);

  const pairing = runWa2ai(['pair', '--url', bed.service.url]);
  const again = owner.scan(await nextQr());
  await expect(again).rejects.toThrow('hung up');
  expect(await pairing).toMatchObject({ code: 1, errors: expect.stringContaining('passkey') });
});

it('A QR code that WhatsApp retires is replaced by one that links the phone', async () => {
  await bed.service.api('POST', '/api/accounts/default/pair', { method: 'qr' });
  bed.emulator.faults.retiredScans = 1;
  const retired = await nextQr();
  await expect(bed.phone.scan(retired)).rejects.toThrow('retired');
  const fresh = await nextQr(retired);
  expect(fresh.split(',')[0]).toBe(retired.split(',')[0]);
  await expect(bed.phone.scan(retired)).rejects.toThrow('retired');
  await bed.phone.scan(fresh);
  await untilState(bed.service, 'open');
  await bed.service.addRoute('*', bed.agent.url);
  const ana = bed.person();
  await ana.say('linked?', { to: bed.phone });
  expect((await ana.nextReply()).text).toBe('Echo: linked?');
});
