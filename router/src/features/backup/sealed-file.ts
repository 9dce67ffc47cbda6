import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  randomBytes,
  type ScryptOptions,
  scrypt,
  timingSafeEqual,
} from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { Wa2aiError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { PostgresClient } from '../../infra/db/connections/postgres-client.ts';
import type { DatabaseConfig } from '../../infra/db/database.ts';
import { startEmbeddedPostgres } from '../../infra/db/embedded/embedded-postgres.ts';
import { readPidFile, serverFolder } from '../../infra/db/embedded/postgres-folder.ts';
import { urlOfFolder } from '../../infra/db/embedded/postgres-server.ts';
import { readIfThere } from '../../infra/db/files.ts';
import { errorCode } from '../../infra/db/stores/storage-errors.ts';

/**
 * An encrypted file of chunks that is written and read as a stream. Three lines of text begin it: the magic line, the
 * parameters as JSON, and their HMAC-SHA-256. Chunks of 64 KiB follow, each sealed with AES-256-GCM. The nonce of a chunk is
 * its number and a mark for the last one (the STREAM construction), so that a chunk that is changed, moved, repeated or
 * missing at the end does not open. Both keys are derived from the passphrase with scrypt and a random salt, so no key
 * encrypts two files. Node encrypts: the package age-encryption, in JavaScript, needs three times the processor time to read.
 */
const MAGIC = 'wa2ai backup 1\n';
const ALGORITHM = 'aes-256-gcm';
const TAG_BYTES = 16;
const CHUNK_BYTES = 65_536;
const MAX_HEADER_BYTES = 1_024;
/** 128 MB of memory and about half a second for one guess. */
const SCRYPT_COST = 2 ** 17;
const MAX_SCRYPT_COST = 2 ** 20;

const parametersSchema = z.object({
  kdf: z.literal('scrypt'),
  n: z
    .number()
    .int()
    .min(2 ** 14)
    .max(MAX_SCRYPT_COST)
    .refine((n) => Number.isInteger(Math.log2(n))),
  r: z.literal(8),
  p: z.literal(1),
  salt: z.base64().length(24),
  cipher: z.literal(ALGORITHM),
  chunkBytes: z.literal(CHUNK_BYTES),
});
type Parameters = z.infer<typeof parametersSchema>;

/**
 * Encrypts a stream of bytes.
 * @param scryptCost a power of 2; tests use a small one
 */
export async function* sealed(
  plaintext: AsyncIterable<Uint8Array>,
  passphrase: string,
  scryptCost: number = SCRYPT_COST,
): AsyncGenerator<Buffer> {
  const parameters: Parameters = {
    kdf: 'scrypt',
    n: scryptCost,
    r: 8,
    p: 1,
    salt: randomBytes(16).toString('base64'),
    cipher: ALGORITHM,
    chunkBytes: CHUNK_BYTES,
  };
  const { fileKey, headerKey } = await deriveKeys(passphrase, parameters);
  const head = `${MAGIC}${JSON.stringify(parameters)}\n`;
  yield Buffer.from(`${head}${macOf(head, headerKey).toString('base64')}\n`);
  let index = 0;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const bytes of plaintext) {
    pending.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    pendingBytes += bytes.byteLength;
    // More than a chunk: which one is the last is known only at the end.
    if (pendingBytes <= CHUNK_BYTES) continue;
    let joined = Buffer.concat(pending);
    for (; joined.length > CHUNK_BYTES; joined = joined.subarray(CHUNK_BYTES)) {
      yield sealChunk(fileKey, joined.subarray(0, CHUNK_BYTES), index++, false);
    }
    pending = [joined];
    pendingBytes = joined.length;
  }
  yield sealChunk(fileKey, Buffer.concat(pending), index, true);
}

/**
 * Decrypts a file of `sealed`. Each chunk is authentic when it is yielded; that the file is complete is known only after the
 * last one.
 * @throws {BackupError} BACKUP_FILE: the file cannot be read, or is not a backup · BACKUP_NEWER: another version of the format ·
 *   BACKUP_PASSPHRASE: the passphrase is wrong, or the first lines were changed · BACKUP_DAMAGED: a chunk was changed, or the
 *   file is cut off
 */
export async function* unsealed(path: string, passphrase: string): AsyncGenerator<Buffer> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw new BackupError(
      'BACKUP_FILE',
      `The backup ${path} cannot be read (${errorCode(error) ?? 'unknown error'}). Check the path and the rights of the file.`,
      { cause: error },
    );
  });
  try {
    const { size } = await file.stat();
    const { parameters, head, mac, headerBytes } = await readHeader(file, path);
    const { fileKey, headerKey } = await deriveKeys(passphrase, parameters);
    const expected = macOf(head, headerKey);
    if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) {
      throw new BackupError(
        'BACKUP_PASSPHRASE',
        `The passphrase does not open ${path}: it is wrong, or the first lines of the file were changed. Nothing was changed.`,
      );
    }
    let position = headerBytes;
    for (let index = 0; position < size || index === 0; index += 1) {
      const length = Math.min(CHUNK_BYTES + TAG_BYTES, size - position);
      const isLast = position + length >= size;
      const chunk = openChunk(fileKey, await readFully(file, position, length), index, isLast);
      if (!chunk) throw damaged(path, position);
      position += length;
      yield chunk;
    }
  } finally {
    await file.close();
  }
}

/** @param position in bytes, where reading stopped */
function damaged(path: string, position: number): BackupError {
  return new BackupError(
    'BACKUP_DAMAGED',
    `The backup ${path} was changed or is cut off: what begins at byte ${position} is not what was written. Nothing was restored from it. Use another copy.`,
  );
}

async function readHeader(file: FileHandle, path: string) {
  const text = (await readFully(file, 0, MAX_HEADER_BYTES)).toString('latin1');
  const [magic = '', json = '', mac = ''] = text.split('\n', 3);
  if (`${magic}\n` !== MAGIC) {
    const isOther = /^wa2ai backup \d+$/.test(magic);
    throw new BackupError(
      isOther ? 'BACKUP_NEWER' : 'BACKUP_FILE',
      isOther
        ? `${path} has another format ("${magic}") than this version of wa2ai reads. Use the version that made it, or a newer one.`
        : `${path} is not a backup of wa2ai.`,
    );
  }
  const parameters = parametersSchema.safeParse(parsedJson(json));
  if (!parameters.success) throw damaged(path, MAGIC.length);
  const head = `${MAGIC}${json}\n`;
  return {
    parameters: parameters.data,
    head,
    mac: Buffer.from(mac, 'base64'),
    headerBytes: head.length + mac.length + 1,
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function readFully(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(Math.max(length, 0));
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

async function deriveKeys(passphrase: string, { n, r, p, salt }: Parameters) {
  const options: ScryptOptions = { N: n, r, p, maxmem: 128 * n * r + 1_048_576 };
  const derived = await new Promise<Buffer>((resolve, reject) => {
    scrypt(passphrase.normalize('NFC'), Buffer.from(salt, 'base64'), 64, options, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
  return { fileKey: derived.subarray(0, 32), headerKey: derived.subarray(32) };
}

function macOf(head: string, key: Buffer): Buffer {
  return createHmac('sha256', key).update(head, 'latin1').digest();
}

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(index, 5, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

function sealChunk(key: Buffer, plaintext: Buffer, index: number, isLast: boolean): Buffer {
  const cipher = createCipheriv(ALGORITHM, key, nonceOf(index, isLast));
  return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** Undefined: the chunk is not the one that was written here. */
function openChunk(key: Buffer, chunk: Buffer, index: number, isLast: boolean): Buffer | undefined {
  if (chunk.length < TAG_BYTES) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, nonceOf(index, isLast), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(chunk.subarray(chunk.length - TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(chunk.subarray(0, chunk.length - TAG_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}

const MIN_CHARS = 12;

/**
 * The passphrase of a backup: from a file (`file`, else that of WA2AI_BACKUP_PASSPHRASE_FILE), whose last line end does not
 * count, or from WA2AI_BACKUP_PASSPHRASE. Never from an argument, which every user of the machine can see.
 * @param isNew a new backup must have a passphrase of at least 12 characters
 * @throws {BackupError} BACKUP_PASSPHRASE: there is none, or it is too short
 */
export async function passphraseOf(options: {
  file: string | undefined;
  env: Record<string, string | undefined>;
  isNew: boolean;
}): Promise<string> {
  const { env, isNew } = options;
  const file = options.file ?? (env.WA2AI_BACKUP_PASSPHRASE_FILE || undefined);
  const passphrase = file === undefined ? env.WA2AI_BACKUP_PASSPHRASE : await readPassphrase(file);
  if (passphrase === undefined || passphrase === '') {
    throw new BackupError(
      'BACKUP_PASSPHRASE',
      'The passphrase is missing. Name a file that contains it with --passphrase-file, or set WA2AI_BACKUP_PASSPHRASE.',
    );
  }
  if (isNew && passphrase.length < MIN_CHARS) {
    throw new BackupError(
      'BACKUP_PASSPHRASE',
      `The passphrase has fewer than ${MIN_CHARS} characters. Create one: openssl rand -base64 24.`,
    );
  }
  return passphrase;
}

async function readPassphrase(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    throw new BackupError(
      'BACKUP_PASSPHRASE',
      `The passphrase file ${file} cannot be read (${errorCode(error) ?? 'unknown error'}). Check the path and the rights of the file.`,
      { cause: error },
    );
  }
}

/** Why a backup cannot be made or restored; stable. */
type BackupErrorCode =
  | 'BACKUP_DAMAGED'
  | 'BACKUP_FILE'
  | 'BACKUP_NEWER'
  | 'BACKUP_PASSPHRASE'
  | 'BACKUP_SOURCE'
  | 'BACKUP_TARGET';

/** A backup cannot be made or restored. The message tells the operator what to do and contains no secret. */
export class BackupError extends Wa2aiError {
  constructor(code: BackupErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, 'dead', { sentence: message }, options);
  }
}

/** A database that is read beside the service. */
interface Source {
  /** Contains the password: never log it. */
  url: string;
  /** Stops the embedded server if `openSource` started it. */
  close(): Promise<void>;
}

/**
 * Opens the database of the settings beside a service that may be using it: the embedded server when it runs, else started
 * for this. Creates no database.
 * @throws {BackupError} BACKUP_SOURCE: there is no embedded database
 * @throws {DatabaseError} the embedded database does not start
 */
export async function openSource(config: DatabaseConfig, log: Logger): Promise<Source> {
  if (config.databaseUrl !== undefined) return { url: config.databaseUrl, close: async () => undefined };
  const folder = serverFolder(join(config.dataDir, 'postgres'));
  if ((await readIfThere(join(folder.data, 'PG_VERSION'))) === undefined) {
    throw new BackupError(
      'BACKUP_SOURCE',
      `${config.dataDir} contains no database. Set WA2AI_DATA_DIR or DATABASE_URL as the service has it.`,
    );
  }
  const url = await urlOfRunning(folder);
  if (url !== undefined) return { url, close: async () => undefined };
  const server = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  return { url: server.url, close: () => server.stop() };
}

/** Only the server of this folder accepts its password. */
async function urlOfRunning(folder: ReturnType<typeof serverFolder>): Promise<string | undefined> {
  const pidFile = await readPidFile(folder);
  if (pidFile?.port === undefined) return undefined;
  const url = await urlOfFolder(folder, pidFile.port);
  const client = new PostgresClient({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  const isRunning = await client.connect().then(
    () => true,
    () => false,
  );
  await client.end().catch(() => undefined);
  return isRunning ? url : undefined;
}
