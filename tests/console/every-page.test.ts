import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { expectAccessible } from './browser.ts';
import { consolesOf } from './consoles.ts';

let bed: TestBed;
const { open } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  bed = await TestBed.start();
  await bed.startService();
});
afterAll(async () => {
  await bed?.close();
});

describe('the console in short', () => {
  it('opens every page of the navigation, each without a complaint and accessible', async () => {
    const { page, goTo } = await open();
    await goTo('');
    const links = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').all();
    const paths = await Promise.all(links.map((link) => link.getAttribute('href')));
    expect(paths.length).toBeGreaterThan(7);
    for (const path of paths) {
      await goTo((path ?? '').replace(/^#\//, ''));
      await expectAccessible(page);
    }
  });

  it.each([600, 700, 900])(
    'shows the state below the pages in a window of %i pixels, not over them',
    async (height) => {
      const { page, goTo } = await open();
      await page.setViewportSize({ width: 1280, height });
      await goTo('');
      const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
      const last = await links.last().boundingBox();
      const foot = await page.locator('.foot').boundingBox();
      expect(foot?.y).toBeGreaterThanOrEqual((last?.y ?? Number.NaN) + (last?.height ?? Number.NaN));
    },
  );

  it('can be used with the keyboard alone', async () => {
    const { page, goTo } = await open();
    await goTo('');
    const focused = () => page.evaluate<string>('document.activeElement?.textContent?.trim() ?? ""');
    const tabTo = async (name: RegExp) => {
      for (let steps = 0; steps < 150; steps += 1) {
        await page.keyboard.press('Tab');
        if (name.test(await focused())) return;
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    // The first stop leads to the content.
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await focused()).toBe('Start');
    for (const name of ['Accounts', 'Routes', 'Settings']) {
      await page.evaluate('document.activeElement.blur()');
      await page.evaluate('scrollTo(0, 0)');
      await tabTo(new RegExp(`^${name}$`));
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name }).waitFor();
      // The heading of the page that was opened has the focus.
      await expect.poll(focused).toBe(name);
    }
    await tabTo(/^Sending$/);
    await page.keyboard.press('Enter');
    await page.locator('[data-setting="firstContacts.perDay"]').waitFor();
    await tabTo(/^NPC server$/);
    const isInField = () =>
      page.evaluate<boolean>('!!document.activeElement.closest(\'[data-setting="firstContacts.perDay"]\')');
    for (let steps = 0; !(await isInField()); steps += 1) {
      expect(steps).toBeLessThan(20);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.type('40');
    await page.keyboard.press('Enter');
    await page.getByText('Saved.', { exact: true }).waitFor();
    const { body } = await bed.service.api('GET', '/api/settings/governor');
    expect(body.data).toMatchObject({ stored: { firstContacts: { perDay: 40 } } });
    await page.evaluate('document.activeElement.blur()');
    await tabTo(/^Accounts$/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor();
    await tabTo(/^Add account$/);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});
