// `npm run migration -- NAME`: writes the next migration from prisma/schema.prisma, without network and database. What
// changed is found against prisma/snapshot/schema.prisma, the schema as of the last migration.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDeps } from './ensure-deps.mjs';
import { checkNode, fail, readIfThere, root, say } from './steps.mjs';

const schemaFile = join(root, 'prisma', 'schema.prisma');
const snapshotFile = join(root, 'prisma', 'snapshot', 'schema.prisma');

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
try {
  sql = await diffSchemas(readIfThere(snapshotFile), schema);
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
  mkdirSync(join(root, 'prisma', 'snapshot'), { recursive: true });
  writeFileSync(snapshotFile, schema);
  say(
    `wrote ${join(folder, 'migration.sql')}: review it, say in a comment what it is for, and commit it with prisma/snapshot`,
  );
}
