import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TIME_BUCKETS } from '../../router/src/features/stats/stats-recorder.ts';
import { TestBed } from '../support/test-bed.ts';
import { expectAccessible } from './browser.ts';
import { consolesOf } from './consoles.ts';

let bed: TestBed;
const { open } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  bed = await TestBed.startPaired();
});
afterAll(async () => {
  await bed?.close();
});

/** Counts of the last three hours: two messages a minute, and one failure in it. */
async function addCounts(): Promise<void> {
  const times = `{${Array.from({ length: TIME_BUCKETS }, (_, bucket) => (bucket === 5 ? 2 : 0)).join()}}`;
  await bed.database.open().execute(sql`
    INSERT INTO stat (account_id, minutes, at, messages, answers, failures, times)
    SELECT 'default', m.minutes, date_trunc(m.unit, now()) - n * m.step, 2, 2, (n = 5)::integer, ${times}::integer[]
    FROM (VALUES (1, 'minute', interval '1 minute'), (60, 'hour', interval '1 hour')) AS m (minutes, unit, step),
      generate_series(1, 180) AS n
    ON CONFLICT DO NOTHING`);
}

describe('the page Start', () => {
  it('says what to do until the first answered message, then no more', async () => {
    const { page, goTo } = await open();
    await goTo('');
    const steps = page.getByRole('list').filter({ hasText: 'Say hello' });
    await steps.getByText('Link a phone').waitFor();
    expect(await steps.locator('.done').count()).toBe(2);
    expect(await steps.locator('[aria-current=step]').textContent()).toContain('Say hello');
    expect(await page.getByRole('link', { name: 'Try the playground' }).getAttribute('href')).toBe(
      '#/playground',
    );
    const ana = bed.person({ name: 'Ana' });
    await ana.say('hello', { to: bed.phone });
    await ana.nextReply();
    await steps.waitFor({ state: 'detached' });
  });

  it('shows counts and charts over three periods, each number a link', async () => {
    await addCounts();
    const { page, goTo } = await open();
    await goTo('');
    const figure = (name: string) => page.locator('.figure').filter({ hasText: name });
    await expect.poll(() => page.locator('.plot canvas').count()).toBe(3);
    expect(await page.locator('.figure').count()).toBe(4);
    expect(await figure('Failures').locator('strong').textContent()).toBe('1');
    // Two messages a minute in the hour before, and in this one those of the test too.
    expect(await figure('Messages').textContent()).toMatch(/Messages1\d\d[+-]?\d+% 120 before/);
    expect(await figure('Failures').textContent()).toBe('Failures10 before');
    await page.getByRole('button', { name: '24 hours' }).click();
    await expect.poll(() => page.getByRole('button', { name: '24 hours', pressed: true }).count()).toBe(1);
    await expect
      .poll(async () =>
        Number((await figure('Messages').first().locator('strong').textContent())?.replace(',', '')),
      )
      .toBeGreaterThanOrEqual(360);
    await page.getByRole('button', { name: '30 days' }).click();
    await expect
      .poll(() => page.getByRole('img', { name: /^Messages per minute: highest [\d.]+ at / }).count())
      .toBe(1);
    for (const [name, path, heading] of [
      ['Failures', '#/dead-letters', 'Dead letters'],
      ['Nodes', '#/settings/nodes', 'Settings'],
      ['Accounts connected', '#/accounts', 'Accounts'],
    ] as const) {
      await goTo('');
      await page.locator('main').getByRole('link', { name }).first().click();
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      expect(new URL(page.url()).hash).toBe(path);
    }
    await goTo('');
    await page
      .getByRole('list', { name: 'At this moment' })
      .getByRole('link', { name: /^Waiting/ })
      .click();
    await page.getByRole('listbox').or(page.getByText('No chat matches')).first().waitFor();
    expect(await page.getByLabel('Show', { exact: true }).inputValue()).toBe('unanswered');
  });

  it('weighs less than 150 KB at the first view, with charts', async () => {
    const { page, goTo } = await open();
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Network.enable');
    let bytes = 0;
    devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await goTo('');
    await page.locator('.plot canvas').last().waitFor();
    console.info(`first view of the console: ${(bytes / 1_000).toFixed(1)} KB`);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(150_000);
  });

  it('says the same as a chart in a table, and draws charts as wide as the window', async () => {
    await addCounts();
    const { page, goTo } = await open();
    await goTo('');
    const chart = page.locator('.charts .card').first();
    await chart.getByText('Show as a table').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => chart.getByRole('row').count()).toBe(60);
    await expectAccessible(page);
    await page.getByText('Show as a table').first().click();
    const canvas = page.locator('.plot canvas').first();
    await canvas.waitFor();
    await page.setViewportSize({ width: 420, height: 900 });
    await expect.poll(async () => (await canvas.boundingBox())?.width ?? 0).toBeLessThan(400);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(420);
  });

  it.each(['light', 'dark'] as const)('has no violation of axe in %s colours', async (theme) => {
    const { page, goTo } = await open({ theme });
    await goTo('');
    await page.locator('.plot canvas').first().waitFor();
    await expectAccessible(page);
    await page.getByLabel(/^Colours$/).selectOption(theme === 'light' ? 'dark' : 'light');
    await expectAccessible(page);
  });

  it('and every other page use a screen of 3,840 px without long lines', async () => {
    const { page, goTo } = await open({ widthPx: 3_840 });
    await goTo('');
    const links = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').all();
    const paths = await Promise.all(links.map((link) => link.getAttribute('href')));
    for (const path of paths) {
      await goTo((path ?? '').replace(/^#\//, ''));
      const widest = await page.evaluate<number>(
        "Math.max(0, ...[...document.querySelectorAll('main p, main li')].map((each) => each.offsetWidth))",
      );
      expect(widest, path ?? '').toBeLessThanOrEqual(1_440);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(3_840);
    }
  });
});
