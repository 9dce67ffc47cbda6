/** A decrypted part of a stanza whose delivery receipt may go out and whose message is not yet in the inbox. */
export interface JournalEntry {
  /** sha256 (hex) of the account's sender and the ciphertext: the same stanza delivered again has the same one. */
  ciphertextHash: string;
  /** Order in which stanzas reached the socket; the parts of one stanza share it. */
  stanzaOrder: bigint;
  waMessageId: string;
  /** As decrypted, padding included. */
  plaintext: Uint8Array;
  /** The stanza without its ciphertexts, in the provider's own form. */
  stanza: Uint8Array;
  /** The inbox has its message and is done with it; the entry only waits to be dropped. Only `pending` says it. */
  isDone?: true;
  /** Processes that ended while it was there, the later ones while it was handled alone. Absent: none. Only `pending` says it. */
  suspicion?: number;
}

/** The readable part of an entry that the database cannot read completely. */
export interface DamagedEntry {
  ciphertextHash: string;
  stanzaOrder: bigint;
  waMessageId: string;
  /** When this part of it can be read. */
  stanza?: Uint8Array;
  isDamaged: true;
}

/**
 * Decrypted parts of stanzas that are not yet in the inbox. Entries are written by KeyStore.commit, with the ratchet they
 * came from.
 * @throws {StorageUnavailableError} from every method; {LeaseLostError} from `forget` and `setAlone`: another node has the account
 */
export interface Journal {
  find(accountId: string, ciphertextHash: string): Promise<JournalEntry | undefined>;
  /**
   * Entries in stanza order, those after `afterOrder` only, at most `limit` plus the rest of the last stanza. One that
   * cannot be read is returned as damaged in its position, and the others are read.
   */
  pending(
    accountId: string,
    page: { afterOrder: bigint; limit: number },
  ): Promise<Array<JournalEntry | DamagedEntry>>;
  /**
   * Stores that an entry is handled alone, because processes ended while it was there; or that this ended. The end of a process is
   * counted by `AccountLeases.acquire`.
   */
  setAlone(accountId: string, ciphertextHash: string, runsAlone: boolean): Promise<void>;
  /** Drops entries whose messages the inbox has; unknown hashes are ignored. */
  forget(accountId: string, ciphertextHashes: readonly string[]): Promise<void>;
  /** The highest stanza order that this account ever stored, here or in the inbox; 0 when none. */
  lastOrder(accountId: string): Promise<bigint>;
}
