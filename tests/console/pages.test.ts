import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { choose, expectAccessible, PAGES } from './browser.ts';
import { consolesOf } from './consoles.ts';

let bed: TestBed;
const { open } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  bed = await TestBed.startPaired();
});

afterAll(async () => {
  await bed?.close();
});

describe('the console', () => {
  it('opens from the address of the service', async () => {
    const { page } = await open();
    await page.goto(bed.service.url);
    await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
    expect(page.url()).toBe(`${bed.service.url}/console/`);
  });

  it.each([
    ['es-ES', 'Menú', 'Cuentas'],
    ['pt-BR', 'Menu', 'Contas'],
  ] as const)('fits a phone of 390 px, in %s', async (language, menu, accounts) => {
    const { page, goTo } = await open({ widthPx: 390, language });
    for (const path of PAGES) {
      await goTo(path);
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(390);
    }
    await page.getByRole('button', { name: menu }).click();
    await page.getByRole('link', { name: accounts }).click();
    await page.getByRole('heading', { level: 1, name: accounts }).waitFor();
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
    await choose(card, 'Delete');
    await second.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await first.page.locator('.card', { hasText: 'sales' }).waitFor({ state: 'detached' });
  });

  it('says which route a message would take while it is typed, and switches a route off', async () => {
    const { page, goTo } = await open();
    await goTo('routes');
    await page.getByLabel('Who writes').fill('+54 9 3777 239922');
    await page.getByLabel('Message').fill('hello');
    await page.locator('.badge', { hasText: /^answered$/ }).waitFor();
    const table = page.locator('.route-table');
    await choose(table, 'Switch off');
    await page.locator('.badge', { hasText: /^no answer$/ }).waitFor();
    await expectAccessible(page);
    await choose(table, 'Switch on');
    await page.locator('.badge', { hasText: /^answered$/ }).waitFor();
  });

  it('finds pages, chats, routes, settings and documentation by keyboard alone', async () => {
    const person = bed.person({ name: 'Zacarías' });
    await person.say('hello', { to: bed.phone });
    await person.nextReply();
    const routes = await bed.service.api('GET', '/api/routes');
    const { id } = (routes.body as { data: [{ id: string }] }).data[0];
    await bed.service.api('PATCH', `/api/routes/${id}`, { name: 'Support desk' });
    const { page, goTo } = await open();
    await goTo('');
    const field = page.getByRole('combobox', { name: /^Search pages/ });
    const chosen = () => page.locator('#search-results [aria-selected=true]');
    const search = async (key: string, words: string, wanted: RegExp) => {
      await page.keyboard.press(key);
      await field.waitFor();
      await page.keyboard.type(words);
      await page.getByRole('option', { name: wanted }).first().waitFor();
      for (let n = 0; !wanted.test((await chosen().textContent()) ?? ''); n++) {
        expect(n, `${wanted} is not reached`).toBeLessThan(30);
        await page.keyboard.press('ArrowDown');
      }
      expect(await chosen().getAttribute('id')).toBe(await field.getAttribute('aria-activedescendant'));
    };
    const opened = async (heading: string) => {
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      expect(await field.count()).toBe(0);
    };
    await search('Control+k', 'audit', /^Audit log/);
    await expectAccessible(page);
    await opened('Audit log');
    await search('/', 'support desk', /^Support desk/);
    await opened('Support desk');
    await search('Control+k', 'WA2AI_NODE_ID', /^WA2AI_NODE_ID/);
    await opened('Settings');
    expect(await page.getByLabel('Find a setting').inputValue()).toBe('WA2AI_NODE_ID');
    await page.getByLabel('Find a setting').press('/');
    expect(await field.count()).toBe(0);
    await search('Control+k', 'Zacar', /^Zacarías/);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toMatch(/#\/chats\/\d+$/);
    await search('Control+k', 'order of routes', /^Routes › Order of routes/);
    const [docs] = await Promise.all([page.waitForEvent('popup'), page.keyboard.press('Enter')]);
    expect(docs.url()).toBe(`${bed.service.url}/docs/routes.md#order-of-routes`);
    await page.bringToFront();
    await page.keyboard.press('Control+k');
    await field.waitFor();
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: /^Search Ctrl/ }).click();
    await field.waitFor();
  });

  it('has a link from each page to its page of the documentation, which can be searched', async () => {
    const { page, goTo } = await open({ widthPx: 390, theme: 'dark' });
    const seen = new Set<string>();
    for (const path of PAGES.filter((each) => !each.includes('/'))) {
      await goTo(path);
      const href = (await page.locator('.foot a').getAttribute('href')) ?? '';
      const [address = '', anchor] = href.split('#');
      const text = await (await fetch(address)).text();
      if (anchor !== undefined) expect(text, href).toContain(`id="${anchor}"`);
      seen.add(href);
    }
    expect(seen.size).toBe(PAGES.filter((each) => !each.includes('/')).length);
    await page.goto(`${bed.service.url}/docs/routes.md`);
    await page.getByRole('searchbox', { name: 'Search the documentation' }).fill('order of routes');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Search' }).waitFor();
    await expectAccessible(page);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await page.getByRole('link', { name: 'Routes › Order of routes' }).click();
    await page.getByRole('heading', { level: 1, name: 'Routes' }).waitFor();
    await expectAccessible(page);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  });

  it('finds a setting with its value and origin', async () => {
    const { page, goTo } = await open();
    await goTo('settings/environment');
    await page.getByLabel('Find a setting').fill('WA2AI_NODE_ID');
    const row = page.getByRole('row', { name: /WA2AI_NODE_ID/ });
    await row.getByText('Variable', { exact: true }).waitFor();
    await row.getByText('e2e', { exact: true }).waitFor();
  });

  it('creates a key that works, shows it once, and revokes it', async () => {
    const { page, goTo } = await open();
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
    await choose(page.getByRole('row', { name: /reports/ }), 'Revoke');
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row', { name: /reports/ }).waitFor({ state: 'detached' });
    expect(await list()).toBe(401);
    await goTo('audit');
    await page
      .getByRole('row', { name: /createKey/ })
      .first()
      .waitFor();
  });

  it('filters the audit log, names what entries are about, and goes to it', async () => {
    const { page, goTo } = await open();
    const { status, body } = await bed.service.api('POST', '/api/keys', {
      name: 'audited',
      scopes: ['messages:send'],
    });
    expect(status).toBe(201);
    const { id, key } = body.data as { id: string; key: string };
    await fetch(`${bed.service.url}/api/dead-letters/close`, {
      method: 'POST',
      headers: { 'x-api-key': key },
    });
    await goTo('audit');
    await page.getByLabel('Key', { exact: true }).selectOption('audited');
    const rows = page.getByRole('row', { name: /closeDeadLetters/ });
    await rows.waitFor();
    await page
      .getByRole('row', { name: /createKey/ })
      .first()
      .waitFor({ state: 'detached' });
    await page.getByLabel('Key', { exact: true }).selectOption('All');
    await page.getByLabel('About').fill(id);
    await page.getByText('More filters').click();
    await page.getByLabel('Outcome').fill('ok');
    await expectAccessible(page);
    await page
      .getByRole('row', { name: /createKey/ })
      .getByRole('link', { name: 'audited' })
      .click();
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
    await bed.service.api('DELETE', `/api/keys/${id}`);
  });
});
