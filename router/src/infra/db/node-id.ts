import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseError, errorMessage } from './database-errors.ts';
import { createFile, makeFolder, readIfThere } from './files.ts';

/**
 * The name of this node: created by the first call and stored in `<dataDir>/node-id`, so that a restarted node resumes its
 * work. Concurrent calls return the same name.
 * @throws {DatabaseError} DATABASE_FOLDER: the data folder cannot be read or written
 */
export async function nodeIdOf(dataDir: string): Promise<string> {
  const file = join(dataDir, 'node-id');
  try {
    await makeFolder(dataDir);
    const text =
      (await readIfThere(file)) ?? (await createFile(file, `node-${randomBytes(6).toString('hex')}\n`));
    const id = text.trim();
    if (id === '') throw new Error('the file is empty');
    return id;
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The name of this node cannot be stored in ${file}: ${errorMessage(error)}. Set WA2AI_DATA_DIR to a folder that this user may write, or WA2AI_NODE_ID to a name.`,
      { cause: error },
    );
  }
}
