import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { realpath, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../../infra/db/files.ts';
import { errorCode, errorMessage } from '../../infra/db/stores/storage-errors.ts';
import { type FolderEntry, OpenFolder } from '../../infra/files/open-folder.ts';
import { type BackupRecord, dataRecords, type FileHead } from './records.ts';
import { BackupError } from './sealed-file.ts';

/** Folders of the data folder that a backup contains: the files of hosted agents, the tokens by which they are called, files of replies. */
export const AGENT_FOLDERS = ['agents', 'agent-tokens', 'media'] as const;

/** A file with so many bytes that take no place on the disk is not read: it may be endless. */
const MAX_HOLE_BYTES = 1_073_741_824;
/** Files that a report names; it counts the others. */
const MAX_NAMED = 100;

/** What a backup does not contain, or only in part, because it could not be read. */
export interface LeftOut {
  count: number;
  /** The first 100. */
  files: Array<{ path: string; reason: string }>;
}

/**
 * The files of hosted agents and of replies, found by open folders: a link is stored as a link and never followed, also when an
 * agent replaces a folder by one meanwhile. Sockets, devices and what is removed meanwhile are left out; a file that cannot be
 * read is named in `leftOut`; one that is written meanwhile may be in the backup as no program wrote it.
 * @returns how many files, folders and links there are
 * @throws {BackupError} BACKUP_SOURCE: one of the folders of wa2ai itself cannot be read
 */
export async function* dumpAgentData(
  dataDir: string,
  leftOut: LeftOut,
): AsyncGenerator<BackupRecord, number, undefined> {
  let files = 0;
  for (const name of AGENT_FOLDERS) {
    const folder = await ownFolder(join(dataDir, name));
    if (!folder) continue;
    try {
      yield* recordsOf({ path: name, kind: 'folder', mode: folder.mode, ...folder.owner });
      files += 1;
      for await (const entry of folder.walk()) {
        const path = `${name}/${entry.path}`;
        if (entry.kind === 'unread') note(leftOut, path, entry.reason);
        else if (entry.kind !== 'other' && (yield* dumpEntry({ ...entry, path }, leftOut))) files += 1;
      }
    } finally {
      await folder.close();
    }
  }
  return files;
}

/** @returns false: it is not in the backup */
async function* dumpEntry(
  entry: Exclude<FolderEntry, { kind: 'unread' }>,
  leftOut: LeftOut,
): AsyncGenerator<BackupRecord, boolean, undefined> {
  const { path, stats } = entry;
  const common = { path, mode: stats.mode & 0o777, uid: stats.uid, gid: stats.gid };
  if (entry.kind === 'link') yield* recordsOf({ ...common, kind: 'link', target: entry.target });
  if (entry.kind === 'folder') yield* recordsOf({ ...common, kind: 'folder' });
  if (entry.kind !== 'file') return entry.kind !== 'other';
  const file = await entry.open().catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') note(leftOut, path, error);
    return undefined;
  });
  if (!file) return false;
  try {
    const { mode, uid, gid, size, blocks } = await file.stat();
    if (size - (blocks ?? 0) * 512 > MAX_HOLE_BYTES) {
      note(leftOut, path, 'it is mostly holes');
      return false;
    }
    yield* recordsOf({ path, kind: 'file', mode: mode & 0o777, uid, gid }, async function* () {
      try {
        yield* bytesOf(file, size);
      } catch (error) {
        note(leftOut, path, error);
      }
    });
    return true;
  } finally {
    await file.close();
  }
}

async function* recordsOf(
  head: FileHead,
  content?: () => AsyncIterable<Buffer>,
): AsyncGenerator<BackupRecord, void, undefined> {
  yield { type: 'file', value: head };
  const hash = createHash('sha256');
  let bytes = 0;
  if (content) {
    yield* dataRecords(
      (async function* () {
        for await (const chunk of content()) {
          hash.update(chunk);
          bytes += chunk.length;
          yield chunk;
        }
      })(),
    );
  }
  yield { type: 'fileEnd', value: { bytes, sha256: hash.digest('hex') } };
}

/** At most as many as it had: one that grows has no end. */
async function* bytesOf(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  if (size === 0) return;
  yield* file.createReadStream({ start: 0, end: size - 1, autoClose: false }) as AsyncIterable<Buffer>;
}

/** A folder of the data folder, which may be a link of the operator. */
async function ownFolder(path: string): Promise<OpenFolder | undefined> {
  try {
    return await OpenFolder.open(await realpath(path));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new BackupError(
      'BACKUP_SOURCE',
      `The folder ${path} cannot be read (${errorCode(error) ?? errorMessage(error)}). Run this command as the user of the service, or as root. There is no backup.`,
      { cause: error },
    );
  }
}

function note(leftOut: LeftOut, path: string, error: unknown): void {
  leftOut.count += 1;
  const reason = typeof error === 'string' ? error : (errorCode(error) ?? errorMessage(error));
  if (leftOut.files.length < MAX_NAMED) leftOut.files.push({ path, reason });
}

/**
 * Writes files of a backup below a folder that did not exist, by open folders. Links are made by `finish`, after all files, and
 * nothing is written through one. Owners are set when this process is root.
 */
export class AgentDataWriter {
  readonly #path: string;
  #root: OpenFolder | undefined;
  /** The folder of the last file: the next one is mostly beside it. */
  #last: { path: string; folder: OpenFolder } | undefined;
  readonly #links: FileHead[] = [];
  readonly #folders: FileHead[] = [];

  constructor(root: string) {
    this.#path = root;
  }

  /** @param data the bytes of a file, all of which are read */
  async write(head: FileHead, data: AsyncIterable<Buffer>): Promise<void> {
    if (head.kind === 'link') this.#links.push(head);
    if (head.kind === 'folder') {
      const { folder, name } = await this.#placeOf(head);
      await (await folder.make(name)).close();
      this.#folders.push(head);
    }
    if (head.kind !== 'file') {
      for await (const _ of data);
      return;
    }
    const { folder, name } = await this.#placeOf(head);
    const file = await folder.create(name);
    try {
      for await (const chunk of data) await file.writeFile(chunk);
      await file.sync();
      if (process.getuid?.() === 0) await file.chown(head.uid, head.gid);
      await file.chmod(head.mode);
    } finally {
      await file.close();
    }
  }

  /** Makes the links, and gives folders their rights, the innermost first. */
  async finish(): Promise<void> {
    for (const head of this.#links) {
      const { folder, name } = await this.#placeOf(head);
      await folder.link(name, head.target ?? '', head);
    }
    for (const head of this.#folders.reverse()) {
      const { folder, name } = await this.#placeOf(head);
      const own = await folder.enter(name);
      await own.own(head).finally(() => own.close());
    }
  }

  /** Moves the folders to where the service looks for them, in place of those that are there. */
  async place(dataDir: string): Promise<void> {
    if (!this.#root) return;
    const data = await OpenFolder.open(await realpath(dataDir));
    try {
      for (const folder of AGENT_FOLDERS) {
        if (!this.#folders.some(({ path }) => path === folder)) continue;
        await data.remove(folder);
        await rename(join(this.#path, folder), join(dataDir, folder));
      }
    } finally {
      await data.close();
    }
  }

  /** Removes what was not placed. */
  async remove(): Promise<void> {
    await this.#last?.folder.close();
    await this.#root?.close();
    if (!this.#root) return;
    const parent = await OpenFolder.open(await realpath(dirname(this.#path)));
    await parent.remove(basename(this.#path)).finally(() => parent.close());
  }

  /** @throws {BackupError} BACKUP_DAMAGED: a part of the path is not a folder of the backup */
  async #placeOf({ path }: FileHead): Promise<{ folder: OpenFolder; name: string }> {
    if (!this.#root) {
      await makeFolder(this.#path);
      this.#root = await OpenFolder.open(this.#path);
    }
    const names = path.split('/');
    const name = names.pop() ?? '';
    const folderPath = names.join('/');
    if (this.#last?.path !== folderPath) {
      const folder = await this.#root.descend(names).catch((error: unknown) => {
        throw new BackupError(
          'BACKUP_DAMAGED',
          `The backup contains a file without its folder (${errorCode(error) ?? errorMessage(error)}). Nothing was restored. Use another copy.`,
          { cause: error },
        );
      });
      await this.#last?.folder.close();
      this.#last = { path: folderPath, folder };
    }
    return { folder: this.#last.folder, name };
  }
}
