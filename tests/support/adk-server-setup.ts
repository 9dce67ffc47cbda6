import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { repositoryRoot } from './repository.ts';

/** Vitest's global setup of tests with the real Google ADK server: installs its packages when they are missing. */
export default async function setup(): Promise<void> {
  const { ensureDeps } = await import(pathToFileURL(join(repositoryRoot, 'scripts/ensure-deps.mjs')).href);
  await ensureDeps(join(repositoryRoot, 'tests/adk-server'), 'the test ADK server’s ');
}
