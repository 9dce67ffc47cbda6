import { randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError, errorCode, errorMessage } from './database-errors.ts';
import { makeFolder } from './make-folder.ts';

/**
 * The name of this node: created by the first call and stored in `<dataDir>/node-id`, so that a restarted node resumes its
 * work. Concurrent calls return the same name.
 * @throws {DatabaseError} DATABASE_FOLDER: the data folder cannot be read or written
 */
export async function nodeIdOf(dataDir: string): Promise<string> {
  const file = join(dataDir, 'node-id');
  try {
    await makeFolder(dataDir);
    return (await readId(file)) ?? (await createId(file));
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The name of this node cannot be stored in ${file}: ${errorMessage(error)}. Set WA2AI_DATA_DIR to a folder that this user may write, or WA2AI_NODE_ID to a name.`,
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

/** A link appears with its content or not at all, and never replaces a file. */
async function createId(file: string): Promise<string> {
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
