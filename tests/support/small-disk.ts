import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { open, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CHUNK_BYTES = 1_048_576;

/** A disk of a few megabytes in memory, to run full. */
export class SmallDisk {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** @throws where this process may not mount one: it takes Linux, and root */
  static mount(megabytes: number): SmallDisk {
    const path = mkdtempSync(join(tmpdir(), 'wa2ai-small-disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`, 'wa2ai-test', path]);
    } catch (error) {
      rmSync(path, { recursive: true, force: true });
      throw new Error('this test needs its own disk: run it on Linux, as a root user that may mount', {
        cause: error,
      });
    }
    return new SmallDisk(path);
  }

  /** Fills the disk, except for so many bytes. */
  async fill(leaveBytes = 0): Promise<void> {
    const file = await open(join(this.path, 'filler'), 'a');
    try {
      for (;;) {
        const { bavail, bsize } = await statfs(this.path);
        const left = bavail * bsize - leaveBytes;
        if (left < bsize) return;
        await file.write(Buffer.alloc(Math.min(left, CHUNK_BYTES)));
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      await file.close();
    }
  }

  /** Removes what `fill` wrote. */
  async free(): Promise<void> {
    await rm(join(this.path, 'filler'), { force: true });
  }

  unmount(): void {
    execFileSync('umount', ['--lazy', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }
}
