import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import {
  chmod,
  type FileHandle,
  lchmod,
  lchown,
  lstat,
  mkdir,
  open,
  opendir,
  readlink,
  rename,
  rmdir,
  stat,
  symlink,
  unlink,
} from 'node:fs/promises';
import { join } from 'node:path';

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Opens neither a link nor a pipe that blocks. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Linux: a folder that may not be read, for a change of its mode (`O_PATH`). */
const ONLY_NAMED = 0o10_000_000 | FOLDER;

/** Limits of a walk. What is beyond them is `unread`. */
const MAX_DEPTH = 100;
const MAX_PATH_BYTES = 4_096;
const MAX_NAMES = 100_000;
/** Names that a deletion reads at a time. */
const BATCH = 1_000;
/** A program that writes faster than wa2ai deletes does not keep it busy without end. */
const MAX_DELETED = 2_000_000;

/** Codes of the system for a name that is not what was expected: a link, a file, a folder, or a name that is not possible. */
export const NOT_A_PLACE = new Set('ELOOP ENOTDIR EMLINK EISDIR ENOTEMPTY EEXIST ENAMETOOLONG'.split(' '));

/** What a walk finds. Paths have slashes and begin below the folder where the walk began. */
export type FolderEntry = { path: string } & (
  | { kind: 'folder' | 'other'; stats: Stats; give(owner: FileOwner): Promise<void> }
  /** `open` fails as `OpenFolder.read`. */
  | { kind: 'file'; stats: Stats; give(owner: FileOwner): Promise<void>; open(): Promise<FileHandle> }
  | { kind: 'link'; stats: Stats; give(owner: FileOwner): Promise<void>; target: string }
  /** A folder or file that cannot be read, with the reason. */
  | { kind: 'unread'; reason: string }
);

interface FileOwner {
  uid: number;
  gid: number;
}

/**
 * A folder that is open. What is in it is found by its handle (`openat`), and no link is followed, so that a program that
 * replaces a folder by a link meanwhile leads wa2ai nowhere else: not when it reads, writes, lists or deletes.
 *
 * Linux has names for open folders in /proc/self/fd, macOS in /.vol. `isSafe` is false where neither exists: there the path is
 * used, and a program that may write into the folder must not run.
 */
export class OpenFolder {
  readonly #handle: FileHandle;
  /** A path that leads to the open folder, wherever it is now. */
  readonly #base: string;
  readonly isSafe: boolean;
  /** As it was when the folder was opened. */
  readonly owner: FileOwner;
  readonly mode: number;

  private constructor(handle: FileHandle, base: string, isSafe: boolean, { uid, gid, mode }: Stats) {
    this.#handle = handle;
    this.#base = base;
    this.isSafe = isSafe;
    this.owner = { uid, gid };
    this.mode = mode & 0o777;
  }

  /** @throws an error of the system: it does not exist (`ENOENT`), or is a link or no folder (`ELOOP`, `ENOTDIR`) */
  static async open(path: string): Promise<OpenFolder> {
    return await OpenFolder.#of(await open(path, FOLDER), path);
  }

  static async #of(handle: FileHandle, path: string): Promise<OpenFolder> {
    try {
      const own = await handle.stat();
      const named =
        process.platform === 'darwin' ? `/.vol/${own.dev}/${own.ino}` : `/proc/self/fd/${handle.fd}`;
      const found = await stat(named).catch(() => undefined);
      const isSafe = found?.ino === own.ino && found.dev === own.dev;
      return new OpenFolder(handle, isSafe ? named : path, isSafe, own);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** A folder in it. @throws as `open` */
  async enter(name: string | Buffer): Promise<OpenFolder> {
    return await OpenFolder.#of(await open(this.#at(name), FOLDER), join(this.#base, String(name)));
  }

  /** A folder in it, made when it is missing, with the owner of this one. @throws as `open` */
  async make(name: string): Promise<OpenFolder> {
    const isNew = await mkdir(this.#at(name), { mode: 0o700 }).then(
      () => true,
      (error) => {
        if (error.code === 'EEXIST') return false;
        throw error;
      },
    );
    const folder = await this.enter(name);
    try {
      if (isNew) await this.#give(folder.#handle);
      return folder;
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  /**
   * The folder that a path of names below this one leads to; this one stays open.
   * @param isMade missing folders are made
   * @throws as `open`
   */
  async descend(names: readonly string[], isMade = false): Promise<OpenFolder> {
    let folder: OpenFolder = await this.enter('.');
    for (const name of names) {
      const outer: OpenFolder = folder;
      try {
        folder = isMade ? await outer.make(name) : await outer.enter(name);
      } finally {
        await outer.close();
      }
    }
    return folder;
  }

  /** A file of it for reading. @throws an error of the system: there is none, or it is a link (`ELOOP`), or no file (`EISDIR`) */
  async read(name: string): Promise<FileHandle> {
    const file = await open(this.#at(name), READ);
    try {
      if ((await file.stat()).isFile()) return file;
    } catch (error) {
      await file.close();
      throw error;
    }
    await file.close();
    throw Object.assign(new Error(`EISDIR: ${name} is not a file`), { code: 'EISDIR' });
  }

  /** A new file for writing, mode 0600. @throws an error of the system: the name is taken (`EEXIST`) */
  async create(name: string): Promise<FileHandle> {
    return await open(this.#at(name), NEW_FILE, 0o600);
  }

  /**
   * Stores a file, in the place of one with this name or a link, with the owner of this folder. It is there whole or as it was
   * before.
   * @throws an error of the system: a folder has the name (`EISDIR`, `ENOTEMPTY`), or the disk is full
   */
  async replace(name: string, bytes: Uint8Array): Promise<void> {
    const unfinished = `.upload-${randomBytes(8).toString('hex')}`;
    try {
      const file = await this.create(unfinished);
      try {
        await file.writeFile(bytes);
        await this.#give(file);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(this.#at(unfinished), this.#at(name));
    } catch (error) {
      await unlink(this.#at(unfinished)).catch(() => undefined);
      throw error;
    }
  }

  /** Makes a link, and gives it an owner when this process is root. */
  async link(name: string, target: string, owner: FileOwner): Promise<void> {
    await symlink(target, this.#at(name));
    if (process.getuid?.() === 0) await lchown(this.#at(name), owner.uid, owner.gid);
  }

  /** Sets the mode of this folder, and its owner when this process is root. */
  async own({ uid, gid, mode }: FileOwner & { mode: number }): Promise<void> {
    if (process.getuid?.() === 0) await this.#handle.chown(uid, gid);
    await this.#handle.chmod(mode);
  }

  /**
   * Deletes a file, a link, or a folder with all that is in it, however deep; nothing happens when it does not exist.
   * @throws an error of the system; `ENOTEMPTY`: a program writes into the folder all the time
   */
  async remove(name: string | Buffer): Promise<void> {
    const budget = { left: MAX_DELETED };
    for (let attempt = 1; ; attempt++) {
      try {
        const folder = await this.#unlinked(name);
        if (folder === undefined) return;
        try {
          await folder.#empty(budget);
        } finally {
          await folder.close();
        }
        await rmdir(this.#at(name));
        return;
      } catch (error) {
        const code = codeOf(error);
        if (code === 'ENOENT') return;
        // A program has replaced it, or written into it.
        if (attempt >= 20 || budget.left <= 0 || !NOT_A_PLACE.has(code ?? '')) throw error;
      }
    }
  }

  /**
   * All that is below this folder, by name, a folder before its contents. What disappears meanwhile is left out. At most 100
   * folders are open at the same time.
   * @throws an error of the system: this folder itself cannot be read
   */
  async *walk(): AsyncGenerator<FolderEntry, void, undefined> {
    const levels: Level[] = [{ folder: this, prefix: '', ...(await this.#names()) }];
    try {
      for (let level = levels.at(-1); level; level = levels.at(-1)) {
        const name = level.names.pop();
        if (name === undefined) {
          if (level.hasMore) yield { kind: 'unread', path: level.prefix || '.', reason: 'too many files' };
          if (level.folder !== this) await level.folder.close();
          levels.pop();
          continue;
        }
        const path = level.prefix + String(name);
        try {
          if (!isUtf8(name)) throw unread('EILSEQ');
          if (levels.length > MAX_DEPTH || Buffer.byteLength(path) > MAX_PATH_BYTES)
            throw unread('ENAMETOOLONG');
          const entry = await level.folder.#entry(String(name), path);
          if (entry.inner) levels.push(entry.inner);
          yield entry.found;
        } catch (error) {
          if (codeOf(error) !== 'ENOENT')
            yield { kind: 'unread', path, reason: codeOf(error) ?? String(error) };
        }
      }
    } finally {
      for (const { folder } of levels) if (folder !== this) await folder.close();
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #entry(name: string, path: string): Promise<{ found: FolderEntry; inner?: Level }> {
    const stats = await lstat(this.#at(name));
    const common = { path, stats, give: ({ uid, gid }: FileOwner) => lchown(this.#at(name), uid, gid) };
    if (stats.isFile()) return { found: { ...common, kind: 'file', open: () => this.read(name) } };
    if (stats.isSymbolicLink()) {
      return { found: { ...common, kind: 'link', target: await readlink(this.#at(name)) } };
    }
    if (!stats.isDirectory()) return { found: { ...common, kind: 'other' } };
    const folder = await this.enter(name);
    try {
      const inner = { folder, prefix: `${path}/`, ...(await folder.#names()) };
      return { found: { ...common, kind: 'folder', stats: await folder.#handle.stat() }, inner };
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  /** Names in it, the last one first. */
  async #names(limit = MAX_NAMES): Promise<{ names: Buffer[]; hasMore: boolean }> {
    const names: Buffer[] = [];
    const found = await opendir(this.#base, { encoding: 'buffer' as BufferEncoding, bufferSize: 512 });
    for await (const { name } of found) {
      if (names.length >= limit) return { names: names.sort(Buffer.compare).reverse(), hasMore: true };
      names.push(name as unknown as Buffer);
    }
    return { names: names.sort(Buffer.compare).reverse(), hasMore: false };
  }

  /** Deletes what is not a folder. @returns the folder that has the name, readable */
  async #unlinked(name: string | Buffer): Promise<OpenFolder | undefined> {
    try {
      await unlink(this.#at(name));
      return undefined;
    } catch (error) {
      if (codeOf(error) !== (process.platform === 'darwin' ? 'EPERM' : 'EISDIR')) throw error;
      const folder = await this.enter(name).catch(async (refused: unknown) => {
        if (codeOf(refused) !== 'EACCES') throw refused;
        await this.#unlock(name);
        return await this.enter(name);
      });
      // Without the right to write, nothing in it can be deleted.
      await folder.#handle.chmod(0o700).catch(() => undefined);
      return folder;
    }
  }

  /** Lets its owner read a folder that may not be read. */
  async #unlock(name: string | Buffer): Promise<void> {
    if (process.platform === 'darwin') return await lchmod(this.#at(name), 0o700);
    const named = await open(this.#at(name), ONLY_NAMED);
    await chmod(`/proc/self/fd/${named.fd}`, 0o700).finally(() => named.close());
  }

  /** Folders inside of folders are moved up before they are emptied: no path is long, and few folders are open. */
  async #empty(budget: { left: number }): Promise<void> {
    for (;;) {
      const { names } = await this.#names(BATCH);
      if (names.length === 0) return;
      for (const name of names) {
        const folder = await this.#unlinkedUnlessGone(name, budget);
        if (!folder) continue;
        try {
          await folder.#flatten(this, budget);
        } finally {
          await folder.close();
        }
        await rmdir(this.#at(name)).catch(ignoreChanged);
      }
    }
  }

  /** Deletes the files of this folder, and moves its folders to another one. */
  async #flatten(into: OpenFolder, budget: { left: number }): Promise<void> {
    for (;;) {
      const { names } = await this.#names(BATCH);
      if (names.length === 0) return;
      for (const name of names) {
        const folder = await this.#unlinkedUnlessGone(name, budget);
        if (!folder) continue;
        await folder.close();
        const moved = `.deleted-${randomBytes(8).toString('hex')}`;
        await rename(this.#at(name), into.#at(moved)).catch(ignoreChanged);
      }
    }
  }

  async #unlinkedUnlessGone(name: Buffer, budget: { left: number }): Promise<OpenFolder | undefined> {
    if (budget.left-- <= 0) {
      throw Object.assign(new Error('ENOTEMPTY: a program writes into the folder'), { code: 'ENOTEMPTY' });
    }
    return await this.#unlinked(name).catch((error: unknown) => {
      ignoreChanged(error);
      return undefined;
    });
  }

  async #give(file: FileHandle): Promise<void> {
    if (process.getuid?.() === 0) await file.chown(this.owner.uid, this.owner.gid);
  }

  #at(name: string | Buffer): string | Buffer {
    return typeof name === 'string'
      ? `${this.#base}/${name}`
      : Buffer.concat([Buffer.from(`${this.#base}/`), name]);
  }
}

interface Level {
  folder: OpenFolder;
  /** Path of the folder with a slash at its end. */
  prefix: string;
  names: Buffer[];
  hasMore: boolean;
}

/** What was replaced or deleted meanwhile is found by the next look. */
function ignoreChanged(error: unknown): void {
  const code = codeOf(error) ?? '';
  if (code !== 'ENOENT' && !NOT_A_PLACE.has(code)) throw error;
}

function unread(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | undefined)?.code;
}
