// What happens to the inbound messages of an account, and what it leads to: the input and output of InboundState.

/** The fields of a stanza that the reducer uses; the runner's stanza has more. */
export interface InboundStanza {
  /** The key of the message within the account: chat, sender, WhatsApp id. */
  readonly key: string;
  /** Messages of one chat are delivered in the order in which their stanzas arrived. */
  readonly chat: string;
  /** Hash of its ciphertexts; the same when the stanza is delivered again. */
  readonly hash: string;
  readonly bytes: number;
  /** It was queued at WhatsApp while the account was not connected. */
  readonly isOffline: boolean;
}

/** A message that arrived before another one of its chat and is not in the journal. */
export interface Earlier {
  key: string;
  order: bigint;
}

/** `C` is the decrypted content, opaque to the reducer. A tick is one second. */
export type InboundEvent<S extends InboundStanza, C> =
  /** A new connection, whose units up to this one are durable. */
  | { type: 'opened'; durable: number }
  | { type: 'logged-in' }
  | { type: 'closed' }
  /** WhatsApp has delivered everything that was queued. */
  | { type: 'offline-ended' }
  /** The link has ended: WhatsApp will not deliver anything again. */
  | { type: 'unlinked' }
  | { type: 'tick' }
  | { type: 'stopping' }
  /** An ordinary message reached the socket. */
  | { type: 'stanza'; stanza: S }
  /** The stanza was decrypted; its unit has this number. Without content it contained a group key and no message. */
  | { type: 'decrypted'; stanza: S; unit: number; content: C | undefined; bytes: number }
  /**
   * `spent`: its message keys were used, so it was read before. `not-attempted`: storage failed, and its unit is void.
   * `impossible`: wa2ai cannot handle it, whenever it arrives.
   */
  | {
      type: 'not-read';
      stanza: S;
      why: 'spent' | 'failed' | 'not-attempted' | 'impossible';
      /** Of `not-attempted`: the stanza may be the cause, because the database works. */
      isSuspect?: boolean;
    }
  /** Everything up to this unit is durable; core has the messages of the units in `stored`. */
  | { type: 'committed'; unit: number; stored?: ReadonlySet<number> }
  /** Every unit that is not durable is void. `isSuspect`: a stanza of them may be the cause, because the database works. */
  | { type: 'commit-failed'; isSuspect?: boolean }
  /** The database rejects the unit of a stanza, which is void; the units after it are not. */
  | { type: 'rejected'; unit: number }
  /** A message of an earlier process, in stanza order; before the first connection. */
  | {
      type: 'journalled';
      stanza: S;
      order: bigint;
      content: C;
      bytes: number;
      behind: readonly Earlier[];
    }
  /** A message of an earlier process that core is done with; its journal row is left. In the order of `journalled`. */
  | { type: 'done-before'; stanza: S; order: bigint }
  /** A message without ciphertext reached the socket: its content may arrive from the account's phone. */
  | { type: 'announced'; key: string; chat: string }
  /** The announced message has no content. */
  | { type: 'missing'; stanza: S }
  /** Content that did not arrive in a stanza that wa2ai decrypts. */
  | { type: 'content'; stanza: S; content: C; bytes: number }
  /** Core has the message, or it contains nothing for core. Not stored: core rejects it, and its journal row stays. */
  | { type: 'delivered'; key: string; isStored: boolean }
  /** The service stops and core did not store it: the next process delivers it, and then the later ones of its chat. */
  | { type: 'not-delivered'; key: string };

export type InboundEffect<S extends InboundStanza, C> =
  /**
   * One at a time; ends with `read` or `not-read`. Without `isContent` the journal or core has the message: the stanza
   * is decrypted only to advance the ratchet, and its text is not written to the journal. `isNext`: no earlier message of its
   * chat is on its way to core, so its unit may give it to core. Not after a break, when WhatsApp delivers again what may have
   * ended the process.
   */
  | { type: 'decrypt'; stanza: S; order: bigint; behind: Earlier[]; isContent: boolean; isNext: boolean }
  /** Delivery receipts. */
  | { type: 'receipts'; stanzas: S[] }
  /** Send a retry request to the sender, and refuse this stanza. */
  | { type: 'ask-retry'; stanza: S }
  /** Refuse a stanza whose message was read before, or that wa2ai cannot handle. */
  | { type: 'refuse'; stanza: S }
  /** Ends with `delivered` or `not-delivered`. */
  | { type: 'deliver'; key: string; order: bigint; content: C }
  /** Record the message as undecryptable; its content may still arrive later. */
  | { type: 'undecryptable'; stanza: S; order: bigint }
  | { type: 'forget'; hashes: string[] }
  /** Stanzas were dropped without an acknowledgement: the next connection delivers them again. */
  | { type: 'disconnect' };
