import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { consolesOf } from './consoles.ts';

/** Addresses of pages, and the file of each structure. The API reference is compared with its document elsewhere. */
const PAGES = {
  '': 'start',
  chats: 'chats',
  playground: 'playground',
  'playground/scenarios': 'scenarios',
  'dead-letters': 'dead-letters',
  accounts: 'accounts',
  routes: 'routes',
  'routes/new': 'new-route',
  'routes/versions': 'route-versions',
  agents: 'agents',
  webhooks: 'webhooks',
  keys: 'keys',
  users: 'users',
  audit: 'audit',
  settings: 'settings',
};
/** What a page consists of; texts and values are left out. */
const ROLES =
  /^\s*- (heading|button|link|textbox|searchbox|combobox|checkbox|tab|table|columnheader|img|form|dialog)\b/;

let bed: TestBed;
const { open } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  bed = await TestBed.start();
  await bed.startService();
});
afterAll(async () => {
  await bed?.close();
});

/** The roles and names of a page as assistive software gets them, in their order; numbers are `N`. */
async function structureOf(main: Locator): Promise<string> {
  const lines = (await main.ariaSnapshot()).split('\n').filter((line) => ROLES.test(line));
  return `${lines
    .map((line) =>
      line
        .trim()
        .replace(/(?<!level=)\b\d[\d,.:]*\b/g, 'N')
        .replace(/:$/, ''),
    )
    .join('\n')}\n`;
}

describe('the structure of the page', () => {
  it.each(Object.entries(PAGES))('#/%s is that of its file', async (path, name) => {
    const { page, goTo } = await open();
    await goTo(path);
    const file = join(import.meta.dirname, 'structure', `${name}.yml`);
    const known = readFileSync(file, 'utf8');
    let found = '';
    // The parts of a page appear one after the other, as their answers arrive
    const isKnown = async () => {
      found = await structureOf(page.locator('main'));
      return found === known;
    };
    await vi.waitUntil(isKnown, { timeout: 30_000, interval: 100 }).catch(() => undefined);
    await expect(found).toMatchFileSnapshot(file);
  });
});
