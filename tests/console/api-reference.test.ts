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

/** The operations of the service, as its document has them. */
async function operationIds(): Promise<string[]> {
  const { body } = await bed.service.api('GET', '/openapi.json');
  const paths = body.paths as Record<string, Record<string, { operationId: string }>>;
  return Object.values(paths).flatMap((methods) => Object.values(methods).map((each) => each.operationId));
}

describe('the page API reference', () => {
  it('lists every operation of the document, and finds some', async () => {
    const { page, goTo } = await open();
    await goTo('api');
    const ids = await operationIds();
    await expect.poll(() => page.locator('.api-list a').count()).toBe(ids.length);
    await page.getByLabel('Find an operation').fill('delete webhook');
    await page.getByRole('link', { name: /DELETE \/api\/webhooks\/\{id\}/ }).waitFor();
    expect(await page.locator('.api-list a').count()).toBe(1);
    await page.getByLabel('Find an operation').fill('no such thing');
    await page.getByRole('heading', { name: 'No operation fits' }).waitFor();
  });

  it('shows every operation without an error', async () => {
    const { page, goTo } = await open();
    await goTo('api');
    for (const id of await operationIds()) {
      await page.goto(`${bed.service.url}/console/#/api/${id}`);
      await page.locator('.api-path').waitFor();
      await page.getByRole('heading', { name: 'Responses' }).waitFor();
    }
  });

  it('calls operations with the session of the browser', async () => {
    const { page, goTo } = await open();
    await goTo('api/createRoute');
    await page.getByText('routes:write', { exact: true }).waitFor();
    await page.getByLabel('Body as JSON').fill('{ "channelId": ');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('alert').getByText('The body is not JSON.').waitFor();
    const route = { channelId: '*', agentEndpoint: bed.agent.url, config: { adk: { appName: 'echo' } } };
    await page.getByLabel('Body as JSON').fill(JSON.stringify(route));
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await page.locator('.badge', { hasText: '201' }).waitFor();
    await page.getByRole('region', { name: 'Answer' }).getByText('"Route created."').waitFor();
    await expectAccessible(page);

    await goTo('api/getRoute');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('alert').getByText('id is missing.').waitFor();
    await page.getByLabel('id', { exact: true }).fill('*');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('.badge', { hasText: '200' }).waitFor();
    await page.getByText('The same with curl').click();
    await page.getByText(`curl -X GET '${bed.service.url}/api/routes/*'`).waitFor();
  });

  it.each(['light', 'dark'] as const)('is accessible and fits a phone, %s', async (theme) => {
    const [wide, narrow] = [await open({ theme }), await open({ theme, widthPx: 390, language: 'es-ES' })];
    for (const path of ['api', 'api/sendMessage', 'api/listMessages']) {
      for (const { page, goTo } of [wide, narrow]) {
        await goTo(path);
        for (const summary of await page.locator('summary').all()) await summary.click();
        await expectAccessible(page);
      }
      expect(await narrow.page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(
        390,
      );
    }
  });
});
