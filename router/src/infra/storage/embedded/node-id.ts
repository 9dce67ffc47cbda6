import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError, errorCode, errorMessage } from '../database-errors.ts';

/**
 * The name of this node: made at the first call and kept in `<dataDir>/node-id`, so that a restart resumes what the
 * node had begun. Two calls at once get the same name.
 * @throws {DatabaseError} DATABASE_FOLDER: the data folder cannot be read or written
 */
export async function nodeIdOf(dataDir: string): Promise<string> {
  const file = join(dataDir, 'node-id');
  try {
    await mkdir(dataDir, { recursive: true });
    return (await readId(file)) ?? (await makeId(file));
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The name of this node cannot be kept in ${file}: ${errorMessage(error)}. Set WA2AI_DATA_DIR to a folder that this user may write, or WA2AI_NODE_ID to a name.`,
      { cause: error },
    );
  }
}

async function readId(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return '';
    throw error;
  });
  return text.trim() || undefined;
}

/** A link appears with its content or not at all, and never over another one. */
async function makeId(file: string): Promise<string> {
  const id = `node-${randomBytes(6).toString('hex')}`;
  const draft = `${file}.${process.pid}-${randomBytes(4).toString('hex')}`;
  await writeFile(draft, `${id}\n`);
  try {
    await link(draft, file);
    return id;
  } catch (error) {
    const other = errorCode(error) === 'EEXIST' ? await readId(file) : undefined;
    if (other === undefined) throw error;
    return other;
  } finally {
    await rm(draft, { force: true });
  }
}
