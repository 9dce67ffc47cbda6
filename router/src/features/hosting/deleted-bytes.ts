import { readdir, stat } from 'node:fs/promises';

/**
 * Bytes of files that programs have deleted and keep open on the disk of a folder: no walk finds them. Linux only, and only of
 * processes that wa2ai may look at (as root, or of the same user); 0 otherwise.
 * @param isOf whether a process is meant, by its folder in /proc; it may throw when the process has ended
 */
export async function deletedBytes(
  folder: string,
  isOf: (procFolder: string) => Promise<boolean>,
): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const { dev } = await stat(folder);
  const found = new Map<number, number>();
  for (const pid of (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    if (!(await isOf(`/proc/${pid}`).catch(() => false))) continue;
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const file = await stat(`/proc/${pid}/fd/${fd}`).catch(() => undefined);
      if (!file?.isFile() || file.nlink > 0 || file.dev !== dev) continue;
      // Several processes may have the same file open.
      found.set(file.ino, Math.max(file.size, file.blocks * 512));
    }
  }
  return [...found.values()].reduce((sum, bytes) => sum + bytes, 0);
}
