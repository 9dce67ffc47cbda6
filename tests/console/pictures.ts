import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { repositoryRoot } from '../support/repository.ts';

const FOLDER = join(repositoryRoot, 'dist/pictures');

/** What is different in each run: times, durations, ports and charts. */
const VARYING =
  'time, p:has(> time), code, canvas, img, [role=img], .badge.bad, .chat-time, .timeline-head .hint, .timeline-bar, .bubble-meta, td .hint';

/**
 * Compares two pictures in the page, outside of what varies: the second one in grey, with the pixels that differ in red, as
 * base64; undefined when none does. Not `<img>`, which the content security policy would refuse.
 */
const DIFFERENCE = `async ([before, now]) => {
  const bitmaps = await Promise.all([before, now].map(async (base64) =>
    createImageBitmap(new Blob([Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))]))));
  const width = Math.max(...bitmaps.map((each) => each.width));
  const height = Math.max(...bitmaps.map((each) => each.height));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const addresses = [...document.querySelectorAll('input')].filter((each) => each.value.includes('127.0.0.1'));
  const varying = [...document.querySelectorAll('${VARYING}'), ...addresses].map((each) => each.getBoundingClientRect());
  const [old, current] = bitmaps.map((bitmap) => {
    context.clearRect(0, 0, width, height);
    context.drawImage(bitmap, 0, 0);
    for (const { x, y, width, height } of varying) {
      // The earlier text may have been longer, on either side.
      context.clearRect(x + scrollX - 40, y + scrollY - 2, width + 80, height + 4);
    }
    return context.getImageData(0, 0, width, height);
  });
  let found = 0;
  for (let at = 0; at < current.data.length; at += 4) {
    const isSame = [0, 1, 2].every((part) => Math.abs(old.data[at + part] - current.data[at + part]) < 8);
    const grey = 160 + current.data[at + 1] / 3;
    current.data.set(isSame ? [grey, grey, grey, 255] : [220, 0, 0, 255], at);
    if (!isSame) found += 1;
  }
  if (found === 0) return undefined;
  context.putImageData(current, 0, 0);
  const bytes = new Uint8Array(await (await canvas.convertToBlob()).arrayBuffer());
  let text = '';
  for (const each of bytes) text += String.fromCharCode(each);
  return btoa(text);
}`;

/**
 * Keeps a picture of the page as it is now, as `dist/pictures/NAME.png`. When that of the run before looks different, it is kept
 * as `NAME.before.png`, and `NAME.difference.png` shows where.
 * @returns whether it looks different
 */
export async function keepPicture(page: Page, name: string): Promise<boolean> {
  mkdirSync(FOLDER, { recursive: true });
  const [now, before, difference] = ['', '.before', '.difference'].map((end) =>
    join(FOLDER, `${name}${end}.png`),
  ) as [string, string, string];
  const picture = await page.screenshot({ fullPage: true, animations: 'disabled' });
  const earlier = existsSync(now) ? readFileSync(now) : undefined;
  writeFileSync(now, picture);
  for (const path of [before, difference]) rmSync(path, { force: true });
  if (!earlier || earlier.equals(picture)) return false;
  const pair = JSON.stringify([earlier, picture].map((each) => each.toString('base64')));
  const shown = (await page.evaluate(`(${DIFFERENCE})(${pair})`)) as string | undefined;
  if (shown === undefined) return false;
  writeFileSync(before, earlier);
  writeFileSync(difference, Buffer.from(shown, 'base64'));
  return true;
}
