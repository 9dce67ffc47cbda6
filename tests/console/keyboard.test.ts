import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import type { Person } from '../whatsapp-emulator/person.ts';
import { consolesOf } from './consoles.ts';

let bed: TestBed;
let receiver: WebhookReceiver;
const { open } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  [bed, receiver] = await Promise.all([TestBed.startPaired(), WebhookReceiver.start()]);
});
afterAll(async () => {
  await receiver?.stop();
  await bed?.close();
});

/** What an operator may have to press Tab or an arrow for something: the form of a route has so many fields. */
const MAX_STOPS = 60;

const api = async (method: string, path: string, body?: object) => {
  const answer = await bed.service.api(method, path, body);
  expect(answer.status, path).toBeLessThan(300);
  return answer.body;
};

async function chatOf(person: Person): Promise<Record<string, unknown>> {
  const { data } = await api('GET', `/api/chats?channelId=${person.phone}`);
  return (data as [Record<string, unknown>])[0];
}

/** Somebody whose message was answered. */
async function someone(name: string): Promise<Person> {
  const person = bed.person({ name });
  await person.say('hello', { to: bed.phone });
  await person.nextReply();
  return person;
}

const hasFocus = (target: Locator) =>
  target.evaluate((element) => element === element.ownerDocument.activeElement);

/** What an operator does with the keys, from the page Start on. */
class Keys {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** Goes with Tab to an element, which shows that it has the focus. */
  async to(target: Locator): Promise<void> {
    await target.waitFor();
    for (let stops = 0; !(await hasFocus(target)); stops += 1) {
      if (stops === MAX_STOPS) throw new Error(`${stops} stops do not reach ${target}`);
      await this.page.keyboard.press('Tab');
    }
    expect(await this.page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).not.toBe(
      'none',
    );
  }

  /** Waits until the focus is where an operator goes on, without Tab. */
  async isAt(target: Locator): Promise<void> {
    await target.waitFor();
    await expect.poll(() => hasFocus(target)).toBe(true);
  }

  async press(target: Locator): Promise<void> {
    await this.to(target);
    await this.page.keyboard.press('Enter');
  }

  /** Opens the menu of a row or card, and goes with the arrow to an action. */
  async choose(where: Locator, action: string): Promise<void> {
    await this.press(where.getByRole('button', { name: /^Actions for / }));
    const item = where.getByRole('menuitem', { name: action, exact: true });
    await item.waitFor();
    for (let stops = 0; !(await hasFocus(item)); stops += 1) {
      if (stops === MAX_STOPS) throw new Error(`the arrow does not reach ${action}`);
      await this.page.keyboard.press('ArrowDown');
    }
    await this.page.keyboard.press('Enter');
  }

  async write(target: Locator, text: string): Promise<void> {
    await this.to(target);
    await this.page.keyboard.press('Control+a');
    await this.page.keyboard.type(text);
  }

  /** Finds something with Ctrl-K and opens it. */
  async find(words: string, wanted: RegExp): Promise<void> {
    const { page } = this;
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Search pages/ }).waitFor();
    await page.keyboard.type(words);
    await page.getByRole('option', { name: wanted }).first().waitFor();
    const chosen = page.locator('#search-results [aria-selected=true]');
    for (let stops = 0; !wanted.test((await chosen.textContent()) ?? ''); stops += 1) {
      if (stops === MAX_STOPS) throw new Error(`the arrow does not reach ${wanted}`);
      await page.keyboard.press('ArrowDown');
    }
    await page.keyboard.press('Enter');
  }

  async openPage(name: string): Promise<void> {
    await this.find(name, new RegExp(`^${name}`));
    await this.page.getByRole('heading', { level: 1, name }).waitFor();
  }
}

async function start(): Promise<Keys> {
  const { page, goTo } = await open();
  await goTo('');
  return new Keys(page);
}

describe('an operator, with the keyboard alone,', () => {
  it('adds an account, up to the code for the phone', async () => {
    const keys = await start();
    const { page } = keys;
    await keys.openPage('Accounts');
    await keys.press(page.getByRole('button', { name: 'Add account' }));
    await keys.write(page.getByLabel('Name'), 'sales');
    await page.keyboard.press('Enter');
    const card = page.locator('.card').filter({ has: page.getByRole('heading', { name: 'sales' }) });
    await card.getByRole('img', { name: 'QR code that links a phone' }).waitFor();
    // The focus is again at the button, and then in the field.
    await keys.isAt(page.getByRole('button', { name: 'Add account' }));
    await keys.press(card.getByRole('button', { name: 'Link with phone number' }));
    await keys.isAt(card.getByLabel('Phone number'));
    await page.keyboard.type('+34 600 000 001');
    await page.keyboard.press('Enter');
    await expect.poll(() => card.locator('.pairing-code').textContent()).toMatch(/^[A-Z0-9-]{8,9}$/);
    await keys.choose(card, 'Delete');
    await keys.press(page.getByRole('dialog').getByRole('button', { name: 'Delete' }));
    await card.waitFor({ state: 'detached' });
  });

  it('adds a route by the address of its agent, after a test message', async () => {
    const keys = await start();
    const { page } = keys;
    await keys.openPage('Routes');
    await keys.press(page.getByRole('link', { name: 'Add route' }));
    await keys.write(page.getByLabel('Where does the agent answer?'), bed.agent.url);
    await page.keyboard.press('Enter');
    await keys.write(page.getByLabel('Name', { exact: true }), 'Night desk');
    const test = page
      .locator('.card')
      .filter({ has: page.getByRole('heading', { name: 'Send a test message' }) });
    await keys.write(test.getByLabel('Message'), 'are you there?');
    await page.keyboard.press('Enter');
    await test.locator('.answer').getByText('are you there?').waitFor();
    await keys.press(page.getByRole('button', { name: 'Save', exact: true }));
    await page.getByRole('link', { name: 'Night desk' }).waitFor();
  });

  it('lets a stranger in, where the page Start asks', async () => {
    await bed.converse({ access: { people: 'approved' } });
    const keys = await start();
    const { page } = keys;
    const ana = bed.person({ name: 'Ana' });
    await ana.say('May I?', { to: bed.phone });
    const item = page.getByRole('listitem').filter({ hasText: 'Ana waits for your approval' });
    await keys.press(item.getByRole('button', { name: 'Approve' }));
    await expect.poll(async () => (await ana.nextReply()).text).toContain('May I?');
    await bed.converse({});
  });

  it('corrects a draft and sends it', async () => {
    const eve = await someone('Eve');
    await api('POST', `/api/chats/${(await chatOf(eve)).id}/pause`, { mode: 'approve' });
    const keys = await start();
    const { page } = keys;
    await eve.say('When do you open?', { to: bed.phone });
    const item = page.getByRole('listitem').filter({ hasText: 'Answer to Eve' });
    await keys.write(item.getByLabel('Text of the draft'), 'At nine.');
    await keys.press(item.getByRole('button', { name: 'Send the draft' }));
    expect(await eve.nextReply()).toMatchObject({ text: 'At nine.' });
  });

  it('replays a dead letter when its agent works again', async () => {
    const tom = bed.person({ name: 'Tom' });
    const failing = await bed.anotherAgent(['--fail', '400']);
    const { id } = await bed.service.addRoute(tom.phone, failing.url);
    await tom.say('hello again', { to: bed.phone });
    await tom.nextReply();
    await api('DELETE', `/api/routes/${id}`);
    const keys = await start();
    await keys.openPage('Dead letters');
    await keys.press(keys.page.getByRole('button', { name: 'Replay: Tom' }));
    expect((await tom.nextReply()).text).toContain('hello again');
  });

  it('finds a chat, and reads the trace of its message', async () => {
    await someone('Zacarías');
    const keys = await start();
    const { page } = keys;
    await keys.find('Zacar', /^Zacarías/);
    await page.getByRole('log').waitFor();
    const button = page.getByRole('button', { name: 'Trace' });
    await keys.press(button);
    const trace = page.getByRole('complementary', { name: 'Trace' });
    await trace.getByText('This rule takes the message.').waitFor();
    await page.keyboard.press('Escape');
    await trace.waitFor({ state: 'detached' });
    await keys.isAt(button);
  });

  it('pauses a chat for two hours', async () => {
    const kim = await someone('Kim');
    const keys = await start();
    const { page } = keys;
    await keys.find('Kim', /^Kim/);
    await keys.press(page.getByRole('button', { name: 'Details' }));
    const panel = page.getByRole('complementary', { name: 'Details' });
    await keys.to(panel.getByLabel('For how long'));
    await page.keyboard.press('ArrowDown');
    await keys.press(panel.getByRole('button', { name: 'Pause' }));
    await panel.getByText('Saved.').waitFor();
    expect((await chatOf(kim)).pause).toMatchObject({ mode: 'listen-only', until: expect.any(String) });
  });

  it('makes a key for a program', async () => {
    const keys = await start();
    const { page } = keys;
    await keys.openPage('Keys');
    await keys.press(page.getByRole('button', { name: 'Create key' }));
    await keys.write(page.getByLabel('Name'), 'reports');
    await keys.to(page.getByRole('checkbox', { name: 'messages:send' }));
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').locator('pre').waitFor();
    await keys.press(page.getByRole('button', { name: 'Done' }));
    await page.getByRole('row', { name: /reports.*messages:send/ }).waitFor();
    await keys.isAt(page.getByRole('button', { name: 'Create key' }));
  });

  it('adds a webhook and tests it', async () => {
    const keys = await start();
    const { page } = keys;
    await keys.openPage('Webhooks');
    await keys.press(page.getByRole('button', { name: 'Add webhook' }));
    await keys.write(page.getByLabel('Address'), receiver.url);
    await page.keyboard.press('Enter');
    await keys.press(page.getByRole('button', { name: 'Done' }));
    await keys.choose(page.getByRole('row', { name: new RegExp(receiver.url) }), 'Test');
    await page.getByText('The receiver accepted the test event with status 200.').waitFor();
  });

  it('changes a setting', async () => {
    const keys = await start();
    const { page } = keys;
    await keys.openPage('Settings');
    await keys.press(page.getByRole('link', { name: 'Sending' }));
    const field = page.locator('[data-setting="firstContacts.perDay"] input');
    await keys.write(field, '40');
    await page.keyboard.press('Enter');
    await page.getByText('Saved.', { exact: true }).waitFor();
    const { data } = await api('GET', '/api/settings/governor');
    expect(data).toMatchObject({ stored: { firstContacts: { perDay: 40 } } });
  });
});
