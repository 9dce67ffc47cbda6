/** Whether the store takes what comes in. */
export interface StorageHealth {
  /**
   * Resolves when the store answers, and takes and keeps what this service stores, as far as that can be told without
   * storing much.
   * @throws {StorageTroubleError} an operator has to mend it; the sentence says what
   * @throws {StorageUnavailableError} it does not answer
   */
  check(): Promise<void>;
  /** The sentence of what the last check found; undefined when all was well. */
  readonly trouble: string | undefined;
}
