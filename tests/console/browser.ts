import axe from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import { startChromium } from '../support/chromium.ts';

/** A microphone that hears a tone, which every page may use. */
export const FAKE_MICROPHONE = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];

/** Addresses of all pages. */
export const PAGES = [
  '',
  'chats',
  'playground',
  'playground/scenarios',
  'dead-letters',
  'accounts',
  'routes',
  'routes/new',
  'routes/versions',
  'agents',
  'webhooks',
  'keys',
  'users',
  'audit',
  'settings',
  'api',
];

/** Starts Chromium without a window. @param more further switches @throws {Error} it is not installed; the sentence says how to install it */
export function startBrowser(more: readonly string[] = []): Promise<Browser> {
  return startChromium(more);
}

/** A console in its own browser session. */
export interface OpenConsole {
  page: Page;
  /** What the browser complained about: errors, and violations of the content security policy. */
  complaints: string[];
  /** Opens a page of the console, such as `accounts`, and waits for its heading. */
  goTo(path: string): Promise<void>;
  close(): Promise<void>;
}

/** Options of `openConsole`. */
export interface ConsoleOptions {
  theme?: 'light' | 'dark';
  language?: 'en-US' | 'es-ES' | 'pt-BR';
  widthPx?: number;
}

/** Opens the console of the service at `url`, without an admin key. */
export async function openConsole(
  browser: Browser,
  url: string,
  { theme = 'light', language = 'en-US', widthPx = 1280 }: ConsoleOptions = {},
): Promise<OpenConsole> {
  const context = await browser.newContext({
    colorScheme: theme,
    locale: language,
    viewport: { width: widthPx, height: 900 },
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || /Content Security Policy/i.test(message.text())) {
      complaints.push(`${message.text()} ${message.location().url}`);
    }
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  const goTo = async (path: string) => {
    await page.goto(`${url}/console/#/${path}`);
    await page.locator('main h1').waitFor();
    await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
  };
  return { page, complaints, goTo, close: () => context.close() };
}

/**
 * Chooses an action of the menu in a row, a card or a part of a page.
 * @param menu the name of its button, where there are several
 */
export async function choose(
  where: Page | Locator,
  action: string,
  menu: string | RegExp = /^(Actions for |More actions$)/,
): Promise<void> {
  await where.getByRole('button', { name: menu }).click();
  await where.getByRole('menuitem', { name: action, exact: true }).click();
}

/** Fails when the page as it is now breaks a rule of axe (WCAG 2.2 A and AA, best practices). */
export async function expectAccessible(page: Page): Promise<void> {
  // evaluated by the debugger, which the content security policy does not restrict
  await page.evaluate(axe.source);
  const violations = (await page.evaluate(
    `axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ': ' + nodes.slice(0, 3).map(({ html, failureSummary }) => html + ' ' + failureSummary).join(' | ')))`,
  )) as string[];
  expect(violations).toEqual([]);
}
