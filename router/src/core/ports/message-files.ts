/** Files of people that were loaded once, kept beside their messages until they are too old. */
export interface MessageFiles {
  /**
   * The file of a message; undefined: it is not stored, or its author took the message back before it was answered.
   * @throws {MediaError} its store cannot be used, or it is not what was stored · {StorageUnavailableError}
   */
  load(messageId: string): Promise<Uint8Array | undefined>;
  /** Stores the file of a message. Idempotent. @throws {StorageUnavailableError} it is not stored */
  save(messageId: string, bytes: Uint8Array): Promise<void>;
}
