import { readFile } from 'node:fs/promises';
import { crc32, deflateSync } from 'node:zlib';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seedChats } from '../support/seed-chats.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';
import { choose, expectAccessible } from './browser.ts';
import { consolesOf } from './consoles.ts';

const CHATS = 10_000;

let bed: TestBed;
let ana: Person;
const { open } = consolesOf(() => bed.service.url);
beforeAll(async () => {
  bed = await TestBed.startPaired();
  ana = bed.person({ name: 'Ana' });
  await ana.say('hello', { to: bed.phone });
  await ana.nextReply();
  await seedChats(bed.database.url, { chats: CHATS, messages: 100_000 });
}, 240_000);
afterAll(async () => {
  await bed?.close();
});

const optionOf = (page: Page, name: string) => page.locator('.virtual-row').filter({ hasText: name });

/** A PNG: a blue sky over a green field. */
function pictureOf(width: number, height: number): Buffer {
  const part = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length, 0);
    frame.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0]);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  const lines = Array.from({ length: height }, (_, y) =>
    Buffer.concat([
      Buffer.alloc(1),
      Buffer.alloc(width * 3, Buffer.from(y < height / 2 ? [90, 160, 230] : [70, 150, 60])),
    ]),
  );
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([
    signature,
    part('IHDR', head),
    part('IDAT', deflateSync(Buffer.concat(lines))),
    part('IEND', Buffer.alloc(0)),
  ]);
}

async function openChat(page: Page, name: string): Promise<void> {
  await page.getByRole('searchbox').fill(name);
  await optionOf(page, name).first().click();
  await page.getByRole('log').waitFor();
}

describe('the page Chats', () => {
  it('shows 10,000 chats with few rows in the document, also at the end of what was loaded', async () => {
    const { page, goTo } = await open();
    await goTo('chats');
    const rows = page.locator('.virtual-row');
    await rows.first().waitFor();
    const list = page.getByRole('listbox');
    for (let scroll = 0; scroll < 12; scroll += 1) {
      await expect
        .poll(
          async () => {
            await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
            return Number(await rows.last().getAttribute('aria-posinset'));
          },
          { timeout: 30_000 },
        )
        .toBeGreaterThan(scroll * 90);
      expect(await rows.count()).toBeLessThan(60);
    }
    await list.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('log').waitFor();
  });

  it('finds a chat by a part of its name, and filters', async () => {
    const { page, goTo } = await open();
    await goTo('chats');
    await page.getByRole('searchbox').fill('person 4321');
    await optionOf(page, 'Person 4321').waitFor();
    await expect.poll(() => page.locator('.virtual-row').count()).toBe(1);
    await page.getByRole('searchbox').fill('');
    await page.getByLabel('Show', { exact: true }).selectOption('failed');
    await optionOf(page, '1 failed').first().waitFor();
    await expect.poll(() => optionOf(page, 'Ana').count()).toBe(0);
  });

  it('shows chats that wait for the operator before the others, until somebody has answered', async () => {
    const bea = bed.person({ name: 'Bea' });
    await bea.say('good morning', { to: bed.phone });
    await bea.nextReply();
    const { page, goTo } = await open();
    await goTo('chats');
    await openChat(page, 'Bea');
    await page.getByRole('searchbox').fill('');
    await expect.poll(() => optionOf(page, 'Bea').count()).toBe(0);
    await bed.service.api('POST', `/api/chats/%2B${bea.phone}/pause`);
    await bed.untilTurnEnded(await bea.say('is somebody there?', { to: bed.phone }));
    await ana.say('hello again', { to: bed.phone });
    await ana.nextReply();
    await optionOf(page, 'Bea').getByText('Unanswered').waitFor();
    expect(await optionOf(page, 'Ana').count()).toBe(0);
    await page.getByLabel('Show', { exact: true }).selectOption('needsYou');
    await optionOf(page, 'Bea').waitFor();
    await page.getByLabel('Write to Bea').fill('Yes, I am.');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await expect.poll(() => optionOf(page, 'Bea').count()).toBe(0);
  });

  it('shows the chats of one route', async () => {
    const { body } = await bed.service.api('GET', `/api/routes`);
    const [usual] = body.data as Array<{ id: string }>;
    await bed.service.addRoute('4915770000001', bed.agent.url);
    const { page, goTo } = await open();
    await goTo('chats');
    await page.getByRole('searchbox').fill('Person 4320');
    await optionOf(page, 'Person 4320').first().waitFor();
    await page.getByLabel('Route', { exact: true }).selectOption(usual?.id ?? '');
    await page.getByText('No chat matches.').waitFor();
    await page.getByRole('searchbox').fill('Ana');
    await optionOf(page, 'Ana').waitFor();
    await page.getByLabel('Route', { exact: true }).selectOption({ label: '4915770000001' });
    await page.getByText('No chat matches.').waitFor();
    await expectAccessible(page);
  });

  it('writes by hand, pauses, shows it in a second browser, and resumes', async () => {
    const [first, second] = [await open(), await open()];
    await Promise.all([first.goTo('chats'), second.goTo('chats')]);
    await openChat(first.page, 'Ana');
    await openChat(second.page, 'Ana');
    await first.page.getByLabel('Write to Ana').fill('Maria here.\nWe open at nine.');
    await first.page.getByRole('button', { name: 'Send', exact: true }).click();
    expect((await ana.nextReply()).text).toBe('Maria here.\nWe open at nine.');
    for (const { page } of [first, second]) {
      await page.getByRole('log').getByText('We open at nine.').waitFor();
      await page.getByRole('button', { name: 'Resume', exact: true }).waitFor();
    }
    await second.page.getByRole('button', { name: 'Resume', exact: true }).click();
    await expect.poll(() => first.page.getByRole('button', { name: 'Resume', exact: true }).count()).toBe(0);
    await ana.say('thanks', { to: bed.phone });
    await ana.nextReply();
    for (const { page } of [first, second]) {
      await page.getByRole('log').getByText('thanks', { exact: true }).waitFor();
    }
  });

  it('shows the trace of a turn, and stores tags and notes', async () => {
    const { page, goTo } = await open();
    await goTo('chats');
    await openChat(page, 'Ana');
    await page.getByRole('button', { name: 'Trace' }).first().click();
    const panel = page.getByRole('complementary', { name: 'Trace' });
    await panel.getByText('answered', { exact: true }).waitFor();
    await panel.getByText('On the phone', { exact: true }).waitFor();
    const rows = await panel.locator('.timeline-row > .timeline-head strong').allTextContents();
    const kinds = rows.filter((title) => title !== 'Waited');
    expect(kinds).toEqual(['Received', 'Route: *', 'Agent', 'answered', 'Answer']);
    const bar = await panel.locator('.timeline-attempts .timeline-bar span').boundingBox();
    expect(bar?.width).toBeGreaterThan(2);
    await panel.getByText('What was sent, and what came back').click();
    const exchanges = panel.locator('.exchanges');
    await exchanges.getByText('Sent').first().waitFor();
    await exchanges.getByText('hello').first().waitFor();
    await exchanges.getByText('200', { exact: true }).first().waitFor();
    await panel.getByText('The request with the present routes').click();
    await panel.getByText('takes the message to').waitFor();
    await page.getByRole('button', { name: 'Details' }).click();
    await page.getByLabel('Tags').fill('VIP, madrid');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByText('Saved.').waitFor();
    const { body } = await bed.service.api('GET', `/api/chats?channelId=${ana.phone}`);
    expect(body.data).toMatchObject([{ tags: ['madrid', 'vip'] }]);
  });

  it('shows a person with a user name and no number by the name, also when the message failed', async () => {
    const eva = bed.person({ hidden: 'pn', via: 'lid', username: 'Eva_2' });
    await bed.service.addRoute('@eva_2', `${bed.agent.url}/missing`);
    await bed.untilTurnEnded(await eva.say('to nobody', { to: bed.phone, attrs: { notify: '' } }));
    const { page, goTo } = await open();
    await goTo('chats');
    await openChat(page, '@eva_2');
    expect(await page.locator('.chat-name').filter({ hasText: '@eva_2' }).count()).toBe(1);
    await page.getByRole('heading', { name: '@eva_2' }).waitFor();
    const head = await page.locator('.conversation-head').textContent();
    expect(head).not.toMatch(/@lid|undefined/);
    await goTo('dead-letters');
    const letter = page.locator('.letter').filter({ hasText: 'to nobody' });
    expect(await letter.first().locator('strong').first().textContent()).toBe('@eva_2');
    await letter.first().getByText('What was tried').click();
    const agent = letter.locator('.timeline-row').filter({ hasText: 'Attempt 1' });
    await agent.locator('.badge').filter({ hasText: 'AGENT_' }).first().waitFor();
    await expectAccessible(page);
    const id = await letter.first().getAttribute('data-id');
    await bed.service.api('POST', `/api/dead-letters/${id}/close`);
  });

  it('leaves out invented chats of the playground until they are chosen', async () => {
    const { body } = await bed.service.api('POST', '/api/playground/chats', { kind: 'person', name: 'Iris' });
    const { id } = body.data as { id: string };
    await bed.service.api('POST', `/api/playground/chats/${id}/messages`, { text: 'from nowhere' });
    const { page, goTo } = await open();
    await goTo('chats');
    await page.getByRole('searchbox').fill('Iris');
    await page.getByText('No chat matches.').waitFor();
    await page.getByLabel('Account', { exact: true }).selectOption('playground');
    await optionOf(page, 'Iris').waitFor();
    await page.getByRole('searchbox').fill('Ana');
    await page.getByText('No chat matches.').waitFor();
    await page.getByLabel('Account', { exact: true }).selectOption('default');
    await optionOf(page, 'Ana').first().waitFor();
    await expectAccessible(page);
  });

  it('shows locations, contacts and polls as a person reads them, and nothing of a message as HTML', async () => {
    const mia = bed.person({ name: 'Mia' });
    await bed.service.addRoute(mia.phone, bed.agent.url, { name: 'Reception' });
    const vcard = 'BEGIN:VCARD\nVERSION:3.0\nFN:Leo\nTEL;waid=34600000001:+34 600 00 00 01\nEND:VCARD';
    const options = [{ optionName: 'Rice' }, { optionName: '<b>Fish</b>' }];
    const location = { degreesLatitude: 40.4, degreesLongitude: -3.7, name: 'Café', address: 'Main St 1' };
    for (const content of [
      { locationMessage: location },
      { contactMessage: { displayName: 'Leo', vcard } },
      { pollCreationMessageV3: { name: 'Lunch?', options, selectableOptionsCount: 1 } },
      '<img src="/x" onerror="document.title = 1"> <script>document.title = 2</script>',
    ]) {
      await bed.untilTurnEnded(await mia.say(content, { to: bed.phone }));
    }
    const { page, goTo } = await open();
    await goTo('chats');
    await openChat(page, 'Mia');
    const cards = page.locator('.bubble.person .bubble-card');
    await expect
      .poll(() => cards.allTextContents())
      .toEqual(['CaféMain St 140.4, -3.7', 'Leo 34600000001', 'Lunch?Rice<b>Fish</b>One answer']);
    await page.locator('.bubble.person').getByText('<script>document.title = 2</script>').waitFor();
    expect(await page.locator('.bubble img, .bubble script, .bubble b').count()).toBe(0);
    expect(await page.title()).toBe('Chats · wa2ai');
    await page.locator('.bubble.account').getByText('Agent (Reception)').first().waitFor();
    await expectAccessible(page);
  });

  it('sends, changes and drops drafts in their bubbles', async () => {
    const noa = bed.person({ name: 'Noa' });
    await noa.say('hello', { to: bed.phone });
    await noa.nextReply();
    const { body } = await bed.service.api('GET', `/api/chats?channelId=${noa.phone}`);
    const [{ id }] = body.data as [{ id: string }];
    await bed.service.api('POST', `/api/chats/${id}/pause`, { mode: 'approve' });
    const { page, goTo } = await open();
    await goTo('chats');
    await openChat(page, 'Noa');
    const draft = (text: string) => page.getByRole('form', { name: `Draft for “${text}”` });
    for (const text of ['one', 'two', 'three']) {
      await bed.untilTurnEnded(await noa.say(text, { to: bed.phone }));
      await page
        .locator('.bubble')
        .filter({ has: draft(text) })
        .getByText(`Echo: ${text}`)
        .waitFor();
    }
    expect(await page.locator('.chat-notices').textContent()).not.toContain('Echo');
    await expectAccessible(page);
    await draft('one').getByRole('button', { name: 'Send the draft' }).click();
    expect((await noa.nextReply()).text).toBe('Echo: one');
    await draft('two').getByRole('button', { name: 'Drop the draft' }).click();
    await draft('two').waitFor({ state: 'detached' });
    await draft('three').getByRole('button', { name: 'Change the text' }).click();
    await page.getByLabel('Text of the draft').fill('At nine.');
    await draft('three').getByRole('button', { name: 'Send the draft' }).click();
    expect((await noa.nextReply()).text).toBe('At nine.');
    await draft('three').waitFor({ state: 'detached' });
  });

  it.each(['light', 'dark'] as const)(
    'shows a picture large, and returns to it, in %s colours',
    async (theme) => {
      const { page, goTo } = await open({ theme, widthPx: 390 });
      await goTo('chats');
      await openChat(page, 'Ana');
      const picture = { name: 'map.png', mimeType: 'image/png', buffer: pictureOf(1_600, 900) };
      await page.locator('input[type=file]').setInputFiles(picture);
      await page.getByLabel('Write to Ana').fill(`The way, ${theme}`);
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      const small = page.getByRole('button', { name: `Show The way, ${theme} large` });
      await small.focus();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Picture' });
      const large = dialog.getByRole('img', { name: `The way, ${theme}` });
      await expect.poll(async () => (await large.boundingBox())?.width).toBeGreaterThan(300);
      const box = await dialog.boundingBox();
      expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(390);
      await expectAccessible(page);
      // The focus stays in the dialog.
      for (let tabs = 0; tabs < 4; tabs += 1) {
        await page.keyboard.press('Tab');
        expect(await page.locator('main :focus:not(dialog *)').count()).toBe(0);
      }
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        dialog.getByRole('link', { name: 'Download' }).click(),
      ]);
      expect(await readFile(await download.path())).toEqual(picture.buffer);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await expect.poll(() => small.evaluate((element) => element.matches(':focus'))).toBe(true);
    },
  );

  it('leaves the conversation its place while a trace is open, and returns the focus', async () => {
    const { page, goTo } = await open();
    await goTo('chats');
    await openChat(page, 'Ana');
    const before = await page.getByRole('log').boundingBox();
    const button = page.getByRole('button', { name: 'Trace' }).first();
    await button.click();
    const panel = page.getByRole('complementary', { name: 'Trace' });
    await panel.waitFor();
    expect(await page.getByRole('log').boundingBox()).toEqual(before);
    const isFocused = (of: Locator) => of.evaluate((element) => element.matches(':focus'));
    await expect.poll(() => isFocused(panel)).toBe(true);
    const [side, log] = await Promise.all([panel.boundingBox(), page.getByRole('log').boundingBox()]);
    expect((side?.x ?? 0) + (side?.width ?? 0)).toBeLessThanOrEqual((log?.x ?? 0) + 1);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await expect.poll(() => isFocused(button)).toBe(true);
  });

  it('is two views on a phone, in Spanish', async () => {
    const { page, goTo } = await open({ widthPx: 390, language: 'es-ES' });
    await goTo('chats');
    await page.getByRole('searchbox').fill('Ana');
    await optionOf(page, 'Ana').first().click();
    await page.getByRole('log').waitFor();
    expect(await page.getByRole('listbox').isVisible()).toBe(false);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await page.getByRole('button', { name: 'Traza' }).first().click();
    const panel = page.getByRole('complementary', { name: 'Traza' });
    const [sheet, all] = await Promise.all([panel.boundingBox(), page.locator('.chats').boundingBox()]);
    expect(sheet).toEqual(all);
    await panel.getByRole('button', { name: 'Cerrar' }).click();
    await page.getByRole('button', { name: 'Volver a la lista' }).click();
    await page.getByRole('listbox').waitFor();
  });

  it.each(['light', 'dark'] as const)('has no violation of axe in %s colours', async (theme) => {
    const { page, goTo } = await open({ theme });
    await goTo('chats');
    await openChat(page, 'Ana');
    await page.getByRole('button', { name: 'Trace' }).first().click();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Details' }).click();
    await expectAccessible(page);
  });
});

describe('the page Dead letters', () => {
  it('shows groups by reason, closes one and replays the others', async () => {
    const { page, goTo } = await open();
    await goTo('dead-letters');
    await page.locator('.group').filter({ hasText: 'AGENT_TIMEOUT' }).waitFor();
    expect(await page.locator('.group-count').first().textContent()).toBe('100');
    await page.locator('.group-open').first().click();
    const letter = page.locator('.letter').first();
    await letter.getByText('What was tried').click();
    await letter.getByText('No steps are stored.').waitFor();
    await letter.getByText('What was sent, and what came back').click();
    await letter.getByText('No request is stored').waitFor();
    await choose(letter, 'Close');
    await page.getByText('Closed.').waitFor();
    await page.getByRole('button', { name: 'Replay all (99)' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Replay', exact: true }).click();
    await page.getByText('99 replayed.').waitFor();
    await page.getByText('Nothing was given up.').waitFor();
  });

  it.each(['light', 'dark'] as const)('has no violation of axe in %s colours', async (theme) => {
    const { page, goTo } = await open({ theme });
    await goTo('dead-letters');
    await page.getByLabel('Show', { exact: true }).selectOption('closed');
    await page.locator('.letter').first().waitFor();
    await expectAccessible(page);
  });
});
