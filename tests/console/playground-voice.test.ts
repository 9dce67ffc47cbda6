import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { FAKE_MICROPHONE, openConsole, startBrowser } from './browser.ts';

let bed: TestBed;
let browser: Awaited<ReturnType<typeof startBrowser>>;
beforeAll(async () => {
  [bed, browser] = await Promise.all([TestBed.start(), startBrowser(FAKE_MICROPHONE)]);
  // Without ffmpeg the service converts no recording to a voice note.
  await bed.startService({ WA2AI_FFMPEG: '/nowhere/ffmpeg' });
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await bed?.close();
});

it('records a voice message, which goes as a sound where nothing converts it', async () => {
  const { page, goTo, complaints, close } = await openConsole(browser, bed.service.url);
  await goTo('playground');
  await page.getByRole('button', { name: 'Use the echo agent' }).click();
  await page.getByRole('button', { name: 'Record a voice message' }).click();
  await page.getByText(/^Recording… \d+ s$/).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Record a voice message' }).click();
  await page.getByText(/^Recording… [1-9]\d* s$/).waitFor();
  await page.getByRole('button', { name: 'Send the recording' }).click();
  await page.locator('.bubble.person').filter({ hasText: '[audio: audio/mp4]' }).waitFor();
  await page.locator('.bubble.account').getByRole('button', { name: 'Show', exact: true }).click();
  await page.locator('.bubble.account audio').waitFor();
  // The browser complains of the status 422.
  expect(complaints).toEqual([expect.stringContaining('422')]);
  await close();
});
