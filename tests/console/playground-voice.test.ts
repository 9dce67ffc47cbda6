import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { FAKE_MICROPHONE } from './browser.ts';
import { consolesOf } from './consoles.ts';

let bed: TestBed;
const { open, mayComplain } = consolesOf(() => bed.service.url, FAKE_MICROPHONE);
beforeAll(async () => {
  bed = await TestBed.start();
  // Without ffmpeg the service converts no recording to a voice note.
  await bed.startService({ WA2AI_FFMPEG: '/nowhere/ffmpeg' });
}, 120_000);
afterAll(async () => {
  await bed?.close();
});

it('records a voice message, which goes as a sound where nothing converts it', async () => {
  const { page, goTo } = await open();
  await goTo('playground');
  await page.getByRole('button', { name: 'Use the echo agent' }).click();
  await page.getByRole('button', { name: 'Record a voice message' }).click();
  await page.getByText(/^Recording… \d+ s$/).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Record a voice message' }).click();
  await page.getByText(/^Recording… [1-9]\d* s$/).waitFor();
  mayComplain(/status of 422 /);
  await page.getByRole('button', { name: 'Send the recording' }).click();
  await page.locator('.bubble.person').filter({ hasText: '[audio: audio/mp4]' }).waitFor();
  const player = page.locator('.bubble.account audio');
  // Nothing is loaded before it plays.
  const loaded = () => player.evaluate((element) => (element as unknown as Sound).readyState);
  expect(await loaded()).toBe(0);
  await player.evaluate((element) => (element as unknown as Sound).play());
  await expect.poll(loaded).toBeGreaterThan(0);
});

/** What the test uses of a player. */
interface Sound {
  readyState: number;
  play(): Promise<void>;
}
