/** What is counted: attempts to sign in with a name, or from an address. */
export interface AttemptKey {
  /** What is counted. */
  key: string;
  /** Milliseconds until the next attempt is allowed after 1, 2, 3 ... attempts. */
  delaysMs: readonly number[];
}

/**
 * Counts attempts to sign in, over all nodes, by the clock of the database.
 * @throws {StorageUnavailableError} from every method
 */
export interface LoginAttempts {
  /**
   * Counts an attempt before its password is checked, so that many at once cannot pass. An attempt that is refused does not
   * count: it does not delay the next one.
   * @returns 0, or for how many milliseconds attempts are refused
   */
  begin(attempt: AttemptKey): Promise<number>;
  /** Takes back an attempt that succeeded. */
  undo(key: string): Promise<void>;
  /** Counts from 1 again. */
  forget(key: string): Promise<void>;
}
