import { LeaseLostError } from '../../../core/errors.ts';
import type { Fence, Lease } from '../../../core/ports/account-lease.ts';
import { withStorage } from './storage-errors.ts';

/** The result of a fenced statement: `held` is 0 if the lease is no longer valid and nothing was written. */
export interface HeldRow {
  held: number;
}

/** Owner and epoch for the SQL function `lease_held`; NULL for callers without a lease. */
export function fenceOf(fence: Lease | undefined): { owner: string | null; epoch: string | null } {
  return { owner: fence?.owner ?? null, epoch: fence?.epoch.toString() ?? null };
}

/**
 * Runs one write of an account's owner. With a lost lease it does not reach the database; if the database finds the lease
 * invalid, the fence is marked as lost, and the owner releases the account.
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
  if (!fence) throw new Error(`${what} returned no row`);
  fence.lose('another node took the account');
  throw new LeaseLostError(fence.accountId);
}
