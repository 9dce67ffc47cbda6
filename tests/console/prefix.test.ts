import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { openConsole, startBrowser } from './browser.ts';

const PREFIX = '/wa2ai';
const KEY = 'a-key-of-32-characters-for-tests';

let bed: TestBed;
let browser: Browser;
let proxy: Server;
let proxyUrl: string;
/** Paths outside of the prefix that the browser asked for. */
const outside: string[] = [];

/** A reverse proxy that serves wa2ai under a prefix and knows nothing else. */
async function startProxy(targetUrl: () => string): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? '/';
    if (!path.startsWith(`${PREFIX}/`)) {
      outside.push(path);
      outgoing.writeHead(404).end();
      return;
    }
    const { method, headers } = incoming;
    const url = new URL(path.slice(PREFIX.length), targetUrl());
    const passed = httpRequest(url, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** Of the file that a picture has loaded; 0: it has loaded none. */
const widthOf = (picture: Locator) =>
  picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth);

beforeAll(async () => {
  proxy = await startProxy(() => bed.service.url);
  proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${PREFIX}`;
  [bed, browser] = await Promise.all([TestBed.start(), startBrowser()]);
  await bed.startService({ WA2AI_API_KEY: KEY, WA2AI_PUBLIC_URL: proxyUrl });
});
afterAll(async () => {
  await browser?.close();
  await bed?.close();
  proxy.closeAllConnections();
  proxy.close();
});

describe('the console behind a proxy with a path prefix', () => {
  it('logs in, shows live changes, a link and a picture, and logs out', async () => {
    const { page, complaints, close } = await openConsole(browser, proxyUrl);
    await page.goto(`${proxyUrl}/console/#/accounts`);
    await page.getByLabel('Admin key').fill(KEY);
    await page.getByRole('button', { name: 'Log in with the admin key' }).click();
    await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
    expect(page.url()).toBe(`${proxyUrl}/console/`);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ name: 'wa2ai_session', path: PREFIX, httpOnly: true, sameSite: 'Strict' });
    await page.getByText('Live', { exact: true }).waitFor();

    await page.getByRole('link', { name: 'Link a phone' }).click();
    await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor();
    const picture = page.getByRole('img', { name: 'QR code that links a phone' }).first();
    await expect.poll(() => widthOf(picture)).toBeGreaterThan(100);
    await fetch(`${bed.service.url}/api/accounts`, {
      method: 'POST',
      headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'sales' }),
    });
    await page.getByRole('heading', { level: 2, name: 'sales' }).waitFor();

    await page.goto(`${proxyUrl}/qr`);
    await expect.poll(() => widthOf(page.locator('img.qr'))).toBeGreaterThan(100);
    await page.goto(`${proxyUrl}/console/`);
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('Admin key').waitFor();
    expect(new URL(page.url()).pathname).toBe(`${PREFIX}/`);
    expect(outside).toEqual([]);
    // The console asked for its data before there was a session.
    expect(complaints.filter((text) => !/401 \(Unauthorized\)/.test(text))).toEqual([]);
    await close();
  });
});
