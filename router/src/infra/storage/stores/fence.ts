import { LeaseLostError } from '../../../core/errors.ts';
import type { Fence } from '../../../core/ports/account-lease.ts';
import { withStorage } from './storage-errors.ts';

/** What a fenced statement gives back: `held` is 0 when the lease no longer counts and nothing was written. */
export interface HeldRow {
  held: number;
}

/** Owner and epoch as the function `lease_held` of the first migration takes them; NULL for who has no lease. */
export function fenceOf(fence: Fence | undefined): { owner: string | null; epoch: string | null } {
  return { owner: fence?.owner ?? null, epoch: fence?.epoch.toString() ?? null };
}

/**
 * Runs one write of an account's owner. Without a valid lease it does not reach the database; a write that finds the lease
 * lost in the database makes the owner disconnect the account.
 * @param write resolves with one row; its statement joins `lease_held`
 * @throws {LeaseLostError} nothing was written
 * @throws {StorageUnavailableError} {StorageRejectedError}
 */
export async function underFence<Row extends HeldRow>(
  fence: Fence | undefined,
  what: string,
  write: () => Promise<Row[]>,
): Promise<Row> {
  if (fence && !fence.isHeld()) throw new LeaseLostError(fence.accountId);
  const [row] = await withStorage(what, write);
  if (row && row.held > 0) return row;
  if (!fence) throw new Error(`${what} gave no row`);
  fence.lose('another node holds the account');
  throw new LeaseLostError(fence.accountId);
}
