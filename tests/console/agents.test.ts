import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { A2aDouble } from '../doubles/a2a-agent.ts';
import { NpcDouble } from '../doubles/npc-agent.ts';
import { repositoryRoot } from '../support/repository.ts';
import { TestBed } from '../support/test-bed.ts';
import { choose, expectAccessible, type OpenConsole } from './browser.ts';
import { consolesOf } from './consoles.ts';

const SERVER = join(repositoryRoot, 'examples/agents/chat-node/server.js');

let bed: TestBed;
let folder: string;
let npc: NpcDouble;
let a2a: A2aDouble;
const { open, mayComplain } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wa2ai-console-agents-'));
  chmodSync(folder, 0o711);
  [bed, npc, a2a] = await Promise.all([
    TestBed.startPaired({ env: { WA2AI_DATA_DIR: folder, WA2AI_PROCESS_AGENTS: 'on' } }),
    NpcDouble.start({ apiKey: 'npc-key-1' }),
    A2aDouble.start(),
  ]);
});
afterAll(async () => {
  await bed?.close();
  await Promise.all([npc?.stop(), a2a?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

async function addAgent(id: string): Promise<void> {
  const hosted = { runtime: 'process', command: [process.execPath, SERVER] };
  expect((await bed.service.api('POST', '/api/agents', { id, hosted })).status).toBe(201);
}

describe('the page Agents', () => {
  it('starts, stops, restarts and deletes a hosted agent, which a second browser sees', async () => {
    const [first, second] = [await open(), await open()];
    await first.goTo('agents');
    await first.page.getByRole('heading', { name: 'No hosted agent yet' }).waitFor();
    await addAgent('helper');
    const rowIn = ({ page }: OpenConsole) => page.getByRole('row', { name: /helper/ });
    await second.goTo('agents/hosted');
    for (const shown of [first, second]) {
      await rowIn(shown).getByText('no isolation', { exact: true }).waitFor();
    }
    await expectAccessible(first.page);
    await choose(rowIn(first), 'Start');
    for (const shown of [first, second]) await rowIn(shown).getByText('ready', { exact: true }).waitFor();
    await choose(rowIn(second), 'Restart');
    await second.page.getByText('Agent restarted.').waitFor();
    await choose(rowIn(second), 'Stop');
    for (const shown of [first, second]) await rowIn(shown).getByText('stopped', { exact: true }).waitFor();
    await choose(rowIn(second), 'Delete');
    await second.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    for (const shown of [first, second]) await rowIn(shown).waitFor({ state: 'detached' });
  });

  it('calls an agent by its route and the person that it answers', async () => {
    const ada = bed.person({ name: 'Ada Okafor' });
    const hosted = { runtime: 'process', command: [process.execPath, SERVER] };
    const config = { adk: undefined, hosted };
    const { id } = await bed.service.addRoute(ada.phone, undefined, { name: 'Concierge', config });
    await ada.say('my name is Ada', { to: bed.phone });
    await ada.nextReply();
    const { page, goTo } = await open();
    await goTo('agents');
    await page.getByRole('link', { name: 'Concierge for Ada Okafor' }).click();
    await page.getByRole('heading', { level: 1, name: 'Concierge for Ada Okafor' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Concierge', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Concierge' }).waitFor();
    await bed.service.api('DELETE', `/api/routes/${id}`);
  });

  it.each(['light', 'dark'] as const)('follows the log and shows the files, %s', async (theme) => {
    const id = `writer-${theme}`;
    await addAgent(id);
    const { page, goTo } = await open({ theme });
    await goTo(`agents/hosted/${id}`);
    await page.getByRole('button', { name: 'Start' }).click();
    const log = page.getByRole('log');
    await log
      .locator('p')
      .filter({ hasText: /listen/ })
      .first()
      .waitFor();
    await page.getByLabel('Find in the log').fill('no line has this');
    await log.getByText('No lines yet.').waitFor();
    await page.getByLabel('Find in the log').fill('LISTEN');
    await log
      .locator('p')
      .filter({ hasText: /listen/ })
      .first()
      .waitFor();
    await page.getByLabel('Find in the log').fill('');

    // A paused log does not change; the lines that came meanwhile are shown afterwards.
    await page.getByRole('button', { name: 'Pause' }).click();
    const before = await log.locator('p').count();
    // While the agent restarts, there may be no program whose log can be followed; the page asks again
    mayComplain(/status of 409 .*\/logs/);
    await page.getByRole('button', { name: 'Restart' }).click();
    await page.getByText('Agent restarted.').waitFor();
    expect(await log.locator('p').count()).toBe(before);
    await page.getByRole('button', { name: 'Continue' }).click();
    await log
      .locator('p')
      .filter({ hasText: /listen/ })
      .first()
      .waitFor();

    await bed.service.api('POST', `/api/agents/${id}/messages`, { text: 'my name is Ana' });
    await choose(page, 'Load again', 'Actions for Files');
    const file = page.getByRole('row', { name: /session\.json/ });
    await file.waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Upload a file' }).click();
    const dialog = page.getByRole('dialog');
    const note = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') };
    await dialog.getByLabel('File', { exact: true }).setInputFiles(note);
    expect(await dialog.getByLabel('Path in the folder of the agent').inputValue()).toBe(
      'workspace/notes.txt',
    );
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Upload a file' }).click();
    await page.getByRole('row', { name: /workspace\/notes\.txt 5 byte/ }).waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), choose(file, 'Download')]);
    expect(download.suggestedFilename()).toBe('session.json');
    const [archive] = await Promise.all([
      page.waitForEvent('download'),
      choose(page, 'Download all as tar', 'Actions for Files'),
    ]);
    expect(archive.suggestedFilename()).toBe(`${id}.tar`);
    await choose(file, 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await file.waitFor({ state: 'detached' });

    const narrow = await open({ theme, widthPx: 390, language: 'es-ES' });
    for (const path of ['agents', `agents/hosted/${id}`, 'agents/cards', 'agents/tasks']) {
      await narrow.goTo(path);
      await expectAccessible(narrow.page);
      const width = await narrow.page.evaluate('document.documentElement.scrollWidth');
      expect(width, path).toBeLessThanOrEqual(390);
    }
    mayComplain(/status of 404 /);
    await bed.service.api('DELETE', `/api/agents/${id}`);
    await page.getByRole('heading', { name: 'This agent does not exist any more' }).waitFor();
  });

  it('shows the cards of agents, and what becomes of their tasks, and cancels one', async () => {
    const [bo, cy] = [bed.person({ name: 'Bo' }), bed.person({ name: 'Cy' })];
    const ofNpc = { config: { adk: undefined, npc: { apiKey: 'npc-key-1', waitMs: 0 } } };
    await bed.service.addRoute(bo.phone, npc.url, ofNpc);
    await bed.service.addRoute(cy.phone, a2a.url, { config: { adk: undefined, a2a: {} } });
    await bed.service.addRoute('34600000001', 'http://127.0.0.1:1', { config: { adk: undefined, npc: {} } });
    const { page, goTo } = await open();
    await goTo('agents/cards');
    const card = (text: string) => page.locator('.card', { hasText: text });
    await card(bo.phone).getByText('duel', { exact: true }).waitFor();
    await card(cy.phone)
      .getByText(/JSONRPC/)
      .first()
      .waitFor();
    await card('34600000001')
      .getByText(/does not send its card/)
      .waitFor();
    expect(await page.content()).not.toContain('npc-key-1');
    await expectAccessible(page);

    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await page.getByRole('heading', { name: 'No task' }).waitFor();
    await bo.say('/quest 7 easy 10 3600', { to: bed.phone });
    expect((await bo.nextReply()).text).toMatch(/Te aviso aquí/);
    const [task] = npc.opened('quest');
    const taskId = task?.taskId ?? '';
    const row = page.getByRole('row', { name: new RegExp(taskId) });
    await row.getByRole('link', { name: 'Bo' }).waitFor();
    npc.update(taskId, { status: 'processing', progress: 40 });
    await row.getByText('processing', { exact: true }).waitFor();
    expect(await row.getByRole('progressbar').getAttribute('value')).toBe('40');
    await expectAccessible(page);

    // The double has no such method, as the specification.
    await choose(row, 'Cancel');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).last().click();
    mayComplain(/status of 409 /);
    await page.getByText('The agent does not cancel this task. It continues.').waitFor();
    npc.complete(taskId, { message: 'You found it!' });
    expect((await bo.nextReply()).text).toBe(`Tarea ${taskId}: You found it!`);
    await row.waitFor({ state: 'detached' });
    await page.getByLabel('Show', { exact: true }).selectOption('ended');
    await row.getByText('ended', { exact: true }).waitFor();
  });
});
