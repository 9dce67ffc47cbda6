import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFile, readIfThere } from '../files.ts';
import { DatabaseError, errorCode, errorMessage } from '../stores/storage-errors.ts';

/** AES-256. */
const KEY_BYTES = 32;

/** A key that values in the database are encrypted with. */
export interface DataKey {
  /** Eight hexadecimal digits, derived from the key; part of each ciphertext. */
  id: string;
  key: KeyObject;
}

/** Where the keys come from, for error messages. */
export interface DataKeyFile {
  path: string;
  /** The first one encrypts, all decrypt. Empty if there is no file. */
  keys: DataKey[];
}

/**
 * Reads WA2AI_DATA_KEY_FILE.
 * @throws {DatabaseError} DATABASE_KEY: the file cannot be read or contains something else
 */
export async function readDataKeys(path: string): Promise<DataKeyFile> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_KEY',
      `WA2AI_DATA_KEY_FILE: the file ${path} cannot be read (${errorCode(error) ?? errorMessage(error)}). Restore it, or correct the path.`,
      { cause: error },
    );
  }
  return { path, keys: parseDataKeys(text, path) };
}

/**
 * The key file of the embedded database, `data-key` in the data folder.
 * @param mayCreate false: no key is created, so `keys` may be empty
 * @throws {DatabaseError} DATABASE_KEY
 */
export async function dataKeysOfFolder(dataDir: string, mayCreate: boolean): Promise<DataKeyFile> {
  const path = join(dataDir, 'data-key');
  try {
    const text =
      (await readIfThere(path)) ?? (mayCreate ? await createFile(path, newKey(), 0o600) : undefined);
    return { path, keys: text === undefined ? [] : parseDataKeys(text, path) };
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    throw new DatabaseError(
      'DATABASE_KEY',
      `The key file ${path} cannot be read or created: ${errorMessage(error)}. Start wa2ai as the user who owns the data folder.`,
      { cause: error },
    );
  }
}

/**
 * Parses a key file: one key a line, 32 bytes as base64 or hexadecimal digits; empty lines and lines with `#` are ignored.
 * @throws {DatabaseError} DATABASE_KEY: a line is something else, or there is no key; the message contains no key
 */
export function parseDataKeys(text: string, path: string): DataKey[] {
  const keys: DataKey[] = [];
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const secret = decodeKey(line);
    if (!secret) {
      throw new DatabaseError(
        'DATABASE_KEY',
        `Line ${index + 1} of the key file ${path} is not a key. A key is 32 bytes as base64: openssl rand -base64 32.`,
      );
    }
    keys.push(dataKey(secret));
  }
  if (keys.length > 0) return keys;
  throw new DatabaseError(
    'DATABASE_KEY',
    `The key file ${path} contains no key. Restore it; for a new database create a key: openssl rand -base64 32.`,
  );
}

function decodeKey(line: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(line)) return Buffer.from(line, 'hex');
  if (!/^[A-Za-z0-9+/]{43}=?$/.test(line)) return undefined;
  const bytes = Buffer.from(line, 'base64');
  return bytes.length === KEY_BYTES ? bytes : undefined;
}

function dataKey(secret: Buffer): DataKey {
  const id = createHash('sha256').update('wa2ai data key ').update(secret).digest('hex').slice(0, 8);
  return { id, key: createSecretKey(secret) };
}

function newKey(): string {
  return `${randomBytes(KEY_BYTES).toString('base64')}\n`;
}
