import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../../support/repository.ts';

const SCRIPT = pathToFileURL(join(repositoryRoot, 'scripts/end-with-npm.mjs')).href;
/** Prints that it runs, and which signal ended it. */
const PROGRAM = `
  import { endWithNpm } from '${SCRIPT}';
  process.on('SIGTERM', () => { console.log('ended'); process.exit(0); });
  setInterval(() => undefined, 60_000);
  endWithNpm();
  console.log('runs');
`;

it.runIf(process.platform !== 'win32')('ends the command when npm and its shell were killed', async () => {
  // the second command keeps the shell from becoming the first one's process
  const shell = spawn('sh', ['-c', '"$NODE" --input-type=module --eval "$PROGRAM"; true'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, NODE: process.execPath, PROGRAM, npm_lifecycle_event: 'start' },
  });
  const lines = createInterface({ input: shell.stdout });
  expect(await once(lines, 'line')).toEqual(['runs']);
  const ended = once(lines, 'line');
  shell.kill('SIGTERM');
  expect(await ended).toEqual(['ended']);
  await once(lines, 'close');
});
