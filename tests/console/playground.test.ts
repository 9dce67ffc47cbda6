import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { choose, expectAccessible, type OpenConsole } from './browser.ts';
import { consolesOf } from './consoles.ts';

/** A picture of one pixel. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let bed: TestBed;
let folder: string;
const { open } = consolesOf(() => bed.service.url);
beforeAll(async () => {
  // Nothing is paired and there is no route.
  bed = await TestBed.start();
  [folder] = await Promise.all([mkdtemp(join(tmpdir(), 'wa2ai-playground-'))]);
  await bed.startService();
}, 120_000);
afterAll(async () => {
  await bed?.close();
  await rm(folder, { recursive: true, force: true });
});

const log = (page: Page) => page.getByRole('log');
/** Bubbles of the account that have the text; those of the person are on the right. */
const answers = (page: Page, text: string) => page.locator('.bubble.person').filter({ hasText: text });
const own = (page: Page, text: string) => page.locator('.bubble.account').filter({ hasText: text });
const traceOf = (page: Page) => page.getByRole('complementary', { name: 'Trace' });

async function say(page: Page, as: string, text: string): Promise<void> {
  await page.getByLabel(`Write as ${as}`, { exact: true }).fill(text);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
}

/** Invents a chat with the echo agent and opens it. */
async function startEcho({ page, goTo }: OpenConsole): Promise<void> {
  await goTo('playground');
  await page.getByRole('button', { name: 'Use the echo agent' }).click();
  await log(page).waitFor();
}

describe('the page Playground', () => {
  it('leads from the start page to the first answer, with nothing configured', async () => {
    const shown = await open();
    const { page, goTo } = shown;
    await goTo('');
    await page
      .getByRole('main')
      .getByRole('link', { name: /playground/i })
      .click();
    await page.getByRole('button', { name: 'Use the echo agent' }).click();
    await say(page, 'Ana', 'hello from nowhere');
    await answers(page, 'hello from nowhere').waitFor();
    await own(page, 'hello from nowhere').getByRole('img', { name: 'read', exact: true }).waitFor();
    // Beside it, what wa2ai did.
    const trace = traceOf(page);
    await trace.getByText('answered', { exact: true }).first().waitFor();
    await trace.getByText('The request with the present routes').click();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await expect.poll(() => trace.count()).toBe(0);
    await own(page, 'hello from nowhere').getByRole('button', { name: 'Trace' }).click();
    await trace.waitFor();
  });

  it('begins the lines of Arabic on the right and those of English on the left, as the phone does', async () => {
    const shown = await open();
    const { page } = shown;
    await startEcho(shown);
    await say(page, 'Ana', 'مرحبا\nكيف حالك اليوم يا صديقي العزيز؟\nhello');
    await answers(page, 'مرحبا').first().waitFor();
    const edges = await page.evaluate(`(() => {
      const element = document.querySelector('.bubble.person .bubble-text');
      const { left, right } = element.getBoundingClientRect();
      const boxOf = (word) => {
        const range = document.createRange();
        const node = element.firstChild;
        const at = node.textContent.indexOf(word);
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        return range.getBoundingClientRect();
      };
      return { arabic: right - boxOf('مرحبا').right, english: boxOf('hello').left - left };
    })()`);
    expect(edges).toEqual({ arabic: expect.closeTo(0, 0), english: expect.closeTo(0, 0) });
  });

  it('shows a command among Arabic words as it is typed', async () => {
    const shown = await open();
    const { page } = shown;
    await startEchoAgain(shown, 'Nour');
    await say(page, 'Nour', 'مرحبا، كيف حالك؟');
    await answers(page, 'مرحبا').first().waitFor();
    await say(page, 'Nour', '/help');
    await answers(page, 'بدء محادثة جديدة').waitFor();
    const edges = await page.evaluate(`(() => {
      const texts = document.createTreeWalker(document.querySelector('[role=log]'), NodeFilter.SHOW_TEXT);
      let node = texts.nextNode();
      while (!node.textContent.includes('/new')) node = texts.nextNode();
      const boxOf = (words) => {
        const range = document.createRange();
        const at = node.textContent.indexOf(words);
        range.setStart(node, at);
        range.setEnd(node, at + words.length);
        return range.getBoundingClientRect();
      };
      return { slash: boxOf('/').left, command: boxOf('new').left, words: boxOf('بدء').right };
    })()`);
    const { slash, command, words } = edges as Record<'slash' | 'command' | 'words', number>;
    // Its line begins on the right, and the command is read from the left.
    expect(words).toBeLessThan(slash);
    expect(slash).toBeLessThan(command);
  });

  it('sends a file, reacts, quotes, edits and deletes', async () => {
    const shown = await open();
    const { page } = shown;
    await startEchoAgain(shown, 'Bea');
    const file = join(folder, 'picture.png');
    await writeFile(file, PICTURE);
    await page.locator('input[type=file]').setInputFiles(file);
    await say(page, 'Bea', 'look at this');
    await answers(page, '[image: image/png]').waitFor();
    const picture = own(page, 'look at this')
      .getByRole('button', { name: 'Show look at this large' })
      .locator('img');
    await expect.poll(() => picture.getAttribute('class')).toContain('shown');
    expect(await picture.boundingBox()).toMatchObject({ width: 1, height: 1 });

    await answers(page, 'look at this').getByText('React', { exact: true }).click();
    await page.getByRole('button', { name: 'React with 👍' }).click();
    await answers(page, 'look at this').getByRole('img', { name: 'Reactions: 👍' }).waitFor();

    await answers(page, 'look at this').getByRole('button', { name: 'Reply' }).click();
    await say(page, 'Bea', 'what is it?');
    await own(page, 'what is it?').locator('blockquote').getByText('look at this').waitFor();
    await answers(page, 'what is it?').waitFor();

    await own(page, 'what is it?').getByRole('button', { name: 'Edit' }).click();
    await say(page, 'Bea', 'what was it?');
    await answers(page, 'what was it?').waitFor();
    await own(page, 'what was it?').getByText('edited', { exact: true }).waitFor();

    await own(page, 'what was it?').getByRole('button', { name: 'Delete' }).click();
    await own(page, 'what was it?').getByText('deleted', { exact: true }).waitFor();
  });

  it('answers in a group when somebody mentions the account', async () => {
    const { page, goTo } = await open();
    await goTo('playground');
    await page.getByRole('button', { name: 'New chat' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Who writes').selectOption('group');
    await dialog.getByLabel('Name of the group').fill('Family');
    await dialog.getByLabel('People').fill('Ana, Luis');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Create the chat' }).click();
    await log(page).waitFor();
    await page.getByLabel('Mention the account').uncheck();
    await say(page, 'Ana', 'good morning');
    await own(page, 'good morning').getByText('group not addressed').waitFor();
    await page.getByLabel('Write as', { exact: true }).selectOption('Luis');
    await page.getByLabel('Mention the account').check();
    await page.getByLabel('Write as Luis', { exact: true }).fill('what time is it?');
    await page.getByText(/^Who would answer: .+/).waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    // From the phone of Luis, the message of Ana is that of somebody else.
    await answers(page, 'what time is it?').waitFor();
    await page.locator('.bubble.person').filter({ hasText: 'good morning' }).getByText('Ana').waitFor();
  });

  it('finds out the protocol of an agent by its address', async () => {
    const { page, goTo } = await open();
    await goTo('playground');
    await page.getByLabel('Address of your agent').fill(bed.agent.url);
    await page.getByRole('button', { name: 'Find the agent' }).click();
    await page.getByText('Found: adk.').waitFor();
    await page.getByText('agent test_agent').waitFor();
    await page.getByRole('button', { name: 'Use this agent' }).click();
    await say(page, 'Ana', 'are you there?');
    await answers(page, 'are you there?').waitFor();
    const request = traceOf(page);
    await request.getByText('Attempt 1', { exact: true }).waitFor();
  });

  it('says that nobody answers at an address', async () => {
    const { page, goTo, complaints } = await open();
    await goTo('playground');
    await page.getByLabel('Address of your agent').fill('http://127.0.0.1:9');
    await page.getByRole('button', { name: 'Find the agent' }).click();
    await page.getByRole('alert').getByText('No agent answers there.').waitFor();
    // The browser complains of the status 404.
    expect(complaints.splice(0)).toEqual([expect.stringContaining('404')]);
  });

  it('saves the conversation as a scenario, which passes, and one that fails', async () => {
    const shown = await open();
    const { page } = shown;
    await startEchoAgain(shown, 'Eva');
    await say(page, 'Eva', 'one two three');
    await answers(page, 'one two three').waitFor();
    await choose(page, 'Save as scenario', 'Actions for Eva');
    const text = page.getByRole('dialog').getByLabel('Scenario (YAML)');
    await expect.poll(() => text.inputValue()).toContain('contains: "one two three"');
    await expectAccessible(page);
    const loading = page.waitForEvent('download');
    await page.getByRole('dialog').getByRole('button', { name: 'Download' }).click();
    expect((await loading).suggestedFilename()).toBe('Eva.yaml');
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    const row = page.getByRole('row', { name: /^Eva / });
    await row.getByRole('button', { name: 'Run' }).click();
    await page.getByText('All steps passed.').waitFor();
    await expectAccessible(page);

    await choose(row, 'Edit');
    const editor = page.getByLabel('Scenario (YAML)');
    await expect.poll(() => editor.inputValue()).toContain('one two three');
    const wrong = (await editor.inputValue())
      .replace('contains: "one two three"', 'contains: "four"')
      .replace('withinMs: 10000', 'withinMs: 1000');
    await editor.fill(wrong);
    const saving = page.waitForResponse((response) => response.request().method() === 'POST');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    expect((await saving).status()).toBe(201);
    await row.getByRole('button', { name: 'Run' }).click();
    await page.getByText('A step failed.').waitFor();
    await page.getByText('It said instead: “one two three”.').waitFor();
    await choose(row, 'Delete');
    await row.waitFor({ state: 'detached' });
  });

  it('shows which line of a scenario is wrong', async () => {
    const { page, goTo, complaints } = await open();
    await goTo('playground/scenarios');
    await page.getByLabel('Scenario (YAML)').fill('steps:\n  - { as: Ana, says: hola }\n');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('alert').getByText('line 2').first().waitFor();
    expect(complaints.splice(0)).toEqual([expect.stringContaining('400')]);
  });

  it('keeps several chats, resets and deletes one', async () => {
    const shown = await open();
    const { page } = shown;
    await startEchoAgain(shown, 'Zoe');
    await say(page, 'Zoe', 'remember this');
    await answers(page, 'remember this').waitFor();
    await choose(page, 'Reset', 'Actions for Zoe');
    await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).click();
    await log(page).getByText('No messages.').waitFor();
    await choose(page, 'Delete', 'Actions for Zoe');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.locator('.play-chat').filter({ hasText: 'Zoe' }).waitFor({ state: 'detached' });
    expect(await page.locator('.play-chat').count()).toBeGreaterThan(0);
  });

  it.each(['light', 'dark'] as const)('has no violation of axe in %s colours', async (theme) => {
    const shown = await open({ theme });
    const { page } = shown;
    await startEcho(shown);
    await say(page, 'Ana', 'hello');
    await answers(page, 'hello').waitFor();
    await traceOf(page).getByText('answered', { exact: true }).first().waitFor();
    await expectAccessible(page);
    await shown.goTo('playground');
    await expectAccessible(page);
    await shown.goTo('playground/scenarios');
    await expectAccessible(page);
  });

  it('fits a phone of 390 px, in Spanish', async () => {
    const { page, goTo } = await open({ widthPx: 390, language: 'es-ES' });
    await goTo('playground');
    const width = () => page.evaluate('document.documentElement.scrollWidth');
    expect(await width()).toBeLessThanOrEqual(390);
    await page.getByRole('button', { name: 'Usar el agente eco' }).click();
    await page.getByLabel('Escribir como Ana', { exact: true }).fill('hola');
    await page.getByRole('button', { name: 'Enviar', exact: true }).click();
    await answers(page, 'hola').waitFor();
    expect(await width()).toBeLessThanOrEqual(390);
    await own(page, 'hola').getByRole('button', { name: 'Traza' }).click();
    await page.getByRole('complementary', { name: 'Traza' }).waitFor();
    expect(await width()).toBeLessThanOrEqual(390);
    await page.getByRole('button', { name: 'Cerrar' }).click();
    await page.getByRole('button', { name: 'Volver a la lista' }).click();
    await page.locator('.play-chat').filter({ hasText: 'Ana' }).first().waitFor();
    await goTo('playground/scenarios');
    expect(await width()).toBeLessThanOrEqual(390);
  });
});

/** Invents a person who writes to the echo agent, and opens the chat. */
async function startEchoAgain({ page, goTo }: OpenConsole, name: string): Promise<void> {
  const { body } = await bed.service.api('GET', '/api/routes?accountId=playground');
  const routes = body.data as Array<{ id: string; name?: string }>;
  const echo = routes.find((route) => route.name === 'echo') ?? (await addEcho());
  const { body: made } = await bed.service.api('POST', '/api/playground/chats', {
    ...{ kind: 'person', name, routeId: echo.id },
  });
  await goTo(`playground/${(made.data as { id: string }).id}`);
  await log(page).waitFor();
}

async function addEcho(): Promise<{ id: string }> {
  const route = { accountId: 'playground', channelId: '*', name: 'echo', config: { echo: {} } };
  const { body } = await bed.service.api('POST', '/api/routes', route);
  return body.data as { id: string };
}
