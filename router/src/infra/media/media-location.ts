import { createHash, randomBytes } from 'node:crypto';
import { MediaError } from '../../core/errors.ts';

const LOCATION = /^[0-9a-f]{2}\/([0-9a-f]{64})-[0-9a-f]{16}$/;

/**
 * A new location for a file. It contains the hash of the file, and a random part: each file belongs to one row, so that it
 * can be removed with it.
 */
export function newLocation(bytes: Uint8Array): string {
  const hash = hashOf(bytes);
  return `${hash.slice(0, 2)}/${hash}-${randomBytes(8).toString('hex')}`;
}

/** Whether it is a location of a file; a store has no other names. */
export function isLocation(name: string): boolean {
  return LOCATION.test(name);
}

/** @throws {MediaError} the bytes are not those that were stored there */
export function checkHash(location: string, bytes: Uint8Array): Uint8Array {
  if (hashOf(bytes) === LOCATION.exec(location)?.[1]) return bytes;
  throw new MediaError('MEDIA_BROKEN', `The stored file ${location} was changed or is damaged.`);
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
