/** Whether the database can be used. */
export interface StorageHealth {
  /**
   * Resolves when the database answers and can store what this service stores, as far as a check without large writes can
   * tell.
   * @throws {StorageTroubleError} an operator must act; the sentence says how
   * @throws {StorageUnavailableError} it does not answer
   */
  check(): Promise<void>;
  /** The sentence of the trouble that the last check found; undefined when it found none. */
  readonly trouble: string | undefined;
}
