import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { choose, expectAccessible } from './browser.ts';
import { consolesOf } from './consoles.ts';

let bed: TestBed;
const { open, mayComplain } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  bed = await TestBed.startPaired();
});
afterAll(async () => {
  await bed?.close();
});

describe('the page Accounts', () => {
  it('shows the state, the next action and the history of an account', async () => {
    const { page, goTo } = await open();
    await goTo('accounts');
    const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'default' }) });
    await card.getByText('Connected. Nothing to do.').waitFor();
    await card.getByText('History').click();
    const changes = card.locator('.history li');
    await changes.filter({ hasText: 'Waiting for a phone' }).first().waitFor();
    expect(await changes.first().textContent()).toContain('Connected');
    await choose(card, 'Restart');
    await page.getByText('The connection was restarted.').waitFor();
    await card.getByText('Connected. Nothing to do.').waitFor();
  });

  it('shows how much of the limits is used', async () => {
    await bed.service.api('PUT', '/api/settings/governor', {
      firstContacts: { perDay: 10, warmUpDays: 0 },
      quietHours: { from: '00:00', to: '00:01', timeZone: 'UTC' },
    });
    const stranger = bed.person();
    await bed.service.api('POST', '/api/messages', { channelId: stranger.phone, text: 'an offer' });
    await stranger.nextReply();
    const { page, goTo } = await open();
    await goTo('accounts');
    const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'default' }) });
    await card.getByText('Limits and use').click();
    const used = card.locator('.used').filter({ hasText: 'First contacts in 24 hours' });
    await used.getByText('1 of 10').waitFor();
    expect(await used.getByRole('progressbar').getAttribute('max')).toBe('10');
    await card.getByText('Quiet hours: 00:00 to 00:01 (UTC).').waitFor();
    await expectAccessible(page);
    await card.getByRole('link', { name: 'Change the limits' }).click();
    await page.getByRole('heading', { level: 2, name: 'First contacts' }).waitFor();
  });

  it('links a phone by code', async () => {
    mayComplain(/400 \(Bad Request\)/);
    const { page, goTo } = await open();
    await goTo('accounts');
    await page.getByRole('button', { name: 'Add account' }).click();
    await page.getByLabel('Name').fill('second');
    await page.getByRole('dialog').getByRole('button', { name: 'Add account' }).click();
    const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'second' }) });
    await card.getByRole('img', { name: 'QR code that links a phone' }).waitFor();
    await card.getByRole('button', { name: 'Link with phone number' }).click();
    await card.getByLabel('Phone number').fill('12');
    await card.getByRole('button', { name: 'Get the code' }).click();
    await card.getByRole('alert').waitFor();
    await card.getByLabel('Phone number').fill('+34 600 000 001');
    await card.getByRole('button', { name: 'Get the code' }).click();
    await expect.poll(() => card.locator('.pairing-code').textContent()).toMatch(/^[A-Z0-9-]{8,9}$/);
    await expectAccessible(page);
    await choose(card, 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await card.waitFor({ state: 'detached' });
  });

  it('adds an account that never connects without its proxy', async () => {
    mayComplain(/400 \(Bad Request\)/);
    const { page, goTo } = await open();
    await goTo('accounts');
    await page.getByRole('button', { name: 'Add account' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('proxied');
    await dialog.getByLabel('Address of the proxy').fill('ftp://user:a-password@127.0.0.1');
    await dialog.getByRole('button', { name: 'Add account' }).click();
    await dialog.getByText('must begin with http://').first().waitFor();
    // Nobody listens on the discard port.
    await dialog.getByLabel('Address of the proxy').fill('socks5://user:a-password@127.0.0.1:9');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Add account' }).click();
    const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'proxied' }) });
    await card.getByText('Proxy does not work').waitFor();
    await card.getByText('socks5://***@127.0.0.1:9').waitFor();
    await choose(card, 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await card.waitFor({ state: 'detached' });
  });

  it.each(['light', 'dark'] as const)('has no violation of axe in %s colours', async (theme) => {
    const { page, goTo } = await open({ theme });
    await goTo('accounts');
    for (const part of ['Limits and use', 'History'])
      await page.getByText(part, { exact: true }).first().click();
    await page.locator('.history li').first().waitFor();
    await expectAccessible(page);
  });

  it('logs an account out, which its history shows', async () => {
    const { page, goTo } = await open();
    await goTo('accounts');
    const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'default' }) });
    await card.getByText('History').click();
    const changes = card.locator('.history li');
    await expect.poll(() => changes.first().textContent()).toContain('Connected');
    await choose(card, 'Log out');
    await page.getByRole('dialog').getByRole('button', { name: 'Log out' }).click();
    await card.getByRole('img', { name: 'QR code that links a phone' }).waitFor();
    await expect.poll(() => changes.first().textContent()).toContain('Waiting for a phone');
    await card.getByRole('img', { name: 'QR code that links a phone' }).waitFor();
  });
});
