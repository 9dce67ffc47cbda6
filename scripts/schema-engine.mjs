// Prisma's schema engine as WebAssembly, for comparing two schemas offline. The native engine that `prisma migrate`
// uses is a download from outside the package registry.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';

const folder = dirname(createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm'));

/**
 * SQL that leads from one schema to another; undefined when they are the same to a database.
 * @param from text of the older schema, undefined for an empty database
 */
export async function diffSchemas(from, to) {
  const engine = await loadEngine();
  const { stdout, exitCode } = await engine.diff({
    from: from === undefined ? { tag: 'empty' } : target(from),
    to: target(to),
    script: true,
    exitCode: true,
    shadowDatabaseUrl: null,
    filters: { externalTables: [], externalEnums: [] },
  });
  return exitCode === 2 ? stdout : undefined;
}

function target(content) {
  return { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content }], configDir: '.' };
}

async function loadEngine() {
  const glue = await import(pathToFileURL(join(folder, 'schema_engine_bg.js')).href);
  const bytes = await readFile(join(folder, 'schema_engine_bg.wasm'));
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': glue });
  glue.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  return glue.SchemaEngine.new(
    { datamodels: undefined },
    () => undefined,
    bindMigrationAwareSqlAdapterFactory({
      ...nowhere,
      connect: async () => database,
      connectToShadowDb: async () => database,
    }),
  );
}

const nowhere = { provider: 'postgres', adapterName: 'offline' };

/** The engine insists on a connection and asks it for a version; comparing two files needs no database. */
const database = {
  ...nowhere,
  queryRaw: async () => ({ columnNames: [], columnTypes: [], rows: [] }),
  executeRaw: async () => 0,
  executeScript: async () => undefined,
  startTransaction: async () => {
    throw new Error('a comparison of two files began a transaction');
  },
  getConnectionInfo: () => ({ schemaName: 'public', supportsRelationJoins: true }),
  dispose: async () => undefined,
};
