import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { DatabaseError } from '../../../../../router/src/infra/db/stores/storage-errors.ts';
import { fullDiskTrouble, orFullDisk } from '../../../../../router/src/infra/db/upkeep/storage-check.ts';

const isFullDiskError = async (error: unknown) => (await fullDiskTrouble(error, tmpdir())) !== undefined;

describe('an error of a full disk', () => {
  it.each([
    ['a code of Node', Object.assign(new Error('write failed'), { code: 'ENOSPC' })],
    ['the SQLSTATE of PostgreSQL', Object.assign(new Error('could not extend file'), { code: '53100' })],
    ['a message of PostgreSQL', new Error('FATAL: could not write: No space left on device')],
    ['a cause', new Error('cannot start', { cause: Object.assign(new Error('quota'), { code: 'EDQUOT' }) })],
  ])('is recognized by %s', async (_what, error) => {
    expect(await isFullDiskError(error)).toBe(true);
  });

  it('is no other error', async () => {
    expect(await isFullDiskError(new Error('password rejected', { cause: 'x' }))).toBe(false);
    expect(await isFullDiskError(undefined)).toBe(false);
  });
});

describe('an error of the embedded database', () => {
  const full = Object.assign(new Error('write failed'), { code: 'ENOSPC' });
  const other = new DatabaseError('DATABASE_VERSION', 'Another version.');

  it('becomes a sentence about the disk when it is full, at the start and later', async () => {
    expect(await orFullDisk(full, tmpdir())).toMatchObject({
      code: 'DATABASE_FULL',
      message:
        'The disk of the embedded database (WA2AI_DATA_DIR) is full. Free space on it. Then start wa2ai again.',
      cause: full,
    });
    expect(await fullDiskTrouble(full, tmpdir())).toMatchObject({ trouble: 'full', cause: full });
  });

  it('stays unchanged otherwise', async () => {
    expect(await orFullDisk(other, tmpdir())).toBe(other);
    expect(await fullDiskTrouble(other, tmpdir())).toBeUndefined();
  });
});
