import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { choose, expectAccessible } from './browser.ts';
import { consolesOf } from './consoles.ts';

let bed: TestBed;
let receiver: WebhookReceiver;
const { open } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  [bed, receiver] = await Promise.all([TestBed.startPaired(), WebhookReceiver.start()]);
});
afterAll(async () => {
  await receiver?.stop();
  await bed?.close();
});

describe('the page Webhooks', () => {
  it('adds a webhook, shows its secret once, tests it, edits it and switches it off', async () => {
    const { page, goTo, complaints } = await open();
    await goTo('webhooks');
    await page.getByRole('heading', { name: 'No webhook yet' }).waitFor();
    await page.getByRole('button', { name: 'Add webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Address').fill('ftp://example.com');
    await dialog.getByRole('button', { name: 'Add webhook' }).click();
    // The browser itself accepts the address; the service names the field.
    await dialog.getByRole('alert').getByText('url', { exact: true }).waitFor();
    await dialog.getByLabel('Address').fill(receiver.url);
    await dialog.getByLabel('delivery', { exact: true }).check();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Add webhook' }).click();
    const secret = (await dialog.locator('pre').textContent()) ?? '';
    expect(secret).toMatch(/^[\w-]{43}$/);
    await dialog.getByRole('button', { name: 'Done' }).click();
    const row = page.getByRole('row', { name: new RegExp(receiver.url) });
    expect(await page.content()).not.toContain(secret);

    await choose(row, 'Test');
    await page.getByText('The receiver accepted the test event with status 200.').waitFor();
    expect(receiver.all.at(-1)?.body).toMatchObject({ event: 'test' });

    await choose(row, 'Edit');
    await dialog.getByLabel('message', { exact: true }).uncheck();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.locator('.badge', { hasText: /^message$/ }).waitFor({ state: 'detached' });
    await choose(row, 'Switch off');
    await row.locator('.badge', { hasText: /^off$/ }).waitFor();
    await choose(row, 'Delete');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'No webhook yet' }).waitFor();
    // The browser reports the address that the service refused.
    expect(complaints.splice(0)).toEqual([expect.stringContaining('status of 400')]);
  });

  it('says until when a webhook pauses whose receiver fails, and for what each event waits', async () => {
    receiver.answer = () => 500;
    const { body } = await bed.service.api('POST', '/api/webhooks', {
      url: receiver.url,
      events: ['message'],
    });
    const { id } = body.data as { id: string };
    const { page, goTo } = await open();
    await goTo(`webhooks/${id}`);
    const ana = bed.person();
    for (const text of ['one', 'two', 'three']) await ana.say(text, { to: bed.phone });
    await page.getByText('3 events wait').waitFor();
    await expect.poll(() => page.getByText('after an earlier event of its chat').count()).toBe(2);
    // As after many failures: the next one is followed by a long pause.
    await bed.database.open().execute(sql`UPDATE webhook SET failures = 20 WHERE id = ${id}`);
    await page.getByText(/^2\d failed attempts$/).waitFor();
    await page.getByText(/^Next attempt: in /).waitFor();
    await expect.poll(() => page.getByRole('row', { name: /next attempt: in / }).count()).toBe(1);
    await expectAccessible(page);
    receiver.answer = () => 200;
    await bed.service.api('PATCH', `/api/webhooks/${id}`, { enabled: false });
    await expect.poll(() => page.getByText('when the webhook is on again').count()).toBe(3);
    await bed.service.api('PATCH', `/api/webhooks/${id}`, { enabled: true });
    await expect.poll(() => page.locator('.badge', { hasText: /^delivered$/ }).count()).toBe(3);
    await expect.poll(() => page.getByText(/events wait/).count()).toBe(0);
    await bed.service.api('DELETE', `/api/webhooks/${id}`);
  });

  it.each(['light', 'dark'] as const)(
    'shows what became of events, and sends one again, %s',
    async (theme) => {
      receiver.answer = ({ body }) => (body.event === 'test' ? 500 : 400);
      const postgres = bed.database.open();
      const created = await bed.service.api('POST', '/api/webhooks', {
        url: `${receiver.url}?${theme}`,
        events: ['message'],
      });
      const { id } = created.body.data as { id: string };
      const [wide, narrow] = [await open({ theme }), await open({ theme, widthPx: 390, language: 'es-ES' })];
      const { page, goTo } = wide;
      await goTo('webhooks');
      await page.getByRole('link', { name: `${receiver.url}?${theme}` }).click();
      await page.getByRole('heading', { level: 1, name: receiver.url }).waitFor();
      await page.getByRole('heading', { name: 'No events yet' }).waitFor();
      const ana = bed.person();
      await ana.say('hello', { to: bed.phone });
      await ana.nextReply();
      const row = page.getByRole('row', { name: /message/ });
      await row.getByText('waiting', { exact: true }).waitFor();
      await row.getByText('status 400', { exact: true }).waitFor();
      // Its day is over: the next attempt is the last one.
      await postgres.execute(sql`
        UPDATE webhook_delivery SET queued_at = now() - interval '25 hours', due_at = now() WHERE state = 'pending'`);
      await row.getByText('given up', { exact: true }).waitFor();
      await expectAccessible(page);
      await narrow.goTo(`webhooks/${id}`);
      await narrow.page.locator('.badge', { hasText: 'abandonado' }).waitFor();
      await expectAccessible(narrow.page);
      expect(await narrow.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);

      await choose(page, 'Test');
      await page.getByText(/The test event was not accepted: .*500/).waitFor();
      receiver.answer = () => 200;
      await row.getByRole('button', { name: 'Send again' }).click();
      await row.getByText('delivered', { exact: true }).waitFor();
      await page.getByLabel('Show', { exact: true }).selectOption('dead');
      await page.getByRole('heading', { name: 'No events yet' }).waitFor();
      await bed.service.api('DELETE', `/api/webhooks/${id}`);
    },
  );
});
