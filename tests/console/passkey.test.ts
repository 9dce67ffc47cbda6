import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { untilState, untilStatus } from '../support/pairing.ts';
import { newNumber, TestBed } from '../support/test-bed.ts';
import { Passkey } from '../whatsapp-emulator/passkey.ts';
import { createPhone } from '../whatsapp-emulator/phone.ts';
import { expectAccessible } from './browser.ts';
import { consolesOf } from './consoles.ts';
import { keepPicture } from './pictures.ts';

let bed: TestBed;
const { open, mayComplain } = consolesOf(() => bed.service.url);
const passkey = new Passkey();

beforeAll(async () => {
  bed = await TestBed.start();
  await bed.startService();
});
afterAll(() => bed?.close());

/** WhatsApp Web in a browser whose authenticator has the passkey, without a network. */
async function whatsAppWeb(page: Page): Promise<{ web: Page; debuggerOf: CDPSession }> {
  const web = await page.context().newPage();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await web.route('https://web.whatsapp.com/**', (route) =>
    route.fulfill({
      contentType: 'text/html',
      headers: {
        'content-security-policy':
          "default-src 'self'; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'",
      },
      body: '<!doctype html><title>WhatsApp Web</title><body>',
    }),
  );
  await web.goto('https://web.whatsapp.com/');
  const debuggerOf = await page.context().newCDPSession(web);
  await debuggerOf.send('WebAuthn.enable');
  const { authenticatorId } = await debuggerOf.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await debuggerOf.send('WebAuthn.addCredential', {
    authenticatorId,
    credential: {
      credentialId: passkey.credentialId.toString('base64'),
      isResidentCredential: true,
      rpId: 'whatsapp.com',
      privateKey: passkey.privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
      userHandle: Buffer.from('owner').toString('base64'),
      signCount: 0,
    },
  });
  return { web, debuggerOf };
}

describe('an account that WhatsApp asks for a passkey', () => {
  it('is linked in four steps on the page Accounts, with the script on WhatsApp Web', async () => {
    mayComplain(/409 \(Conflict\)/);
    const { page, goTo } = await open();
    const phone = createPhone(bed.emulator, { phone: newNumber('349'), passkey });
    const { qr = '' } = await untilStatus(bed.service, (status) => status.qr !== undefined);
    const linked = phone.scan(qr);
    linked.catch(() => undefined);
    const { web, debuggerOf } = await whatsAppWeb(page);
    await page.bringToFront();
    await goTo('accounts');
    await page.getByRole('listitem').filter({ hasText: 'Copy the script' }).first().waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Copy the script' }).click();
    await page.getByText('The script was copied.').waitFor();
    const script = await page.evaluate<string>('navigator.clipboard.readText()');

    await web.bringToFront();
    // As the developer console does.
    await debuggerOf.send('Runtime.evaluate', { expression: script, userGesture: true });
    await web.getByRole('button', { name: 'Use passkey' }).click();
    await web.getByRole('button', { name: 'Copy the answer' }).click();
    await web.getByText('Copied. Paste it in wa2ai.').waitFor();
    const answer = await web.evaluate<string>('navigator.clipboard.readText()');

    await page.bringToFront();
    const field = page.getByLabel('Answer of the script');
    await field.fill('something else');
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await page
      .getByRole('alert')
      .filter({ hasText: /answer/i })
      .first()
      .waitFor();
    await field.fill(answer);
    await page.getByRole('button', { name: 'Send the answer' }).click();
    const same = page.getByRole('button', { name: 'The code is the same' });
    await same.waitFor();
    await expectAccessible(page);
    expect((await page.locator('.pairing-code').textContent())?.replace('-', '')).toBe(phone.passkeyCode);
    await same.click();
    await linked;
    await untilState(bed.service, 'open');
    await page.getByText('Connected. Nothing to do.').waitFor();
    phone.unlink();
    await untilState(bed.service, 'logged-out');
  });

  it.each([
    ['light', 'en-US', 1280],
    ['dark', 'es-ES', 390],
  ] as const)('shows its steps in %s colours, in %s, %i pixels wide', async (theme, language, widthPx) => {
    await bed.service.api('POST', '/api/accounts/default/pair', { method: 'qr' });
    const phone = createPhone(bed.emulator, { phone: newNumber('349'), passkey });
    const { qr = '' } = await untilStatus(bed.service, (status) => status.qr !== undefined);
    phone.scan(qr).catch(() => undefined);
    await untilState(bed.service, 'passkey-required');
    const { page, goTo } = await open({ theme, language, widthPx });
    await goTo('accounts');
    await page.locator('.passkey-steps').waitFor();
    expect(await page.locator('.passkey-steps > li').count()).toBe(4);
    await expectAccessible(page);
    const overflow = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
    await keepPicture(page, `accounts-passkey-${theme}-${widthPx}`);
  });
});
