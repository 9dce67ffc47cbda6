import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { seedChats } from '../support/seed-chats.ts';
import { TestBed } from '../support/test-bed.ts';
import { choose, expectAccessible, type OpenConsole } from './browser.ts';
import { consolesOf } from './consoles.ts';

const PASSWORDS = { ana: 'correct horse battery', vera: 'staple of the battery' };

let bed: TestBed;
const { open, mayComplain } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  bed = await TestBed.start();
  await bed.startService();
  await seedChats(bed.database.url, { chats: 1, messages: 1 });
});
// The service refuses what the tests ask for.
beforeEach(() => mayComplain(/status of 4\d\d /));
afterAll(async () => {
  await bed?.close();
});

async function logIn(
  shown: OpenConsole,
  name: keyof typeof PASSWORDS,
  password: string = PASSWORDS[name],
): Promise<void> {
  await shown.page.goto(bed.service.url);
  await shown.page.getByLabel('Name').fill(name);
  await shown.page.getByLabel('Password').fill(password);
  await shown.page.getByRole('button', { name: 'Log in' }).click();
}

const links = (page: Page) =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();

// One story: the first owner, then a viewer, then the end of the viewer's session.
describe('the page Users', () => {
  it('adds the first owner, who is signed in from then on', async () => {
    const shown = await open();
    const { page, goTo } = shown;
    await goTo('users');
    await page.getByText('No login is set up').waitFor();
    await page.getByRole('button', { name: 'Add user' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('ana');
    await dialog.getByLabel('Password').fill('too short');
    await dialog.getByRole('button', { name: 'Add user' }).click();
    await dialog.getByRole('alert').getByText('password', { exact: true }).waitFor();
    await expectAccessible(page);
    await dialog.getByLabel('Password').fill(PASSWORDS.ana);
    await dialog.getByRole('button', { name: 'Add user' }).click();
    await page.getByText('You are signed in as ana.').waitFor();
    await page.getByText('this browser', { exact: true }).waitFor();
    expect(await page.getByText('No login is set up').count()).toBe(0);
    expect(await fetch(`${bed.service.url}/api/routes`).then(({ status }) => status)).toBe(401);
  });

  it('lets an owner add a viewer, who sees no actions that the role does not allow', async () => {
    const [owner, viewer] = [await open(), await open()];
    await logIn(owner, 'ana');
    await owner.page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
    await owner.goTo('users');
    await owner.page.getByRole('button', { name: 'Add user' }).click();
    const dialog = owner.page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('vera');
    await dialog.getByLabel('Role').selectOption('viewer');
    await dialog.getByText('changes nothing and sees no QR codes').waitFor();
    await dialog.getByLabel('Password').fill(PASSWORDS.vera);
    await dialog.getByRole('button', { name: 'Add user' }).click();
    await owner.page.getByRole('row', { name: /vera/ }).waitFor();
    expect(await links(owner.page)).toEqual(expect.arrayContaining(['Keys', 'Audit log', 'Webhooks']));

    await logIn(viewer, 'vera', 'a wrong password');
    await viewer.page.getByRole('alert').getByText('The name or the password is wrong').waitFor();
    await expectAccessible(viewer.page);
    await logIn(viewer, 'vera');
    await viewer.page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
    await expect.poll(() => links(viewer.page)).toContain('Routes');
    // An account waits for a phone, and a viewer cannot link one.
    await expect.poll(() => links(owner.page)).toContain('Start1 1 thing waits for you.');
    await viewer.page.getByText('Nothing needs you.').waitFor();
    const shown = await links(viewer.page);
    expect(shown).toContain('Start');
    for (const hidden of ['Keys', 'Audit log', 'Settings', 'Webhooks']) expect(shown).not.toContain(hidden);
    await viewer.goTo('routes');
    await viewer.page.getByRole('heading', { name: /./ }).first().waitFor();
    expect(await viewer.page.getByRole('button', { name: 'Add route' }).count()).toBe(0);
    await viewer.goTo('accounts');
    expect(await viewer.page.getByRole('button', { name: 'Add account' }).count()).toBe(0);
    await viewer.goTo('users');
    await viewer.page.getByText('You are signed in as vera.').waitFor();
    expect(await viewer.page.getByRole('button', { name: 'Add user' }).count()).toBe(0);
    expect(await viewer.page.getByText('admin key').count()).toBe(0);
    await expectAccessible(viewer.page);
    await viewer.goTo('keys');
    await viewer.page.getByRole('heading', { name: 'Your role does not allow this page' }).waitFor();
    await expectAccessible(viewer.page);
    const refused = await viewer.page.evaluate(`fetch('${bed.service.url}/api/routes', { method: 'POST',
      headers: { 'content-type': 'application/json', 'x-wa2ai-csrf': '1' }, body: '{}' }).then(({ status }) => status)`);
    expect(refused).toBe(403);
    const withoutProof =
      await owner.page.evaluate(`fetch('${bed.service.url}/api/users/vera', { method: 'DELETE' })
      .then(async (response) => [response.status, (await response.json()).code])`);
    expect(withoutProof).toEqual([403, 'CSRF_HEADER_MISSING']);
  });

  it('ends a session of another browser, changes a role, and changes one’s own password', async () => {
    const [owner, viewer] = [await open(), await open()];
    await logIn(owner, 'ana');
    await logIn(viewer, 'vera');
    await viewer.page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
    const { page, goTo } = owner;
    await goTo('users');
    const sessions = page.getByRole('table', { name: 'Sessions' });
    const before = await sessions.getByRole('row', { name: /vera/ }).count();
    await choose(sessions.getByRole('row', { name: /vera/ }).last(), 'End session');
    await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
    await expect.poll(() => sessions.getByRole('row', { name: /vera/ }).count()).toBe(before - 1);
    // Its page goes to the login form by itself.
    await viewer.page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor();

    const people = page.getByRole('table', { name: 'People' });
    await choose(people.getByRole('row', { name: /vera/ }), 'Edit');
    await page.getByRole('dialog').getByLabel('Role').selectOption('operator');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await people.getByRole('row', { name: /vera operator/ }).waitFor();
    await logIn(viewer, 'vera');
    await expect.poll(() => links(viewer.page)).toContain('Webhooks');
    await choose(people.getByRole('row', { name: /ana/ }), 'Disable');
    await page.getByText('This is the last owner who can sign in.').waitFor();

    // With a session too, a person writes in a chat by hand.
    await viewer.goTo('chats');
    await viewer.page.locator('.virtual-row').first().click();
    await viewer.page.getByLabel('Write to Person 1').fill('Maria here.');
    await viewer.page.getByRole('button', { name: 'Send', exact: true }).click();
    await viewer.page.getByRole('log').getByText('Maria here.').waitFor();

    await viewer.goTo('users');
    await viewer.page.getByLabel('Current password').fill('not this one');
    await viewer.page.getByLabel('New password').fill('another good battery');
    await viewer.page.getByRole('button', { name: 'Change password' }).click();
    await viewer.page.getByRole('alert').getByText('The current password is wrong.').waitFor();
    await viewer.page.getByLabel('Current password').fill(PASSWORDS.vera);
    await viewer.page.getByRole('button', { name: 'Change password' }).click();
    await viewer.page.getByText('Password changed.').waitFor();
    await viewer.page.getByRole('button', { name: 'Log out' }).click();
    await viewer.page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor();
    await logIn(viewer, 'vera', 'another good battery');
    await viewer.page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();

    await choose(people.getByRole('row', { name: /vera/ }), 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await people.getByRole('row', { name: /vera/ }).waitFor({ state: 'detached' });
    await viewer.page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor();
  });

  it.each(['light', 'dark'] as const)(
    'is accessible and fits a phone, as does the login form, %s',
    async (theme) => {
      const wide = await open({ theme });
      const narrow = await open({ theme, widthPx: 390, language: 'es-ES' });
      await narrow.page.goto(bed.service.url);
      await narrow.page.getByRole('heading', { level: 1, name: 'Iniciar sesión' }).waitFor();
      await expectAccessible(narrow.page);
      expect(await narrow.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
      await narrow.page.getByLabel('Nombre').fill('ana');
      await narrow.page.getByLabel('Contraseña').fill(PASSWORDS.ana);
      await narrow.page.keyboard.press('Enter');
      await narrow.page.getByRole('heading', { level: 1, name: 'Inicio' }).waitFor();
      await logIn(wide, 'ana');
      await wide.page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
      for (const { page, goTo } of [wide, narrow]) {
        await goTo('users');
        await page.locator('summary').click();
        await expectAccessible(page);
      }
      expect(await narrow.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    },
  );
});
