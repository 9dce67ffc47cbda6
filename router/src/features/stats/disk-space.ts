import { statfs } from 'node:fs/promises';

/** Free bytes and size of the disk of a folder. Rejects when the folder cannot be read. */
export async function diskSpace(folder: string): Promise<{ freeBytes: number; sizeBytes: number }> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}
