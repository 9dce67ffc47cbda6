// Makes the Prisma client from prisma/schema.prisma, when the schema changed since: `node scripts/prisma.mjs generate`.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fail, hashOf, isMain, readIfThere, root, runNode, say, tool } from './steps.mjs';

const generated = join(root, 'router', 'src', 'infra', 'storage', 'generated');
const stamp = join(generated, '.schema-hash');

/** Resolves when the client in router/src/infra/storage/generated is that of the schema. */
export async function generateClient() {
  const hash = hashOf([join(root, 'prisma', 'schema.prisma'), tool('prisma', 'package.json')]);
  if (readIfThere(stamp) === hash && existsSync(join(generated, 'client.ts'))) return;
  say('making the database client from prisma/schema.prisma');
  rmSync(stamp, { force: true });
  const { code, output } = await runNode(tool('prisma', 'build', 'index.js'), ['generate'], {
    quiet: true,
    env: {
      // `generate` never runs the schema engine, but downloads it unless a file is named; any file will do
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      CHECKPOINT_DISABLE: '1',
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
    },
  });
  if (code !== 0) fail(`prisma generate failed:\n${output}`);
  writeFileSync(stamp, hash);
}

if (isMain(import.meta.url)) {
  if (process.argv[2] !== 'generate') fail('usage: node scripts/prisma.mjs generate', 2);
  await generateClient();
}
