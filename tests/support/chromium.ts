import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Path of Chromium; undefined: it is not installed. */
export function chromiumPath(): string | undefined {
  return PATHS.find((path) => existsSync(path));
}

/** Starts Chromium without a window. @param more further switches @throws {Error} it is not installed; the sentence says how to install it */
export async function startChromium(more: readonly string[] = []): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === undefined) {
    throw new Error('Chromium is not installed. On Debian: apt-get install chromium.');
  }
  // no sandbox: the tests also run as root in a container
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', ...more] });
}
