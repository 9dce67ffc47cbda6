import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * A folder that is open. On Linux what is in it is found by its handle, so that a program that replaces the folder or one
 * above it by a link meanwhile leads nowhere else.
 */
export class OpenFolder {
  readonly #handle: FileHandle;
  readonly #path: string;
  readonly #owner: { uid: number; gid: number };

  private constructor(handle: FileHandle, path: string, owner: { uid: number; gid: number }) {
    this.#handle = handle;
    this.#path = path;
    this.#owner = owner;
  }

  /** @throws an error of the system: it does not exist (`ENOENT`), or is a link or no folder (`ELOOP`, `ENOTDIR`) */
  static async open(path: string): Promise<OpenFolder> {
    const handle = await open(path, FOLDER);
    const { uid, gid } = await handle.stat();
    return new OpenFolder(handle, path, { uid, gid });
  }

  /** A folder in it, made when it is missing, with the same owner. @throws as `open` */
  async enter(name: string): Promise<OpenFolder> {
    const path = this.#at(name);
    const isNew = await mkdir(path, { mode: 0o700 }).then(
      () => true,
      (error) => {
        if (error.code === 'EEXIST') return false;
        throw error;
      },
    );
    const handle = await open(path, FOLDER);
    try {
      if (isNew) await this.#give(handle);
      return new OpenFolder(handle, join(this.#path, name), this.#owner);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /**
   * Stores a file, in the place of one with this name or a link. It is there whole or as it was before.
   * @throws an error of the system: a folder has the name (`EISDIR`, `ENOTEMPTY`), or the disk is full
   */
  async replace(name: string, bytes: Uint8Array): Promise<void> {
    const unfinished = this.#at(`.upload-${randomBytes(8).toString('hex')}`);
    try {
      const file = await open(unfinished, NEW_FILE, 0o600);
      try {
        await file.writeFile(bytes);
        await this.#give(file);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(unfinished, this.#at(name));
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #give(file: FileHandle): Promise<void> {
    if (process.getuid?.() === 0) await file.chown(this.#owner.uid, this.#owner.gid);
  }

  #at(name: string): string {
    return process.platform === 'linux' ? `/proc/self/fd/${this.#handle.fd}/${name}` : join(this.#path, name);
  }
}
