/**
 * The rows of an account that is being deleted.
 * @throws {StorageUnavailableError} from both methods; nothing was changed
 */
export interface AccountDeletion {
  /**
   * Marks the account as being deleted and ends its lease: its node disconnects it, no node takes it again, and its id
   * cannot be added until the last row is deleted. Idempotent; an unknown account changes nothing.
   */
  close(accountId: string): Promise<void>;
  /**
   * Deletes at most about `limit` rows of a closed account: keys, journal, messages, replies, dead letters, chats, routes,
   * and last the account itself.
   * @returns how many; 0 when there are no more, or the account was not closed
   */
  deleteRows(accountId: string, limit: number): Promise<number>;
}
