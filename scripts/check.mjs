// `npm run check`: format, lint, build, types, regular expressions, dead code. Every one runs, one line each.

import { join } from 'node:path';
import { ensureDeps } from './ensure-deps.mjs';
import { checkNode, root, runNode, tool } from './steps.mjs';

checkNode();
await ensureDeps();

const biome = tool('@biomejs', 'biome', 'bin', 'biome');
const checks = [
  { name: 'format', script: biome, args: ['format', '.'] },
  { name: 'lint', script: biome, args: ['lint', '--error-on-warnings', '.'] },
  // First: it writes the types of the API, which the console and its tests use.
  { name: 'build', script: join(root, 'scripts', 'build.mjs'), args: [] },
  { name: 'types', script: tool('typescript-compiler', 'bin', 'tsc'), args: ['--noEmit'] },
  {
    name: 'types of the console',
    script: tool('typescript-compiler', 'bin', 'tsc'),
    args: ['--noEmit', '-p', join(root, 'console')],
  },
  { name: 'regular expressions', script: join(root, 'scripts', 'check-patterns.mjs'), args: [] },
  { name: 'dead code', script: tool('knip', 'bin', 'knip.js'), args: ['--no-progress'] },
];

let failures = 0;
for (const { name, script, args } of checks) {
  const beganMs = performance.now();
  const { code, output } = await runNode(script, args, { quiet: true });
  const seconds = ((performance.now() - beganMs) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
  if (code !== 0) {
    failures += 1;
    console.log(output.trimEnd());
  }
}
process.exitCode = failures > 0 ? 1 : 0;
