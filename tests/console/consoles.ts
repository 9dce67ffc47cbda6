import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type ConsoleOptions, type OpenConsole, openConsole, startBrowser } from './browser.ts';

/** The consoles of a file of tests. */
export interface Consoles {
  /** Opens one; it is closed after the test. */
  open(options?: ConsoleOptions): Promise<OpenConsole>;
  /** In this test the browser may complain about this, such as a refused change. Any other complaint fails the test. */
  mayComplain(about: RegExp): void;
}

/**
 * Starts a browser for the tests of a file, and ends it after them.
 * @param url address of the service, asked for when a console is opened
 * @param switches of the browser
 */
export function consolesOf(url: () => string, switches: readonly string[] = []): Consoles {
  let browser: Browser | undefined;
  const opened: OpenConsole[] = [];
  const allowed: RegExp[] = [];
  beforeAll(async () => {
    browser = await startBrowser(switches);
  });
  afterEach(async () => {
    const shown = opened.splice(0);
    const patterns = allowed.splice(0);
    await Promise.all(shown.map((each) => each.close()));
    const complaints = shown
      .flatMap((each) => each.complaints)
      .filter((text) => !patterns.some((pattern) => pattern.test(text)));
    if (complaints.length > 0) throw new Error(`The browser complains: ${complaints.join(' · ')}`);
  });
  afterAll(() => browser?.close());
  return {
    open: async (options) => {
      if (!browser) throw new Error('no browser runs: open a console within a test');
      const shown = await openConsole(browser, url(), options);
      opened.push(shown);
      return shown;
    },
    mayComplain: (about) => void allowed.push(about),
  };
}
