import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { expectAccessible, type OpenConsole } from './browser.ts';
import { consolesOf } from './consoles.ts';

let bed: TestBed;
const { open, mayComplain } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  bed = await TestBed.startPaired();
  await bed.converse({});
}, 120_000);
afterAll(async () => {
  await bed?.close();
});

/** What a list of the API has. */
async function listed(path: string): Promise<Array<{ id: string }>> {
  const { body } = await bed.service.api('GET', path);
  return body.data as Array<{ id: string }>;
}

/** How each element of the page looks, without what depends on texts and on the size of the window. */
const LOOKS = `[...document.querySelectorAll('main *')].map((element) => {
  const style = getComputedStyle(element);
  const names = ['display', 'position', 'flexDirection', 'flexWrap', 'listStyleType', 'fontSize', 'fontWeight',
    'color', 'backgroundColor', 'textDecorationLine', 'whiteSpace', 'borderTopWidth', 'borderRadius',
    'paddingTop', 'paddingLeft', 'marginTop', 'marginBottom', 'columnGap', 'overflowX', 'alignItems'];
  return element.tagName + '.' + element.getAttribute('class') + ' ' + names.map((name) => style[name]).join('|');
})`;

const looksOf = async (page: Page) => [...new Set(await page.evaluate<string[]>(LOOKS))].sort();

/** Opens the trace of the message that a person of the playground wrote. */
async function openTrace({ page }: OpenConsole): Promise<void> {
  const trace = page.getByRole('complementary', { name: 'Trace' });
  const button = page.getByRole('button', { name: 'Trace' }).first();
  await button.waitFor();
  // Where the message was written, its trace is open already.
  if ((await trace.count()) === 0) await button.click();
  await trace.getByRole('listitem').first().waitFor();
}

async function aPlaygroundChat(shown: OpenConsole): Promise<string> {
  const { page, goTo } = shown;
  await goTo('playground');
  await page.getByRole('button', { name: 'Use the echo agent' }).click();
  await page.getByLabel('Write as Ana', { exact: true }).fill('hello *you*');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.locator('.bubble.person').filter({ hasText: 'hello' }).waitFor();
  return new URL(page.url()).hash.replace(/^#\//, '');
}

describe('a page of the console', () => {
  it('looks the same first and after every other page, with a trace too', async () => {
    const long = await open();
    const chat = await aPlaygroundChat(long);
    const links = await long.page.getByRole('navigation', { name: 'Pages' }).getByRole('link').all();
    const hrefs = await Promise.all(links.map((link) => link.getAttribute('href')));
    // Nothing of a page is under the pointer.
    await long.page.mouse.move(0, 0);
    const paths = hrefs.map((href) => (href ?? '').replace(/^#\//, ''));
    expect(paths.length).toBeGreaterThan(7);
    for (const path of paths) await long.goTo(path);
    for (const path of [...paths, chat]) {
      const fresh = await open();
      await Promise.all([fresh.goTo(path), long.goTo(path)]);
      if (path === chat) for (const each of [fresh, long]) await openTrace(each);
      const differences = async () => {
        const [first, later] = await Promise.all([looksOf(fresh.page), looksOf(long.page)]);
        return [
          ...first.filter((look) => !later.includes(look)),
          ...later.filter((look) => !first.includes(look)),
        ];
      };
      await expect.poll(differences, { message: `#/${path}`, timeout: 10_000 }).toEqual([]);
    }
  }, 120_000);

  it('opens the dialog of a new chat in the middle, not over the navigation', async () => {
    const shown = await open();
    await aPlaygroundChatAgain(shown);
    const { page } = shown;
    await page.getByRole('button', { name: 'New chat' }).first().click();
    const box = await page.getByRole('dialog').boundingBox();
    expect(box?.x).toBeGreaterThan(200);
    expect(Math.abs((box?.x ?? 0) + (box?.width ?? 0) / 2 - 640)).toBeLessThan(20);
  });

  it('shows the marks of WhatsApp as a phone does', async () => {
    const { page, goTo } = await open();
    await goTo('playground');
    await page.locator('.play-chat').first().click();
    await page.locator('.bubble.account strong').filter({ hasText: 'you' }).waitFor();
  });

  it('finds the chats that wait for the owner by the filter', async () => {
    const eve = bed.person({ name: 'Eve' });
    await eve.say('hello', { to: bed.phone });
    await eve.nextReply();
    const [found] = await listed(`/api/chats?channelId=${eve.phone}`);
    await bed.service.api('POST', `/api/chats/${found?.id}/pause`, { mode: 'approve' });
    const { page, goTo } = await open();
    await goTo('chats');
    await page.getByLabel('Show').selectOption('pending');
    await eve.say('when do you open?', { to: bed.phone });
    await expect.poll(() => page.locator('.virtual-row').count()).toBe(1);
    expect(await page.locator('.virtual-row').textContent()).toContain('Eve');
    await expectAccessible(page);
  });

  it('keeps the name and the time of a chat in the first line, however many badges it has', async () => {
    const [found] = await listed('/api/chats?waiting=true');
    const tags = ['wholesale', 'madrid'];
    await bed.service.api('PUT', `/api/chats/${found?.id}/tags`, { tags });
    const { page, goTo } = await open();
    await goTo('chats');
    const name = page.locator('.chat-name').filter({ hasText: /^Eve$/ });
    const row = page.locator('.virtual-row').filter({ has: name });
    await row.getByText('wholesale').waitFor();
    const [named, time, last] = await Promise.all(
      ['.chat-name', '.chat-time', '.chat-last'].map((part) => row.locator(part).boundingBox()),
    );
    expect(named?.y).toBe(time?.y);
    expect(named?.width).toBeGreaterThan(120);
    expect(last?.width).toBeGreaterThan(100);
    expect((time?.x ?? 0) - (named?.x ?? 0)).toBeGreaterThan(120);
  });

  it('asks before it leaves a form with unsaved changes', async () => {
    const { page, goTo } = await open();
    await goTo('routes');
    const [found] = await listed('/api/routes');
    await goTo(`routes/${found?.id}`);
    const field = page.getByLabel('Name', { exact: true });
    await field.fill('Night shift');
    const questions: string[] = [];
    let isLeft = false;
    page.on('dialog', (dialog) => {
      questions.push(dialog.message());
      void (isLeft ? dialog.accept() : dialog.dismiss());
    });
    const chats = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^Chats/ });
    await chats.click();
    await expect
      .poll(() => questions)
      .toEqual(['This page has changes that are not saved. Leave without saving them?']);
    expect(await field.inputValue()).toBe('Night shift');
    expect(page.url()).toContain('#/routes/');
    isLeft = true;
    await chats.click();
    await page.getByRole('heading', { level: 1, name: 'Chats' }).waitFor();
    await goTo(`routes/${found?.id}`);
    expect(questions).toHaveLength(2);
    await page.getByLabel('Name', { exact: true }).fill('Day shift');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Routes' }).waitFor();
    await chats.click();
    await page.getByRole('heading', { level: 1, name: 'Chats' }).waitFor();
    expect(questions).toHaveLength(2);
  });

  it('asks before it closes a dialog, or leaves a chat, in which something is written', async () => {
    const { page, goTo } = await open();
    const questions: string[] = [];
    let isLeft = false;
    page.on('dialog', (question) => {
      questions.push(question.message());
      void (isLeft ? question.accept() : question.dismiss());
    });
    const asked = () => questions.splice(0).length;
    await goTo('webhooks');
    const dialog = page.getByRole('dialog');
    const address = dialog.getByLabel('Address');
    const begin = async () => {
      await page.getByRole('button', { name: 'Add webhook' }).first().click();
      // An Escape before it is open would close nothing.
      await address.waitFor();
    };
    await begin();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(asked()).toBe(0);
    await begin();
    await address.fill('https://example.com/hook');
    for (const leave of [
      () => page.keyboard.press('Escape'),
      () => page.keyboard.press('Escape'),
      () => dialog.getByRole('button', { name: 'Close', exact: true }).click(),
      () => page.evaluate("location.hash = '#/keys'"),
    ]) {
      await leave();
      await expect.poll(asked).toBe(1);
      expect(await address.inputValue()).toBe('https://example.com/hook');
    }
    isLeft = true;
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await goTo('keys');
    expect(asked()).toBe(1);

    // What is sent is not lost.
    await goTo('webhooks');
    await begin();
    await address.fill('https://example.com/hook');
    await dialog.getByRole('button', { name: 'Add webhook' }).click();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(asked()).toBe(0);

    isLeft = false;
    await bed.untilTurnEnded(await bed.person().say('Where are you?', { to: bed.phone }));
    const [chat] = await listed('/api/chats');
    await goTo(`chats/${chat?.id}`);
    const composer = page.locator('.composer textarea');
    await composer.fill('On my way');
    const keys = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Keys' });
    await keys.click();
    await expect.poll(asked).toBe(1);
    expect(await composer.inputValue()).toBe('On my way');
    await composer.fill('');
    await keys.click();
    await page.getByRole('heading', { level: 1, name: /keys/i }).waitFor();
    expect(asked()).toBe(0);
  });

  it('says that the service does not answer, and opens by itself when it does', async () => {
    mayComplain(/./);
    const { page, goTo } = await open();
    await goTo('chats');
    await page.route('**/*', (route) => route.abort());
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText('This page could not be loaded.').waitFor();
    await page.getByText('wa2ai does not answer.').waitFor({ timeout: 20_000 });
    await page.unroute('**/*');
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor({ timeout: 30_000 });
    await expect.poll(() => page.getByText('wa2ai does not answer.').count()).toBe(0);
  }, 60_000);
});

/** The chat that another test began. */
async function aPlaygroundChatAgain({ page, goTo }: OpenConsole): Promise<void> {
  await goTo('playground');
  await page.locator('.play-chat').first().waitFor();
}
