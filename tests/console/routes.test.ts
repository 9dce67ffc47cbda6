import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startOpenAiServer } from '../doubles/openai-server.ts';
import type { StandInServer } from '../doubles/stand-in-server.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';
import { choose, expectAccessible, type OpenConsole } from './browser.ts';
import { consolesOf } from './consoles.ts';

let bed: TestBed;
let openAi: StandInServer;
let ana: Person;
const { open, mayComplain } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  bed = await TestBed.startPaired();
  [openAi] = await Promise.all([startOpenAiServer()]);
  ana = bed.person({ name: 'Ana' });
  for (const text of ['help me', 'hello']) {
    await ana.say(text, { to: bed.phone });
    await ana.nextReply();
  }
}, 120_000);
beforeEach(async () => {
  // Every test begins with the route of the test bed, named `all`.
  for (const { id, name } of (await api('GET', '/api/routes')).data) {
    if (name !== undefined && name !== 'all') await api('DELETE', `/api/routes/${id}`);
  }
  const [first] = (await api('GET', '/api/routes')).data;
  await api('PATCH', `/api/routes/${first.id}`, {
    name: 'all',
    priority: 0,
    regexFilter: null,
    enabled: true,
  });
});
afterAll(async () => {
  await openAi?.close();
  await bed?.close();
});

// biome-ignore lint/suspicious/noExplicitAny: the test looks into bodies of many shapes
async function api(method: string, path: string, body?: object): Promise<any> {
  const answer = await bed.service.api(method, path, body);
  expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
}

async function addRoute(name: string, change: object = {}): Promise<string> {
  const route = { name, channelId: '*', agentEndpoint: bed.agent.url, config: { adk: { appName: 'a' } } };
  return (await api('POST', '/api/routes', { ...route, ...change })).data.id;
}

const routeNamed = async (wanted: string) =>
  (await api('GET', '/api/routes')).data.find(({ name }: { name?: string }) => name === wanted);

/** The names of the routes in the table, in its order. */
const names = (page: Page) => page.locator('.route-table a.name').allTextContents();

/** A browser complains about each response of status 400. */
function forgetRefusals({ complaints }: OpenConsole): void {
  const others = complaints.filter((each) => !each.includes('status of 400'));
  expect(others.length).toBeLessThan(complaints.length);
  complaints.splice(0, complaints.length, ...others);
}

const button = (page: Page | Locator, name: string) => page.getByRole('button', { name, exact: true });

const card = (page: Page, heading: string) =>
  page.locator('.card').filter({ has: page.getByRole('heading', { name: heading, exact: true }) });

const trial = (page: Page, heading: string) =>
  page.locator('.try').filter({ has: page.getByRole('heading', { name: heading, exact: true }) });

/** Opens a part of the form that few routes need. */
const unfold = (page: Page, title: string) => page.locator('summary', { hasText: title }).click();

describe('the page Routes', () => {
  it('adds a route to an ADK server: shows mistakes at their fields, tests the agent, then stores it', async () => {
    const shown = await open();
    const { page, goTo } = shown;
    await goTo('routes');
    await page.getByRole('link', { name: 'Add route' }).click();
    await button(page, 'Choose the kind by hand').click();
    await page.getByLabel('Name', { exact: true }).fill('support');
    await page.getByLabel('Address of the agent').fill('localhost:8000');
    await button(page, 'Save').click();
    const appName = page.getByLabel('App name (required)');
    await expect.poll(() => appName.getAttribute('aria-invalid')).toBe('true');
    // The address says it.
    expect(await page.getByLabel(/^base url/i).count()).toBe(0);
    const address = page.getByLabel('Address of the agent');
    const described = (await address.getAttribute('aria-describedby')) ?? '';
    expect(await page.locator(`[id="${described.split(' ').at(-1)}"]`).textContent()).toMatch(/http/);
    const alert = page.locator('.route-form [role=alert]');
    await alert.getByText('Google ADK › App name is missing').waitFor();
    expect(await alert.textContent()).not.toContain('config.');
    await expectAccessible(page);
    forgetRefusals(shown);

    await address.fill(bed.agent.url);
    await appName.fill('test_agent');
    await button(page, 'Test').click();
    await trial(page, 'Test the agent').getByText('The agent answers').waitFor();
    await trial(page, 'Test the agent')
      .getByText(/^\d+ ms$/)
      .waitFor();

    await card(page, 'Which agent').locator('summary').click();
    await button(page, 'Add: Headers').click();
    const headers = page.getByRole('group', { name: 'Headers' });
    await headers.getByLabel('Name 1').fill('Authorization');
    await headers.getByLabel('Value 1').fill('Bearer s3cret');
    expect(await headers.getByLabel('Value 1').getAttribute('type')).toBe('password');
    await unfold(page, 'When, and which messages');
    await page.getByRole('group', { name: 'Days' }).getByLabel('Mon').check();
    await unfold(page, 'Only some chats');
    await page.getByLabel('Chats with one of these tags').fill('vip\nnew');
    await unfold(page, 'How it answers');
    await unfold(page, 'Pace');
    await page.getByLabel('Wait for further messages').fill('1500ms');
    await page
      .getByLabel('A message while the agent works')
      .selectOption({ label: 'they are answered together' });
    await button(page, 'Save').click();
    await page.getByRole('link', { name: 'support' }).waitFor();
    expect(await routeNamed('support')).toMatchObject({
      agentEndpoint: bed.agent.url,
      config: {
        adk: { appName: 'test_agent', headers: { Authorization: '***' } },
        when: { days: ['mon'], tags: ['vip', 'new'] },
        pace: { debounceMs: 1500, busy: 'merge' },
      },
    });
  });

  it('adds a route by its address: finds the agent, sends it a test message, then stores the route', async () => {
    const shown = await open();
    const { page, goTo } = shown;
    await goTo('routes/new');
    const address = page.getByLabel('Where does the agent answer?');
    await address.fill('http://127.0.0.1:1');
    mayComplain(/404/);
    await address.press('Enter');
    await page.getByRole('alert').getByText('No agent answers there').waitFor();
    expect(await page.getByLabel('Name', { exact: true }).count()).toBe(0);

    await address.fill(bed.agent.url);
    await button(page, 'Find the agent').click();
    const found = page.locator('.card').filter({ has: address });
    await found.getByText('Google ADK').waitFor();
    await found.getByText('agent test_agent').waitFor();
    const app = page.getByRole('combobox', { name: 'App name (required)' });
    expect(await app.inputValue()).toBe('test_agent');
    expect(await page.getByLabel('Agent kind').inputValue()).toBe('adk');
    expect(await page.locator('.route-form h2').allTextContents()).toEqual([
      ...['Who', 'When, and which messages', 'Which agent', 'How it answers', 'When it fails', 'Advanced'],
      'Try it before you save',
    ]);

    const test = trial(page, 'Send a test message');
    await test.getByLabel('Message').fill('hello');
    await test.getByLabel('Message').press('Enter');
    await test.locator('.answer').waitFor();
    expect(await test.locator('.answer').textContent()).toContain('hello');
    await expectAccessible(page);
    expect(await routeNamed('found')).toBeUndefined();
    await page.getByLabel('Name', { exact: true }).fill('found');
    await page.getByLabel('Address of the agent').fill('http://127.0.0.1:1');
    await test.getByLabel('Message').press('Enter');
    await test.getByText('AGENT_UNAVAILABLE').waitFor();
    await page.getByLabel('Address of the agent').fill(bed.agent.url);
    await button(page, 'Save').click();
    await page.getByRole('link', { name: 'found' }).waitFor();
    expect(await routeNamed('found')).toMatchObject({
      channelId: '*',
      agentEndpoint: bed.agent.url,
      config: { adk: { appName: 'test_agent' } },
    });
  });

  it('adds a route to a model server, and shows its models', async () => {
    const { page, goTo } = await open();
    await goTo('routes/new');
    await button(page, 'Choose the kind by hand').click();
    await page.getByLabel('Name', { exact: true }).fill('model');
    await page.getByLabel('Chat', { exact: true }).selectOption('One person or group');
    await page.getByLabel('Number or group').fill('+54 9 3777 239922');
    await page.getByLabel('Agent kind').selectOption('openai');
    await page.getByLabel('Address of the agent').fill(openAi.url);
    await page.getByLabel('Model (required)').fill('gpt-test');
    await card(page, 'Which agent').locator('summary').click();
    await page.getByLabel('Temperature').fill('0.5');
    await page.getByLabel('Images').selectOption('Yes');
    await button(page, 'Test').click();
    await trial(page, 'Test the agent')
      .getByText(/model gpt-test/)
      .waitFor();
    await button(page, 'Save').click();
    await page.getByRole('link', { name: 'model' }).waitFor();
    expect(await routeNamed('model')).toMatchObject({
      channelId: '5493777239922',
      config: { openai: { model: 'gpt-test', temperature: 0.5, images: true } },
    });
  });

  it('adds a route to an ABI agent: functions one per line, an answer that is a file', async () => {
    const { page, goTo } = await open();
    await goTo('routes/new');
    await button(page, 'Choose the kind by hand').click();
    await page.getByLabel('Name', { exact: true }).fill('charts');
    await page.getByLabel('Agent kind').selectOption('abi');
    await page.getByLabel('Address of the agent').fill(bed.agent.url);
    const functions = page.getByLabel('Functions (required)');
    const signatures = [
      'struct Point { uint256 x; uint256 y; }',
      'function draw(Point[] points) returns (bytes chart, string title)',
    ];
    await functions.fill(`${signatures.join('\n')}\n`);
    await page.getByLabel('Function', { exact: true }).fill('draw');
    await page.getByLabel('Output', { exact: true }).selectOption('File');
    await page.getByRole('textbox', { name: 'Image' }).fill('{{chart}}');
    await page.getByLabel('Caption').fill('{{title}}');
    await expectAccessible(page);
    await button(page, 'Save').click();
    await page.getByRole('link', { name: 'charts' }).waitFor();
    const output = { image: '{{chart}}', caption: '{{title}}' };
    expect((await routeNamed('charts')).config.abi).toEqual({
      functions: signatures,
      function: 'draw',
      output,
    });

    await page.getByRole('link', { name: 'charts' }).click();
    await expect.poll(() => functions.inputValue()).toBe(signatures.join('\n'));
    await functions.fill('http://localhost:9/manifest.json');
    await page.getByLabel('Function', { exact: true }).fill('');
    await page.getByLabel('Output', { exact: true }).selectOption('Text');
    await page.getByLabel('Output: Text').fill('It is {{title}}.');
    await button(page, 'Save').click();
    await page.getByRole('link', { name: 'charts' }).waitFor();
    expect((await routeNamed('charts')).config.abi).toEqual({
      functions: 'http://localhost:9/manifest.json',
      output: 'It is {{title}}.',
    });
  });

  it('shows what would have changed before a route is saved, and keeps the stored secret', async () => {
    const { id } = await routeNamed('all');
    const headers = { Authorization: 'Bearer s3cret' };
    await api('PATCH', `/api/routes/${id}`, { config: { adk: { headers } } });
    const { page, goTo } = await open();
    await goTo('routes');
    await page.getByRole('link', { name: 'all' }).click();
    await unfold(page, 'When, and which messages');
    await page.getByLabel('Pattern').fill('^help');
    await button(page, 'Compare').click();
    const preview = trial(page, 'What would have changed');
    await preview.getByText('1 / 2').waitFor();
    await preview.locator('summary').click();
    await preview.getByRole('cell', { name: 'hello', exact: true }).waitFor();
    await preview.getByRole('cell', { name: 'no route (no-match)' }).waitFor();
    await expectAccessible(page);
    expect((await routeNamed('all')).regexFilter).toBeUndefined();
    await button(page, 'Test').click();
    await trial(page, 'Test the agent').getByText('The agent answers').waitFor();
    await button(page, 'Save').click();
    await page.locator('.route-table code', { hasText: '^help' }).waitFor();
    expect(await routeNamed('all')).toMatchObject({
      regexFilter: '^help',
      config: { adk: { headers: { Authorization: '***' } } },
    });
    await api('PATCH', `/api/routes/${id}`, { config: { adk: { headers: null } } });
  });

  it('edits the config as JSON, and says when it is none', async () => {
    const { id } = await routeNamed('all');
    const shown = await open();
    const { page, goTo } = shown;
    await goTo(`routes/${id}`);
    await button(page, 'Edit as JSON').click();
    const raw = page.getByLabel('Address and config (JSON)');
    const value = JSON.parse(await raw.inputValue());
    await raw.fill('{');
    await page.getByText('This is not JSON').waitFor();
    expect(await button(page, 'Save').isDisabled()).toBe(true);
    await raw.fill(JSON.stringify({ ...value, config: { ...value.config, quota: { messages: 7 } } }));
    await button(page, 'Edit as JSON').click();
    await unfold(page, 'How it answers');
    await page.locator('details details summary', { hasText: 'Quota' }).click();
    await expect
      .poll(() => page.getByLabel('Messages of a person that are answered', { exact: true }).inputValue())
      .toBe('7');
    await page.getByLabel('Messages of a person that are answered', { exact: true }).fill('x');
    await button(page, 'Save').click();
    await expect
      .poll(() =>
        page
          .getByLabel('Messages of a person that are answered', { exact: true })
          .getAttribute('aria-invalid'),
      )
      .toBe('true');
    forgetRefusals(shown);
    await page.getByLabel('Messages of a person that are answered', { exact: true }).fill('');
    await page.getByLabel('Name', { exact: true }).fill('all');
    await button(page, 'Save').click();
    await page.locator('.route-table').waitFor();
    expect((await routeNamed('all')).config.quota).toBeUndefined();
  });

  it('changes the order by mouse and by keyboard, which a second browser sees', async () => {
    await addRoute('one', { priority: 3 });
    await addRoute('two', { priority: 2 });
    await addRoute('own', { channelId: '5493777239922' });
    const [first, second] = [await open(), await open()];
    await Promise.all([first.goTo('routes'), second.goTo('routes')]);
    const { page } = first;
    expect(await names(page)).toEqual(['own', 'one', 'two', 'all']);

    const middleOf = async (name: string) => {
      const box = await page.getByRole('button', { name: `Move ${name}`, exact: true }).boundingBox();
      if (!box) throw new Error(`no handle of ${name}`);
      return [box.x + box.width / 2, box.y + box.height / 2] as const;
    };
    await page.mouse.move(...(await middleOf('two')));
    await page.mouse.down();
    await page.mouse.move(...(await middleOf('one')), { steps: 5 });
    await page.locator('.drop-before').waitFor();
    await page.mouse.up();
    await expect.poll(() => names(second.page)).toEqual(['own', 'two', 'one', 'all']);
    await expect.poll(() => names(page)).toEqual(['own', 'two', 'one', 'all']);

    const grip = button(page, 'Move two');
    await grip.focus();
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => names(second.page)).toEqual(['own', 'one', 'two', 'all']);
    await expect.poll(() => names(page)).toEqual(['own', 'one', 'two', 'all']);
    await page.getByText('two: place 2 of 3.').waitFor();
    await expect.poll(() => grip.evaluate((element) => element.matches(':focus'))).toBe(true);
    await choose(page, 'Move up', 'Actions for all');
    await expect.poll(() => names(second.page)).toEqual(['own', 'one', 'all', 'two']);
    // The new order is shown before a row is dragged.
    await expect.poll(() => names(page)).toEqual(['own', 'one', 'all', 'two']);
    // A route of a chat always comes before the routes for every chat.
    await button(page, 'Actions for own').click();
    await page.getByRole('menuitem', { name: 'Switch off' }).waitFor();
    expect(await page.getByRole('menuitem', { name: 'Move down' }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await page.mouse.move(...(await middleOf('two')));
    await page.mouse.down();
    await page.mouse.move(...(await middleOf('own')), { steps: 5 });
    await page.mouse.up();
    await page.getByText('The route stays where it is.').waitFor();
    expect(await names(page)).toEqual(['own', 'one', 'all', 'two']);
    await Promise.all([expectAccessible(page), expectAccessible(second.page)]);
  });

  it('changes the order by touch, on a phone', async () => {
    await addRoute('one', { priority: 3 });
    const { page, goTo } = await open({ widthPx: 390 });
    await goTo('routes');
    expect(await names(page)).toEqual(['one', 'all']);
    const centre = async (name: string) => {
      const box = await button(page, `Move ${name}`).boundingBox();
      return { x: (box?.x ?? 0) + 8, y: (box?.y ?? 0) + 8 };
    };
    await button(page, 'Move all').scrollIntoViewIfNeeded();
    const [from, to] = [await centre('all'), await centre('one')];
    const touch = await page.context().newCDPSession(page);
    const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', touchPoints: Array<typeof from>) =>
      touch.send('Input.dispatchTouchEvent', { type, touchPoints });
    await send('touchStart', [from]);
    for (const part of [0.3, 0.6, 0.9, 1]) {
      await send('touchMove', [{ x: from.x, y: from.y + (to.y - from.y) * part }]);
    }
    await page.locator('.drop-before').waitFor();
    await send('touchEnd', []);
    await expect.poll(() => names(page)).toEqual(['all', 'one']);
    await expect.poll(async () => (await routeNamed('all')).priority).toBe(20);
  });

  it('shows of each route when it is used, whether its agent answers, and the messages of the day', async () => {
    await addRoute('vip', {
      priority: 9,
      regexFilter: '^order',
      config: {
        adk: { appName: 'a' },
        when: {
          ...{ days: ['mon', 'tue', 'wed', 'sat'], hours: '18:00-09:00', timeZone: 'Europe/Madrid' },
          ...{ tags: ['vip'], languages: ['es', 'pt'], kinds: ['voice'], isGroup: false, percent: 25 },
        },
      },
    });
    await addRoute('down', { agentEndpoint: 'http://127.0.0.1:9' });
    await addRoute('resting', { agentEndpoint: 'http://127.0.0.1:9', enabled: false });
    const { page, goTo } = await open();
    await goTo('routes');
    const row = (name: string) =>
      page.locator('.route-table tbody tr').filter({ has: page.getByRole('link', { name, exact: true }) });
    const conditions = row('vip').getByRole('list', { name: 'Conditions' }).getByRole('listitem');
    expect(await conditions.allTextContents()).toEqual([
      'text contains ^order',
      'Mon–Wed, Sat 18:00-09:00 (Europe/Madrid)',
      'tag vip',
      'in Spanish or Portuguese',
      'voice note',
      'not in groups',
      '25% of the chats',
    ]);
    expect(await row('all').getByRole('listitem').count()).toBe(0);
    await row('all').getByText('answers', { exact: true }).waitFor();
    await row('down').getByText('does not answer', { exact: true }).waitFor();
    await row('down')
      .getByText(/cannot be reached/)
      .waitFor();
    await row('down').getByText('0 messages').waitFor();
    expect(await row('resting').locator('.health').count()).toBe(0);
    await expectAccessible(page);
  });

  it('shows versions with their changes, and restores one', async () => {
    const id = await addRoute('versioned', { enabled: false });
    await api('PATCH', `/api/routes/${id}`, { priority: 4, config: { reply: { maxChars: 300 } } });
    const { page, goTo } = await open();
    await goTo('routes');
    await choose(page, 'Versions', 'More actions');
    await page.getByRole('heading', { level: 1, name: 'Versions' }).waitFor();
    await choose(page.locator('tbody tr').first(), 'Show changes');
    const row = page.locator('.diff tr', { hasText: 'Priority' });
    await row.locator('del', { hasText: '0' }).waitFor();
    await row.locator('ins', { hasText: '4' }).waitFor();
    await page.locator('.diff tr', { hasText: 'Replies › Longest message (characters)' }).waitFor();
    await expectAccessible(page);
    const dialog = page.getByRole('dialog');
    await button(dialog, 'Close').click();
    await choose(page.locator('tbody tr').nth(1), 'Restore');
    await dialog.locator('.diff tr', { hasText: 'Priority' }).locator('ins', { hasText: '0' }).waitFor();
    await expectAccessible(page);
    await button(dialog, 'Restore').click();
    await page.getByText('Version restored.').waitFor();
    await page
      .getByText(/Restored version/)
      .first()
      .waitFor();
    const restored = await routeNamed('versioned');
    expect(restored).toMatchObject({ id, priority: 0, enabled: false });
    expect(restored.config.reply).toBeUndefined();
  });

  it('exports the routes, and imports a file after it has shown what changes', async () => {
    await addRoute('sold', { enabled: false });
    const { page, goTo } = await open();
    await goTo('routes');
    const folder = await mkdtemp(join(tmpdir(), 'wa2ai-routes-'));
    try {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        choose(page, 'Export', 'More actions'),
      ]);
      const file = join(folder, 'routes.yaml');
      await download.saveAs(file);
      expect(download.suggestedFilename()).toBe('routes.yaml');
      const yaml = await readFile(file, 'utf8');
      await choose(page, 'Import', 'More actions');
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('File').setInputFiles({
        name: 'routes.yaml',
        mimeType: 'application/yaml',
        buffer: Buffer.from(yaml.replace('name: sold', 'name: bought')),
      });
      await expect.poll(() => dialog.getByLabel('Routes as YAML or JSON').inputValue()).toContain('bought');
      await expectAccessible(page);
      await button(dialog, 'Show changes').click();
      await dialog.locator('ins', { hasText: 'bought' }).waitFor();
      await expectAccessible(page);
      expect(await routeNamed('bought')).toBeUndefined();
      await button(dialog, 'Apply').click();
      await page.getByRole('link', { name: 'bought' }).waitFor();
      expect(await routeNamed('sold')).toBeUndefined();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('says which lines of an imported file are wrong', async () => {
    const shown = await open();
    const { page, goTo } = shown;
    await goTo('routes');
    await choose(page, 'Import', 'More actions');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Routes as YAML or JSON').fill('routes: [{ name: x, channelId: "no" }]');
    await button(dialog, 'Show changes').click();
    await dialog.getByText('routes.0.channelId').first().waitFor();
    forgetRefusals(shown);
  });

  it('deletes a route after it has shown which messages it took', async () => {
    await addRoute('help', { priority: 9, regexFilter: '^help' });
    const { page, goTo } = await open();
    await goTo('routes');
    await choose(page.getByRole('row', { name: /help/ }), 'Delete');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('1 / 2').waitFor();
    await expectAccessible(page);
    await button(dialog, 'Delete').click();
    await page.getByRole('link', { name: 'help', exact: true }).waitFor({ state: 'detached' });
  });

  it('shows what is likely to go wrong with a route that it saved', async () => {
    const id = await addRoute('moved', {
      enabled: false,
      config: { adk: { appName: 'a', headers: { Authorization: 'Bearer s3cret' } } },
    });
    const { page, goTo } = await open();
    await goTo(`routes/${id}`);
    await page.getByLabel('Address of the agent').fill('http://127.0.0.1:9');
    await button(page, 'Save').click();
    const notice = page.locator('.notice', { hasText: 'Stored: moved. These problems are likely:' });
    await notice
      .getByText(/The stored secret was removed because the address of the agent changed/)
      .waitFor();
    await notice.getByText(/cannot be reached/).waitFor();
    await expectAccessible(page);
  });

  it('has accessible dialogs in the dark theme', async () => {
    await addRoute('dark', { enabled: false });
    const { page, goTo } = await open({ theme: 'dark' });
    await goTo('routes');
    const dialog = page.getByRole('dialog');
    await choose(page, 'Import', 'More actions');
    await dialog
      .getByLabel('Routes as YAML or JSON')
      .fill('routes: [{ name: dark, channelId: "*", priority: 3 }]');
    await expectAccessible(page);
    await button(dialog, 'Show changes').click();
    await dialog.locator('ins', { hasText: '3' }).waitFor();
    await expectAccessible(page);
    await button(dialog, 'Close').click();
    await choose(page.getByRole('row', { name: /dark/ }), 'Delete');
    await dialog.getByText(/\d \/ \d/).waitFor();
    await expectAccessible(page);
    await button(dialog, 'Cancel').click();
    await goTo('routes/versions');
    await choose(page.locator('tbody tr').nth(1), 'Restore');
    await dialog.locator('.route-changes').waitFor();
    await expectAccessible(page);
  });

  it('says that another person changed the route that is edited', async () => {
    const { id } = await routeNamed('all');
    const { page, goTo } = await open();
    await goTo(`routes/${id}`);
    await page.getByLabel('Name', { exact: true }).fill('mine');
    await api('PATCH', `/api/routes/${id}`, { priority: 6 });
    await page.getByText('Somebody changed this route meanwhile.').waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('mine');
    mayComplain(/412 \(Precondition Failed\)/);
    await button(page, 'Save').click();
    await page.getByRole('alert').getByText('It was changed meanwhile').waitFor();
    expect(await routeNamed('all')).toMatchObject({ priority: 6 });
    await button(page, 'Load again').click();
    await expect.poll(() => page.getByLabel('Priority').inputValue()).toBe('6');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('all');
    await page.getByLabel('Name', { exact: true }).fill('mine');
    await api('PATCH', `/api/routes/${id}`, { priority: 7 });
    await button(page, 'Save anyway').click();
    await page.getByRole('heading', { level: 1, name: 'Routes' }).waitFor();
    expect(await routeNamed('mine')).toMatchObject({ id, priority: 7 });
    await api('PATCH', `/api/routes/${id}`, { name: 'all' });
  });

  it.each([
    ['light', 1280, 'en-US'],
    ['dark', 390, 'es-ES'],
  ] as const)('is accessible with every section open, %s at %i px, %s', async (theme, widthPx, language) => {
    const { page, goTo } = await open({ theme, widthPx, language });
    for (const path of ['routes/new', 'routes/versions']) {
      await goTo(path);
      if (path === 'routes/new') {
        await page.getByRole('button', { name: /by hand|a mano/ }).click();
        await page.getByRole('heading', { name: /^(Advanced|Avanzado)$/ }).waitFor();
      }
      const closed = page.locator('details:not([open]) > summary');
      while ((await closed.count()) > 0) await closed.first().click();
      await expectAccessible(page);
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(widthPx);
    }
  });
});
