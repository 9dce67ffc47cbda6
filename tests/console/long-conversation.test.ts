import pg from 'pg';
import type { Locator, Page } from 'playwright-core';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';
import { expectAccessible } from './browser.ts';
import { consolesOf } from './consoles.ts';

const MESSAGES = 10_000;
/** Bubbles of a window, and those around it. */
const MAX_LINES = 60;

let bed: TestBed;
let ana: Person;
let path: string;
const { open } = consolesOf(() => bed.service.url);
beforeAll(async () => {
  bed = await TestBed.startPaired();
  ana = bed.person({ name: 'Ana' });
  await ana.say('hello', { to: bed.phone });
  await ana.nextReply();
  const { body } = await bed.service.api('GET', `/api/chats?channelId=${ana.phone}`);
  const [{ id }] = body.data as [{ id: string }];
  path = `chats/${id}`;
  await insert(id, 'Message', MESSAGES);
}, 120_000);
afterAll(async () => {
  await bed?.close();
});

/** Stores messages of one to eight lines, about which no live event tells. */
async function insert(chatId: string, word: string, count: number): Promise<void> {
  const client = new pg.Client(bed.database.url);
  await client.connect();
  await client.query(sql`
    INSERT INTO message (account_id, chat_id, wa_message_id, sender_phone, kind, text, state, stanza_order, sent_at, received_at,
      finished_at)
    SELECT c.account_id, c.id, ${word} || n, c.phone, 'text', ${word} || ' ' || n || '.' || repeat(' It goes on and on.', (n % 23) * 2),
      'answered', n, at, at, at
    FROM chat c, generate_series(1, ${count}::integer) n
    CROSS JOIN LATERAL (SELECT now() - (${count}::integer - n) * interval '1 minute' AS at) AS t
    WHERE c.id = ${chatId}::bigint`);
  await client.end();
}

const lines = (page: Page) => page.locator('article.line');
const message = (page: Page, n: number) => lines(page).filter({ hasText: new RegExp(`Message ${n}\\.`) });

async function openConversation(page: Page, goTo: (path: string) => Promise<void>): Promise<Locator> {
  await goTo(path);
  const log = page.getByRole('log');
  await expect.poll(() => isInView(log, lines(page).last())).toBe(true);
  return log;
}

/** Whether a bubble can be seen. */
async function isInView(log: Locator, line: Locator): Promise<boolean> {
  if ((await line.count()) !== 1) return false;
  const [frame, box] = [await log.boundingBox(), await line.boundingBox()];
  return frame !== null && box !== null && box.y < frame.y + frame.height && box.y + box.height > frame.y;
}

/** The first bubble that can be seen as a whole, and where it is. */
async function firstInView(log: Locator): Promise<{ key: string; y: number }> {
  return log.evaluate((element) => {
    const { top } = element.getBoundingClientRect();
    const all = [...element.querySelectorAll('article.line')];
    const seen = all.map((line) => ({
      key: line.getAttribute('data-key') ?? '',
      y: line.getBoundingClientRect().top - top,
    }));
    return seen.filter(({ y }) => y >= 0).sort((a, b) => a.y - b.y)[0] ?? { key: '', y: 0 };
  });
}

const placeOf = (log: Locator, key: string) =>
  log.evaluate((element, wanted) => {
    const line = element.querySelector(`[data-key="${wanted}"]`);
    return line ? line.getBoundingClientRect().top - element.getBoundingClientRect().top : undefined;
  }, key);

const positionOf = async (log: Locator, key: string) =>
  Number(await log.locator(`[data-key="${key}"]`).getAttribute('aria-posinset'));

const scrollTo = (log: Locator, top: number) => log.evaluate((element, to) => element.scrollTo(0, to), top);

describe('a conversation of 10,000 messages', () => {
  it('keeps what is read in its place while earlier messages load', async () => {
    const { page, goTo } = await open();
    const log = await openConversation(page, goTo);
    const held: Array<() => void> = [];
    await page.route(/cursor=/, async (route) => {
      await new Promise<void>((resolve) => void held.push(resolve));
      await route.continue();
    });
    for (const top of [700, 300, 0]) {
      await scrollTo(log, top);
      await expect.poll(() => held.length).toBe(1);
      const { key, y } = await firstInView(log);
      const before = await positionOf(log, key);
      held.pop()?.();
      await expect.poll(() => positionOf(log, key)).toBeGreaterThan(before + 100);
      expect(Math.abs(((await placeOf(log, key)) ?? Number.NaN) - y)).toBeLessThan(2);
    }
  });

  it('shows the first and the last message with few bubbles in the document', async () => {
    const { page, goTo } = await open();
    const log = await openConversation(page, goTo);
    const counts: number[] = [];
    const first = message(page, 1);
    await expect
      .poll(
        async () => {
          await scrollTo(log, 0);
          counts.push(await lines(page).count());
          return first.count();
        },
        { timeout: 60_000, interval: 20 },
      )
      .toBe(1);
    await scrollTo(log, 0);
    await expect.poll(() => isInView(log, first)).toBe(true);
    expect(await first.getAttribute('aria-setsize')).toBe(String(MESSAGES + 2));
    await expectAccessible(page);
    // What comes meanwhile does not move what is read.
    const place = await placeOf(log, (await firstInView(log)).key);
    await ana.say('and another one', { to: bed.phone });
    await ana.nextReply();
    await page.getByRole('status').getByText('and another one').waitFor({ state: 'attached' });
    expect(await placeOf(log, (await firstInView(log)).key)).toBe(place);
    await log.focus();
    await page.keyboard.press('End');
    const last = lines(page).filter({ hasText: 'Echo: and another one' });
    await expect.poll(() => isInView(log, last)).toBe(true);
    await page.keyboard.press('Home');
    await expect.poll(() => isInView(log, first)).toBe(true);
    expect(Math.max(...counts, await lines(page).count())).toBeLessThan(MAX_LINES);
  });

  it('finds a message of long ago by its text, and shows it where it was written', async () => {
    const { page, goTo } = await open();
    const log = await openConversation(page, goTo);
    await page.getByRole('button', { name: 'Search in this chat' }).click();
    const panel = page.getByRole('complementary', { name: 'Search in this chat' });
    await page.keyboard.type('message 9500.');
    await panel.getByRole('button', { name: /Message 9500\./ }).click();
    const found = message(page, 9_500);
    await expect.poll(() => isInView(log, found)).toBe(true);
    expect(await found.getAttribute('class')).toContain('shown');
    await expectAccessible(page);
    await panel.getByRole('searchbox').fill('nobody wrote this');
    await panel.getByText('No message has this text.').waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    expect(await isInView(log, found)).toBe(true);
  });

  it('follows new messages at its end, and keeps the focus when its bubble is out of sight', async () => {
    const { page, goTo } = await open({ theme: 'dark', widthPx: 390 });
    const log = await openConversation(page, goTo);
    for (const text of ['one', 'two', `three ${'and more '.repeat(80)}`]) {
      await ana.say(text, { to: bed.phone });
      await ana.nextReply();
      const reply = lines(page).filter({ hasText: `Echo: ${text.trim()}` });
      await expect.poll(() => isInView(log, reply)).toBe(true);
    }
    await lines(page).getByRole('button', { name: 'Trace' }).last().focus();
    const focused = page.locator('.line :focus');
    await scrollTo(log, 1_000);
    await expect.poll(() => isInView(log, message(page, MESSAGES))).toBe(false);
    expect(await focused.count()).toBe(1);
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'Trace' }).waitFor();
  });

  it('has no gap when more came than it loads at once', async () => {
    const { page, goTo } = await open();
    const log = await openConversation(page, goTo);
    await insert(path.replace('chats/', ''), 'Unseen', 120);
    await ana.say('back again', { to: bed.phone });
    await ana.nextReply();
    await expect.poll(() => isInView(log, lines(page).filter({ hasText: 'Echo: back again' }))).toBe(true);
    const last = lines(page).filter({ hasText: /Unseen 1\./ });
    await expect
      .poll(
        async () => {
          await log.evaluate((element) => element.scrollBy(0, -400));
          return last.count();
        },
        { timeout: 30_000, interval: 20 },
      )
      .toBe(1);
  });
});
