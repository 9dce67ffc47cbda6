import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import type { Person } from '../whatsapp-emulator/person.ts';
import { expectAccessible, type OpenConsole } from './browser.ts';
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

const api = async (method: string, path: string, body?: object) => {
  const answer = await bed.service.api(method, path, body);
  expect(answer.status, path).toBeLessThan(300);
  return answer.body;
};

const partsOf = ({ page }: OpenConsole) => ({
  section: page.getByRole('region', { name: 'Needs you' }),
  items: page.getByRole('region', { name: 'Needs you' }).getByRole('listitem'),
  link: page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^Start/ }),
});

const focused = ({ page }: OpenConsole) =>
  page.evaluate<string>('document.activeElement?.textContent?.trim() ?? ""');

/** Somebody whose chat asks before each answer. */
async function aDrafted(name: string): Promise<Person> {
  const person = bed.person({ name });
  await person.say('hello', { to: bed.phone });
  await person.nextReply();
  const { data } = await api('GET', `/api/chats?channelId=${person.phone}`);
  const [chat] = data as Array<{ id: string }>;
  await api('POST', `/api/chats/${chat?.id}/pause`, { mode: 'approve' });
  return person;
}

/** Somebody whose messages an agent refuses, and the route to it. */
async function aRefused(name: string): Promise<{ person: Person; routeId: string }> {
  const person = bed.person({ name });
  const agent = await bed.anotherAgent(['--fail', '400']);
  const { id } = await bed.service.addRoute(person.phone, agent.url);
  await person.say('hello', { to: bed.phone });
  expect((await person.nextReply()).text).toContain('I cannot answer right now');
  return { person, routeId: id };
}

// One story, from the first message on.
describe('the page Start', () => {
  it('shows the steps alone before the first message', async () => {
    const shown = await open();
    await shown.goTo('');
    const { section, link } = partsOf(shown);
    await shown.page.getByRole('heading', { name: 'Next steps' }).waitFor();
    expect(await shown.page.locator('main').getByRole('heading').count()).toBe(2);
    expect(await link.textContent()).toBe('Start');
    await bed.person().say('hello', { to: bed.phone });
    await section.getByText('Nothing needs you.').waitFor();
    await expectAccessible(shown.page);
  });

  it('lets an operator change and send, or drop, what waits for approval', async () => {
    const [eve, rob] = [await aDrafted('Eve'), await aDrafted('Rob')];
    const shown = await open();
    const { page, goTo } = shown;
    await goTo('');
    const { section, items, link } = partsOf(shown);
    await eve.say('when do you open?', { to: bed.phone });
    await section.getByRole('heading', { name: 'Answer to Eve' }).waitFor();
    expect(await section.getByRole('status').textContent()).toBe('1 thing waits for you.');
    await rob.say('where are you?', { to: bed.phone });
    await expect.poll(() => items.count()).toBe(2);
    await expect.poll(() => link.textContent()).toBe('Start2 2 things wait for you.');
    await expectAccessible(page);
    const ofEve = items.filter({ hasText: 'Answer to Eve' });
    await ofEve.getByLabel('Text of the draft').fill('At nine.');
    await ofEve.getByRole('button', { name: 'Send the draft' }).click();
    expect(await eve.nextReply()).toMatchObject({ text: 'At nine.' });
    await page.getByText('The draft is being sent.').waitFor();
    await items.getByRole('button', { name: 'Drop the draft' }).click();
    await section.getByText('Nothing needs you.').waitFor();
    expect((await api('GET', '/api/drafts')).count).toBe(0);
    await expect.poll(() => link.textContent()).toBe('Start');
  });

  it('names the group in which an answer waits', async () => {
    const ana = bed.person({ name: 'Ana' });
    const { jid: to } = createGroup(bed.emulator, { subject: 'Weekend team', members: [ana, bed.phone] });
    await bed.service.addRoute(to, bed.agent.url, { config: { group: { answer: 'always' } } });
    await ana.say('hello', { to });
    await ana.nextReply();
    const { data } = await api('GET', `/api/chats?channelId=${encodeURIComponent(to)}`);
    const [chat] = data as [{ id: string }];
    await expect
      .poll(async () => (await api('GET', `/api/chats/${chat.id}`)).data)
      .toMatchObject({ name: 'Weekend team' });
    await api('POST', `/api/chats/${chat.id}/pause`, { mode: 'approve' });
    await bed.untilTurnEnded(await ana.say('who opens tomorrow?', { to }));
    const shown = await open();
    await shown.goTo('');
    const { section, items } = partsOf(shown);
    await section.getByRole('heading', { name: 'Answer to Weekend team' }).waitFor();
    await items.getByRole('button', { name: 'Drop the draft' }).click();
    await section.getByText('Nothing needs you.').waitFor();
  });

  it('is used with the keyboard alone, and the focus goes to what is next', async () => {
    const [eve, rob, zoe] = [await aDrafted('Eve'), await aDrafted('Rob'), await aDrafted('Zoe')];
    for (const person of [eve, rob, zoe]) {
      await bed.untilTurnEnded(await person.say('when do you open?', { to: bed.phone }));
    }
    const shown = await open();
    const { page, goTo } = shown;
    await goTo('');
    const { section, items } = partsOf(shown);
    await expect.poll(() => items.count()).toBe(3);
    while ((await focused(shown)) !== 'Answer to Eve') await page.keyboard.press('Tab');
    await page.keyboard.press('j');
    expect(await focused(shown)).toBe('Answer to Rob');
    await page.keyboard.press('ArrowDown');
    expect(await focused(shown)).toBe('Answer to Zoe');
    await page.keyboard.press('k');
    // Its text, then its button.
    await page.keyboard.press('Tab');
    await page.keyboard.type('j');
    await page.keyboard.press('Tab');
    expect(await focused(shown)).toBe('Send the draft');
    await page.keyboard.press('Enter');
    expect((await rob.nextReply()).text).toContain('j');
    await expect.poll(() => focused(shown)).toBe('Answer to Zoe');
    for (let n = 0; n < 3; n++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => focused(shown)).toBe('Answer to Eve');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Eve', exact: true }).waitFor();
    await page.goBack();
    await items.getByRole('button', { name: 'Drop the draft' }).focus();
    await page.keyboard.press('Enter');
    await section.getByText('Nothing needs you.').waitFor();
    await expect.poll(() => focused(shown)).toBe('Needs you');
  });

  it('lets strangers in, or not', async () => {
    await bed.converse({ access: { people: 'approved' } });
    const [ana, mia] = [bed.person({ name: 'Ana' }), bed.person({ name: 'Mia' })];
    const shown = await open();
    await shown.goTo('');
    const { section, items } = partsOf(shown);
    await ana.say('May I?', { to: bed.phone });
    await mia.say('And I?', { to: bed.phone });
    const ofAna = items.filter({ hasText: 'Ana waits for your approval' });
    await ofAna.getByText('May I?').waitFor();
    await ofAna.getByRole('button', { name: 'Approve' }).click();
    await expect.poll(async () => (await ana.nextReply()).text).toContain('May I?');
    await items.filter({ hasText: 'Mia' }).getByRole('button', { name: 'Refuse' }).click();
    await section.getByText('Nothing needs you.').waitFor();
    expect((await api('GET', `/api/chats?channelId=${mia.phone}`)).data).toMatchObject([
      { access: 'refused' },
    ]);
    await bed.converse({});
  });

  it('says whom a program has asked without an answer', async () => {
    const kim = bed.person({ name: 'Kim' });
    await kim.say('hello', { to: bed.phone });
    await kim.nextReply();
    const { data } = await api('GET', `/api/chats?channelId=${kim.phone}`);
    const [{ id }] = data as [{ id: string }];
    await bed.database.open().execute(sql`
      INSERT INTO person_question (id, account_id, chat_id, state, asked_at, remind_at, deadline_at)
      VALUES ('blue-or-green', 'default', ${id}::bigint, 'open', now() - interval '2 hours', now() - interval '1 minute',
        now() + interval '2 hours')`);
    const shown = await open();
    await shown.goTo('');
    const { section, items } = partsOf(shown);
    const asked = items.filter({ hasText: 'Kim has not answered a question' });
    await asked.getByText('The question closes in 2 hours.').waitFor();
    await expectAccessible(shown.page);
    await kim.say('Blue', { to: bed.phone });
    await section.getByText('Nothing needs you.').waitFor();
    await kim.nextReply();
  });

  it('replays or closes what was given up, by reason', async () => {
    const [tom, ida] = [await aRefused('Tom'), await aRefused('Ida')];
    const shown = await open();
    const { page, goTo } = shown;
    await goTo('');
    const { section, items } = partsOf(shown);
    await items.getByRole('heading', { name: '2 dead letters: AGENT_PROTOCOL' }).waitFor();
    await expectAccessible(page);
    await api('DELETE', `/api/routes/${tom.routeId}`);
    await items.getByRole('button', { name: 'Replay all' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
    expect((await tom.person.nextReply()).text).toContain('hello');
    // The agent of Ida still refuses.
    await items.getByRole('heading', { name: '1 dead letter: AGENT_PROTOCOL' }).waitFor();
    await items.getByRole('button', { name: 'Close all' }).click();
    await page.getByText('1 dead letter closed.').waitFor();
    await section.getByText('Nothing needs you.').waitFor();
    await api('DELETE', `/api/routes/${ida.routeId}`);
  });

  it('tries a webhook again that pauses, and says when an account needs a phone', async () => {
    receiver.answer = () => 500;
    const { data } = await api('POST', '/api/webhooks', { url: receiver.url, events: ['message'] });
    const { id } = data as { id: string };
    const shown = await open();
    const { page, goTo } = shown;
    await goTo('');
    const { section, items } = partsOf(shown);
    // As after many failures: the next one is followed by a long pause.
    await bed.database.open().execute(sql`UPDATE webhook SET failures = 20 WHERE id = ${id}`);
    await bed.person().say('hello', { to: bed.phone });
    const failing = items.filter({ hasText: `Events do not reach ${receiver.url}` });
    await failing.getByText(/Next attempt: in .*1 event waits/).waitFor();
    await expectAccessible(page);
    receiver.answer = () => 200;
    await failing.getByRole('button', { name: 'Try now' }).click();
    await section.getByText('Nothing needs you.').waitFor();
    await expect.poll(() => receiver.taken.length).toBe(1);
    await api('POST', '/api/accounts', { id: 'sales' });
    const account = items.filter({ hasText: 'Account sales' });
    await account.getByRole('link', { name: 'Link a phone' }).click();
    await page.getByRole('heading', { level: 1, name: 'Accounts' }).waitFor();
    await api('DELETE', '/api/accounts/sales');
  });

  it.each([
    ['es-ES', 'light', 'Le espera'],
    ['pt-BR', 'dark', 'Precisa de você'],
  ] as const)('fits a phone of 390 px, in %s', async (language, theme, title) => {
    const eve = await aDrafted('Evangelina Montserrat de la Concepción y Todos los Santos');
    await bed.untilTurnEnded(await eve.say('when? '.repeat(40), { to: bed.phone }));
    const { page, goTo } = await open({ language, theme, widthPx: 390 });
    await goTo('');
    await page.getByRole('region', { name: title }).getByRole('listitem').first().waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await expectAccessible(page);
  });
});
