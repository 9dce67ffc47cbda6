import type pg from 'pg';
import type { Logger } from '../../../core/logger.ts';
import { tryLock, unlock } from '../connections/node-connection.ts';
import { DatabaseError, StorageDamagedError, withStorage } from '../stores/storage-errors.ts';
import {
  type DataKeyFile,
  dataKeysOfFolder,
  PLAIN,
  readDataKeys,
  SecretCipher,
  type SecretColumn,
} from './secret-cipher.ts';

/** Rows of one statement. */
const BATCH = 200;

type Row = Record<string, string>;

/**
 * Encrypts every secret in the database with the cipher's write key that is not encrypted with it. Safe while nodes run:
 * a value that changes meanwhile is not touched, and the next call encrypts it. After a crash the next call continues.
 * @returns how many values were encrypted, and how many could not be: they are damaged, or changed meanwhile
 */
export async function reEncrypt(
  client: pg.Client,
  cipher: SecretCipher,
  columns: readonly SecretColumn[],
): Promise<{ encrypted: number; left: number }> {
  const total = { encrypted: 0, left: 0 };
  if (cipher.writeKeyId === PLAIN) return total;
  for (const column of columns) {
    const { encrypted, left } = await reEncryptColumn(client, cipher, column).catch((error: unknown) => {
      if (error instanceof StorageDamagedError) return { encrypted: 0, left: 1 };
      throw error;
    });
    total.encrypted += encrypted;
    total.left += left;
  }
  return total;
}

async function reEncryptColumn(
  client: pg.Client,
  cipher: SecretCipher,
  spec: SecretColumn,
): Promise<{ encrypted: number; left: number }> {
  const { table, column, text, typed, identity } = spec;
  const columns = ['ctid::text AS place', `${text} AS stored`, ...identity.map((name) => `${name}::text`)];
  const prefix = spec.prefixOf(cipher.writeKeyId);
  let encrypted = 0;
  for (;;) {
    const { rows } = await withStorage('reading secrets', () =>
      client.query<Row>(
        `SELECT ${columns.join(', ')} FROM ${table}
         WHERE ${column} IS NOT NULL AND left(${text}, ${prefix.length}) <> $1 LIMIT ${BATCH}`,
        [prefix],
      ),
    );
    const changes = rows.flatMap((row) => {
      const stored = row.stored ?? '';
      const changed = reseal(cipher, spec, stored, row);
      return changed === undefined ? [] : [{ place: row.place, stored, changed }];
    });
    const { rowCount } = await withStorage('encrypting secrets', () =>
      client.query(
        `UPDATE ${table} SET ${column} = ${typed('change.changed')}
       FROM unnest($1::text[]::tid[], $2::text[], $3::text[]) AS change (place, stored, changed)
       WHERE ${table}.ctid = change.place AND ${text} = change.stored`,
        [changes.map((c) => c.place), changes.map((c) => c.stored), changes.map((c) => c.changed)],
      ),
    );
    encrypted += rowCount ?? 0;
    if (rows.length < BATCH || !rowCount) return { encrypted, left: rows.length - (rowCount ?? 0) };
  }
}

function reseal(cipher: SecretCipher, spec: SecretColumn, stored: string, row: Row): string | undefined {
  try {
    const { context } = spec;
    return spec.reseal(cipher, stored, typeof context === 'string' ? context : context(row));
  } catch (error) {
    if (error instanceof StorageDamagedError) return undefined;
    throw error;
  }
}

/** A node without a lock may be starting; after this time it has ended. */
const START_MS = 600_000;

/** So that one node at a time encrypts values again. */
const LOCK = { lockClass: 0x77613265, name: 're-encryption' };

interface SecretsOptions {
  /** WA2AI_DATA_KEY_FILE. */
  keyFile: string | undefined;
  /** Of the embedded database: its key file is created when it is needed. Undefined for DATABASE_URL. */
  dataDir: string | undefined;
  nodeId: string;
  /** The columns with secrets: loaded when values of another key must be encrypted again. */
  columns(): Promise<readonly SecretColumn[]>;
  log: Logger;
}

/**
 * Reads the data keys, checks that they are those of the database, and encrypts what another key or none encrypted.
 * Values are encrypted when there is a key file: always for the embedded database, with WA2AI_DATA_KEY_FILE otherwise.
 *
 * The table `data_key_use` lists the keys that values may be encrypted with. A key leaves it when no value is encrypted
 * with it and no live node writes with it.
 * @throws {DatabaseError} DATABASE_KEY: the key file cannot be used, or lacks a key of the database
 */
export async function openSecrets(client: pg.Client, options: SecretsOptions): Promise<SecretCipher> {
  const { log, nodeId } = options;
  const known = await keysInUse(client);
  const encryptedWith = known.filter((id) => id !== PLAIN);
  const file = await keysOf(options, encryptedWith.length === 0);
  const cipher = new SecretCipher(file?.keys);
  const missing = encryptedWith.find((id) => !cipher.keyIds.includes(id));
  if (missing !== undefined) throw missingKey(missing, file);
  if (cipher.writeKeyId === PLAIN) {
    log.warn({ variable: 'WA2AI_DATA_KEY_FILE' }, 'secrets in the database are not encrypted');
  }
  // Before the first value is written with it. A database without an entry may have values from before encryption.
  const own = known.length === 0 ? [PLAIN, cipher.writeKeyId] : [cipher.writeKeyId];
  await client.query(
    `INSERT INTO data_key_use (node_id, key_id) SELECT DISTINCT $1, key_id FROM unnest($2::text[]) AS k (key_id)
     ON CONFLICT (node_id, key_id) DO UPDATE SET since = now()`,
    [nodeId, own],
  );
  const others = known.concat(own).some((id) => id !== cipher.writeKeyId);
  if (others && cipher.writeKeyId !== PLAIN) await retireOthers(client, cipher, options);
  return cipher;
}

async function keysInUse(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ key_id: string }>('SELECT DISTINCT key_id FROM data_key_use');
  return rows.map((row) => row.key_id);
}

async function keysOf(options: SecretsOptions, mayCreate: boolean): Promise<DataKeyFile | undefined> {
  if (options.keyFile !== undefined) return readDataKeys(options.keyFile);
  return options.dataDir === undefined ? undefined : dataKeysOfFolder(options.dataDir, mayCreate);
}

function missingKey(keyId: string, file: DataKeyFile | undefined): DatabaseError {
  const values = `The database has values that were encrypted with the key ${keyId}`;
  if (!file) {
    return new DatabaseError(
      'DATABASE_KEY',
      `${values}, and WA2AI_DATA_KEY_FILE is not set. Set it to the file with that key.`,
    );
  }
  return new DatabaseError(
    'DATABASE_KEY',
    file.keys.length === 0
      ? `${values}, and the key file ${file.path} is missing. Restore it from a backup.`
      : `${values}, which the key file ${file.path} does not contain. Restore that file, or add that key as a further line.`,
  );
}

async function retireOthers(client: pg.Client, cipher: SecretCipher, options: SecretsOptions): Promise<void> {
  const { log, nodeId } = options;
  const taken = await tryLock(client, LOCK, 'the encryption with a new key');
  if (!('key' in taken)) return;
  try {
    const { encrypted, left } = await reEncrypt(client, cipher, await options.columns());
    if (encrypted > 0)
      log.info({ values: encrypted, key: cipher.writeKeyId }, 'secrets encrypted with a new key');
    if (left > 0) {
      log.warn({ values: left }, 'some secrets could not be encrypted with the new key, keep the old one');
      return;
    }
    await client.query(
      `DELETE FROM data_key_use
       WHERE key_id <> $1 AND (node_id = $2 OR
         (NOT node_has_lock(node_id) AND since < now() - $3 * interval '1 millisecond'))`,
      [cipher.writeKeyId, nodeId, START_MS],
    );
  } finally {
    await unlock(client, LOCK.lockClass, taken.key);
  }
}
