import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { expectAccessible, type OpenConsole, openConsole, startBrowser } from './browser.ts';

/** Addresses of all pages. */
const PAGES = [
  '',
  'chats',
  'playground',
  'playground/scenarios',
  'dead-letters',
  'accounts',
  'routes',
  'routes/new',
  'routes/versions',
  'agents',
  'webhooks',
  'keys',
  'users',
  'audit',
  'settings',
  'api',
];

let bed: TestBed;
let browser: Browser;
const opened: OpenConsole[] = [];

beforeAll(async () => {
  [bed, browser] = await Promise.all([TestBed.startPaired(), startBrowser()]);
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

afterAll(async () => {
  await browser?.close();
  await bed?.close();
});

async function open(options?: Parameters<typeof openConsole>[2]): Promise<OpenConsole> {
  const shown = await openConsole(browser, bed.service.url, options);
  opened.push(shown);
  return shown;
}

describe('the console', () => {
  it('opens from the address of the service', async () => {
    const { page } = await open();
    await page.goto(bed.service.url);
    await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
    expect(page.url()).toBe(`${bed.service.url}/console/`);
  });

  it.each(['light', 'dark'] as const)('is accessible on every page, %s', async (theme) => {
    const { page, goTo, complaints } = await open({ theme });
    for (const path of PAGES) {
      await goTo(path);
      await expectAccessible(page);
    }
    expect(complaints).toEqual([]);
  });

  it('fits a phone of 390 px, in Spanish', async () => {
    const { page, goTo, complaints } = await open({ widthPx: 390, language: 'es-ES' });
    for (const path of PAGES) {
      await goTo(path);
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(390);
    }
    await page.getByRole('button', { name: 'Menú' }).click();
    await page.getByRole('link', { name: 'Cuentas' }).click();
    await page.getByRole('heading', { level: 1, name: 'Cuentas' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('adds an account, which a second browser sees, and deletes it', async () => {
    const [first, second] = [await open(), await open()];
    await Promise.all([first.goTo('accounts'), second.goTo('accounts')]);
    await first.page.getByRole('button', { name: 'Add account' }).click();
    await first.page.getByLabel('Name').fill('sales');
    await first.page.getByRole('dialog').getByRole('button', { name: 'Add account' }).click();
    const card = second.page.locator('.card', { hasText: 'sales' });
    await card.getByRole('img', { name: 'QR code that links a phone' }).waitFor();
    await expectAccessible(second.page);
    await card.getByRole('button', { name: 'Delete' }).click();
    await second.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await first.page.locator('.card', { hasText: 'sales' }).waitFor({ state: 'detached' });
    expect([...first.complaints, ...second.complaints]).toEqual([]);
  });

  it('says which route a message would take while it is typed, and switches a route off', async () => {
    const { page, goTo, complaints } = await open();
    await goTo('routes');
    await page.getByLabel('Message').fill('hello');
    await page.locator('.badge', { hasText: /^route$/ }).waitFor();
    await page.getByRole('button', { name: 'Switch off' }).click();
    await page.locator('.badge', { hasText: /^none$/ }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Switch on' }).click();
    await page.locator('.badge', { hasText: /^route$/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('finds a setting with its value and origin', async () => {
    const { page, goTo, complaints } = await open();
    await goTo('settings');
    await page.getByLabel('Find a setting').fill('WA2AI_NODE_ID');
    const row = page.getByRole('row', { name: /WA2AI_NODE_ID/ });
    await row.getByText('environment', { exact: true }).waitFor();
    await row.getByText('e2e', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('creates a key that works, shows it once, and revokes it', async () => {
    const { page, goTo, complaints } = await open();
    await goTo('keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByLabel('Name').fill('reports');
    await expectAccessible(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    const key = (await page.getByRole('dialog').locator('pre').textContent()) ?? '';
    const list = () =>
      fetch(`${bed.service.url}/api/messages`, { headers: { 'x-api-key': key } }).then(
        ({ status }) => status,
      );
    expect(await list()).toBe(200);
    await page.getByRole('button', { name: 'Done' }).click();
    await page
      .getByRole('row', { name: /reports/ })
      .getByRole('button', { name: 'Revoke' })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row', { name: /reports/ }).waitFor({ state: 'detached' });
    expect(await list()).toBe(401);
    await goTo('audit');
    await page
      .getByRole('row', { name: /createKey/ })
      .first()
      .waitFor();
    expect(complaints).toEqual([]);
  });
});
