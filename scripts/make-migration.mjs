// `npm run migration -- NAME`: writes the next migration from prisma/schema.prisma, without network and database. What
// changed is found against the schema in the last commit with a migration: the migrations themselves have more than a
// Prisma schema can say, such as partial indexes, which a comparison with a database would remove.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDeps } from './ensure-deps.mjs';
import { checkNode, fail, root, run, say } from './steps.mjs';

const schemaFile = join(root, 'prisma', 'schema.prisma');

const name = process.argv
  .slice(2)
  .join('_')
  .toLowerCase()
  .replaceAll(/[^a-z0-9]+/g, '_')
  .replaceAll(/^_+|_+$/g, '');
if (name === '') fail('usage: npm run migration -- NAME   (such as: add_route_owner)', 2);

checkNode();
await ensureDeps();
const { diffSchemas } = await import('./schema-engine.mjs');
const schema = readFileSync(schemaFile, 'utf8');
let sql;
const migrated = await migratedSchema();
try {
  sql = await diffSchemas(migrated, schema);
} catch (error) {
  fail(`prisma/schema.prisma could not be read: ${error.message}`);
}
if (sql === undefined) {
  say('prisma/schema.prisma has not changed since the last migration; nothing was written');
} else {
  const time = new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14);
  const folder = join('prisma', 'migrations', `${time}_${name}`);
  mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, folder, 'migration.sql'), sql);
  say(
    `wrote ${join(folder, 'migration.sql')}: review it, say in a comment what it is for, and commit it with prisma/schema.prisma`,
  );
}

/** The text of prisma/schema.prisma in the last commit that changed prisma/migrations. */
async function migratedSchema() {
  const changed = await git('status', '--porcelain', '--', 'prisma/migrations');
  if (changed !== '') {
    fail(
      'prisma/migrations has changes that are not committed. Commit them with prisma/schema.prisma, or remove them; then repeat.',
    );
  }
  const commit = (await git('log', '-1', '--format=%H', '--', 'prisma/migrations')).trim();
  if (commit === '')
    fail('no commit has prisma/migrations. Commit it with prisma/schema.prisma; then repeat.');
  return git('show', `${commit}:./prisma/schema.prisma`);
}

async function git(...args) {
  const { code, output } = await run('git', args, { quiet: true });
  if (code !== 0)
    fail(`git ${args[0]} failed; a migration is written in a clone of the repository:\n${output}`);
  return output;
}
