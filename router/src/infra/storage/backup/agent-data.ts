import { createHash } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { chmod, lchown, lstat, mkdir, open, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, errorMessage } from '../database-errors.ts';
import { makeFolder } from '../files.ts';
import { BackupError } from './backup-errors.ts';
import { type BackupRecord, dataRecords, type FileHead } from './records.ts';

/** Folders of the data folder that a backup contains: the files of hosted agents, the tokens by which they are called, files of replies. */
export const AGENT_FOLDERS = ['agents', 'agent-tokens', 'media'] as const;

/**
 * The files of hosted agents and of replies. A file that is removed meanwhile is left out; one that is written meanwhile may be in the
 * backup as no program wrote it.
 * @throws {BackupError} BACKUP_SOURCE: a file cannot be read
 */
export async function* dumpAgentData(dataDir: string): AsyncGenerator<BackupRecord, number, undefined> {
  let files = 0;
  for (const folder of AGENT_FOLDERS) {
    for await (const entry of walk(dataDir, folder)) {
      files += 1;
      yield { type: 'file', value: entry };
      const hash = createHash('sha256');
      let bytes = 0;
      if (entry.kind === 'file') {
        yield* dataRecords(
          (async function* () {
            for await (const chunk of readable(join(dataDir, entry.path))) {
              hash.update(chunk);
              bytes += chunk.length;
              yield chunk;
            }
          })(),
        );
      }
      yield { type: 'fileEnd', value: { bytes, sha256: hash.digest('hex') } };
    }
  }
  return files;
}

/** A folder before its contents. Links are not followed; sockets and devices are left out. */
async function* walk(dataDir: string, path: string): AsyncGenerator<FileHead, void, undefined> {
  const full = join(dataDir, path);
  const stats = await ifThere(lstat(full), full);
  const head = stats && (await headOf(stats, path, full));
  if (!head) return;
  yield head;
  if (head.kind !== 'folder') return;
  for (const name of (await ifThere(readdir(full), full)) ?? []) yield* walk(dataDir, `${path}/${name}`);
}

async function headOf(stats: Stats, path: string, full: string): Promise<FileHead | undefined> {
  const common = { path, mode: stats.mode & 0o777, uid: stats.uid, gid: stats.gid };
  if (stats.isDirectory()) return { ...common, kind: 'folder' };
  if (stats.isFile()) return { ...common, kind: 'file' };
  if (!stats.isSymbolicLink()) return undefined;
  const target = await ifThere(readlink(full), full);
  return target === undefined ? undefined : { ...common, kind: 'link', target };
}

async function* readable(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path) as AsyncIterable<Buffer>;
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw cannotRead(path, error);
  }
}

async function ifThere<T>(reading: Promise<T>, path: string): Promise<T | undefined> {
  return reading.catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw cannotRead(path, error);
  });
}

function cannotRead(path: string, error: unknown): BackupError {
  return new BackupError(
    'BACKUP_SOURCE',
    `The file ${path} cannot be read (${errorCode(error) ?? errorMessage(error)}). Run this command as the user of the service, or as root. There is no backup.`,
    { cause: error },
  );
}

/**
 * Writes files of a backup below a folder that did not exist. Links are made by `finish`, after all files: no file is written
 * through one. Owners are set when this process is root.
 */
export class AgentDataWriter {
  readonly #root: string;
  #isUsed = false;
  readonly #links: FileHead[] = [];
  readonly #folders: FileHead[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  /** @param data the bytes of a file, all of which are read */
  async write(head: FileHead, data: AsyncIterable<Buffer>): Promise<void> {
    if (!this.#isUsed) await makeFolder(this.#root);
    this.#isUsed = true;
    const path = join(this.#root, head.path);
    if (head.kind === 'link') this.#links.push(head);
    if (head.kind === 'folder') {
      await mkdir(path, { mode: 0o700 });
      this.#folders.push(head);
    }
    if (head.kind !== 'file') {
      for await (const _ of data);
      return;
    }
    const file = await open(path, 'wx', 0o600);
    try {
      for await (const chunk of data) await file.write(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    await this.#own(head);
  }

  /** Makes the links, and gives folders their rights, the innermost first. */
  async finish(): Promise<void> {
    for (const head of this.#links) {
      await symlink(head.target ?? '', join(this.#root, head.path));
      await this.#own(head);
    }
    for (const head of this.#folders.reverse()) await this.#own(head);
  }

  /** Moves the folders to where the service looks for them, in place of those that are there. */
  async place(dataDir: string): Promise<void> {
    if (!this.#isUsed) return;
    for (const folder of AGENT_FOLDERS) {
      if (!this.#folders.some(({ path }) => path === folder)) continue;
      await rm(join(dataDir, folder), { recursive: true, force: true });
      await rename(join(this.#root, folder), join(dataDir, folder));
    }
  }

  /** Removes what was not placed. */
  async remove(): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
  }

  async #own(head: FileHead): Promise<void> {
    const path = join(this.#root, head.path);
    if (process.getuid?.() === 0) await lchown(path, head.uid, head.gid);
    if (head.kind !== 'link') await chmod(path, head.mode);
  }
}
