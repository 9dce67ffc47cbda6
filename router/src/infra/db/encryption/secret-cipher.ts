import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createSecretKey,
  type KeyObject,
  randomBytes,
  randomFillSync,
} from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageTroubleError } from '../../../core/errors.ts';
import { say } from '../../../core/phrases.ts';
import { createFile, readIfThere } from '../files.ts';
import { DatabaseError, errorCode, errorMessage, StorageDamagedError } from '../stores/storage-errors.ts';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 4;

/** How encrypted texts begin; the key id and a colon follow, then base64. No stored text of wa2ai begins like this. */
const TEXT_PREFIX = 'wa2ai:1:';
/** How encrypted bytes begin; the key id follows. No protobuf begins with 0x77: there is no wire type 7. */
const BYTES_PREFIX = Buffer.from('wa2ai\x00\x01', 'latin1');

/** How texts begin that this key encrypted. */
function textPrefix(keyId: string): string {
  return `${TEXT_PREFIX}${keyId}:`;
}

/** How bytes begin that this key encrypted. */
function bytesPrefix(keyId: string): Buffer {
  return Buffer.concat([BYTES_PREFIX, Buffer.from(keyId, 'hex')]);
}

/** The key id of values that are not encrypted. */
export const PLAIN = 'plain';

/**
 * Encrypts secrets before they are stored: AES-256-GCM with a random nonce; the ciphertext contains the key id. A value
 * that was stored without encryption is read as it is. Without keys nothing is encrypted.
 *
 * `context` says what a value is for ("auth_key", its account and id). It is authenticated: a ciphertext that is copied to
 * another row or column cannot be decrypted there.
 */
export class SecretCipher {
  readonly #writeKey: DataKey | undefined;
  readonly #keys: ReadonlyMap<string, KeyObject>;

  /** @param keys the first one encrypts, all decrypt */
  constructor(keys: readonly DataKey[] = []) {
    this.#writeKey = keys[0];
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]));
  }

  /** The id of the key that encrypts; `plain` without keys. */
  get writeKeyId(): string {
    return this.#writeKey?.id ?? PLAIN;
  }

  get keyIds(): string[] {
    return [...this.#keys.keys()];
  }

  sealText(plaintext: string, context: string): string {
    if (!this.#writeKey) return plaintext;
    const sealed = seal(this.#writeKey.key, Buffer.from(plaintext, 'utf8'), context);
    return textPrefix(this.#writeKey.id) + sealed.toString('base64');
  }

  /**
   * @throws {StorageTroubleError} this node does not have the key
   * @throws {StorageDamagedError} the ciphertext was changed, or is of another context
   */
  openText(stored: string, context: string): string {
    const keyId = keyIdOfText(stored);
    if (keyId === PLAIN) return stored;
    const sealed = Buffer.from(stored.slice(textPrefix(keyId).length), 'base64');
    return open(this.#key(keyId), sealed, context).toString('utf8');
  }

  sealBytes(plaintext: Uint8Array, context: string): Uint8Array {
    if (!this.#writeKey) return plaintext;
    const sealed = seal(this.#writeKey.key, plaintext, context);
    return Buffer.concat([bytesPrefix(this.#writeKey.id), sealed]);
  }

  /** Throws as `openText` does. */
  openBytes(stored: Uint8Array, context: string): Uint8Array {
    const keyId = keyIdOfBytes(stored);
    if (keyId === PLAIN) return stored;
    return open(this.#key(keyId), stored.subarray(BYTES_PREFIX.length + KEY_ID_BYTES), context);
  }

  #key(keyId: string): KeyObject {
    const key = this.#keys.get(keyId);
    if (key) return key;
    throw new StorageTroubleError('key', say('storage.other-key', { key: keyId }));
  }
}

/** The id of the key that a stored text is encrypted with, or `plain`. */
function keyIdOfText(stored: string): string {
  if (!stored.startsWith(TEXT_PREFIX)) return PLAIN;
  return stored.slice(TEXT_PREFIX.length, stored.indexOf(':', TEXT_PREFIX.length));
}

/** The id of the key that stored bytes are encrypted with, or `plain`. */
function keyIdOfBytes(stored: Uint8Array): string {
  if (stored.length < BYTES_PREFIX.length + KEY_ID_BYTES) return PLAIN;
  const head = Buffer.from(stored.buffer, stored.byteOffset, BYTES_PREFIX.length + KEY_ID_BYTES);
  if (!head.subarray(0, BYTES_PREFIX.length).equals(BYTES_PREFIX)) return PLAIN;
  return head.toString('hex', BYTES_PREFIX.length);
}

/** Nonce, ciphertext and tag. */
function seal(key: KeyObject, plaintext: Uint8Array, context: string): Buffer {
  const iv = randomFillSync(Buffer.allocUnsafe(IV_BYTES));
  const cipher = createCipheriv(ALGORITHM, key, iv);
  cipher.setAAD(Buffer.from(context, 'utf8'));
  return Buffer.concat([iv, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

function open(key: KeyObject, sealed: Uint8Array, context: string): Buffer {
  try {
    if (sealed.length < IV_BYTES + TAG_BYTES) throw new RangeError('the ciphertext is too short');
    const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(Buffer.from(context, 'utf8'));
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    const plaintext = decipher.update(sealed.subarray(IV_BYTES, sealed.length - TAG_BYTES));
    return Buffer.concat([plaintext, decipher.final()]);
  } catch (error) {
    throw new StorageDamagedError(
      {
        ...say('storage.damaged'),
        sentence: 'An encrypted value in the database was changed and cannot be decrypted.',
      },
      {
        cause: error,
      },
    );
  }
}

/** AES-256. */
const KEY_BYTES = 32;

/** A key that values in the database are encrypted with. */
interface DataKey {
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

/** A column whose values are encrypted. */
export interface SecretColumn {
  table: string;
  column: string;
  /** The value as text, for SQL. */
  text: string;
  /** A stored text as the column's type, for SQL. */
  typed: (text: string) => string;
  /** Columns that the context is made of. */
  identity: readonly string[];
  /**
   * The context of a value (secret-cipher.ts): only what never changes, the columns of the primary key, or only the name. Values
   * of earlier versions were encrypted with it.
   */
  context: string | ((row: Readonly<Record<string, string>>) => string);
  /** How texts of this column begin that a key encrypted. */
  prefixOf: (keyId: string) => string;
  reseal: (cipher: SecretCipher, stored: string, context: string) => string;
}

type Named = Pick<SecretColumn, 'table' | 'column' | 'context'> & Partial<SecretColumn>;

/** A column of texts, or of JSON with a text. */
export function secretText(column: Named): SecretColumn {
  return {
    text: column.column,
    typed: (text) => text,
    identity: [],
    prefixOf: textPrefix,
    reseal: (cipher, stored, context) => cipher.sealText(cipher.openText(stored, context), context),
    ...column,
  };
}

/** A column of bytes, which travel as hexadecimal digits. */
function secretBytes(column: Named): SecretColumn {
  return {
    text: `encode(${column.column}, 'hex')`,
    typed: (text) => `decode(${text}, 'hex')`,
    identity: [],
    prefixOf: (keyId) => bytesPrefix(keyId).toString('hex'),
    reseal: (cipher, stored, context) => {
      const plaintext = cipher.openBytes(Buffer.from(stored, 'hex'), context);
      return Buffer.from(cipher.sealBytes(plaintext, context)).toString('hex');
    },
    ...column,
  };
}

/** `auth_key.value`: WhatsApp credentials and Signal keys. */
export function authKeyContext(
  accountId: string,
  generation: number,
  category: string,
  keyId: string,
): string {
  return JSON.stringify(['auth_key', accountId, generation, category, keyId]);
}

/** `journal.plaintext`: decrypted stanzas, with the keys of their files. */
export function journalContext(accountId: string, ciphertextHash: string): string {
  return JSON.stringify(['journal', accountId, ciphertextHash]);
}

/** `message.media_ref`: how a person's file is loaded, with its key. */
export const MEDIA_REF_CONTEXT = 'message.media_ref';

/** `message.secret`: with which people encrypt edits of the message. */
export const MESSAGE_SECRET_CONTEXT = 'message.secret';

/** `outbox_file.content`: the uploaded form of a reply's file, with its key. */
export const FILE_CONTENT_CONTEXT = 'outbox_file.content';

/** `account.proxy`: the URL of a proxy, with user name and password. */
export function accountProxyContext(accountId: string): string {
  return JSON.stringify(['account', accountId, 'proxy']);
}

/** `route.config`: settings of an agent, with its headers and keys. */
export const ROUTE_CONFIG_CONTEXT = 'route.config';

/** The columns of the tables of accounts, keys, messages and routes. */
export const coreSecrets: readonly SecretColumn[] = [
  secretText({
    table: 'account',
    column: 'proxy',
    identity: ['id'],
    context: ({ id = '' }) => accountProxyContext(id),
  }),
  secretText({
    table: 'auth_key',
    column: 'value',
    identity: ['account_id', 'generation', 'category', 'key_id'],
    context: (row) =>
      authKeyContext(row.account_id ?? '', Number(row.generation), row.category ?? '', row.key_id ?? ''),
  }),
  secretText({
    table: 'route',
    column: 'config',
    text: `coalesce(config ->> 'encrypted', config::text)`,
    typed: (text) => `jsonb_build_object('encrypted', ${text})`,
    context: ROUTE_CONFIG_CONTEXT,
  }),
  secretText({ table: 'message', column: 'media_ref', context: MEDIA_REF_CONTEXT }),
  secretBytes({ table: 'message', column: 'secret', context: MESSAGE_SECRET_CONTEXT }),
  secretBytes({
    table: 'journal',
    column: 'plaintext',
    identity: ['account_id', 'ciphertext_hash'],
    context: (row) => journalContext(row.account_id ?? '', row.ciphertext_hash ?? ''),
  }),
  secretBytes({ table: 'outbox_file', column: 'content', context: FILE_CONTENT_CONTEXT }),
];

/**
 * A route's config as it is stored, both as JSON: encrypted as a whole, since which settings are secret depends on the
 * agent kind. As it is when the cipher has no key.
 */
export function sealConfig(secrets: SecretCipher, config: string): string {
  const sealed = secrets.sealText(config, ROUTE_CONFIG_CONTEXT);
  return sealed === config ? config : JSON.stringify({ encrypted: sealed });
}

/**
 * The config behind a stored value; a value that is not encrypted as it is. Throws as SecretCipher.openText does, and
 * StorageDamagedError for text that is not JSON.
 */
export function openConfig(secrets: SecretCipher, stored: unknown): unknown {
  if (typeof stored !== 'object' || stored === null || !('encrypted' in stored)) return stored;
  if (typeof stored.encrypted !== 'string') return stored;
  const text = secrets.openText(stored.encrypted, ROUTE_CONFIG_CONTEXT);
  try {
    return JSON.parse(text);
  } catch {
    // Without its cause, which quotes the config.
    throw new StorageDamagedError({
      ...say('storage.damaged'),
      sentence: 'The encrypted config of a route is not JSON.',
    });
  }
}
