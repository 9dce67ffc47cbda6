import { AsyncLocalStorage } from 'node:async_hooks';

/** A stanza's place among those of its chat. */
export interface Ticket {
  /** Its decryption began, or will never: the next one may go. */
  pass(): void;
}

interface Place extends Ticket {
  /** All earlier ones of the chat passed. */
  before: Promise<void>;
  mayWait: boolean;
}

/**
 * Keeps stanzas of one chat in the order in which they reached the socket until they are decrypted.
 *
 * Baileys looks up and stores who a stanza's sender is before it queues the stanza for decryption, and nothing keeps one
 * with less to look up from overtaking; a live one also overtakes those that came while offline. The second message of
 * a group member would then be decrypted before the first, which brings its key; and a crash in between would leave the
 * later of two messages journalled and answered first. Here the look-ups themselves wait.
 */
export class StanzaGate {
  readonly #current = new AsyncLocalStorage<Place | undefined>();
  readonly #last = new Map<string, Promise<void>>();
  readonly #open = new Set<Place>();
  readonly #longestWaitMs: number;

  /** @param longestWaitMs after that a stanza goes on, whatever became of those before it */
  constructor(longestWaitMs: number) {
    this.#longestWaitMs = longestWaitMs;
  }

  /**
   * A stanza of that chat arrived. What Baileys does with it in consequence of the same event, until `leave`, is known
   * by the async context. `isQueued`: Baileys handles it one at a time with others, in order; it never waits here.
   */
  enter(chat: string, isQueued: boolean): Ticket {
    const before = this.#last.get(chat) ?? Promise.resolve();
    let open: () => void = () => undefined;
    const passed = new Promise<void>((resolve) => {
      open = resolve;
    });
    const place: Place = {
      before,
      mayWait: !isQueued,
      pass: () => {
        this.#open.delete(place);
        open();
      },
    };
    const done = before.then(() => passed);
    this.#last.set(chat, done);
    void done.then(() => {
      if (this.#last.get(chat) === done) this.#last.delete(chat);
    });
    this.#open.add(place);
    this.#current.enterWith(place);
    return place;
  }

  /** Baileys has taken the stanza up: what comes next of the same socket, or of the same turn, is not its business. */
  leave(): void {
    this.#current.enterWith(undefined);
  }

  /** Resolves when the stanza that the caller works on may be queued for decryption; at once for any other work. */
  async turn(): Promise<void> {
    const place = this.#current.getStore();
    if (!place?.mayWait) return;
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#longestWaitMs).unref();
    });
    await Promise.race([place.before, tooLong]);
    clearTimeout(timer);
    // Once it may hold Baileys' queue, it must never wait for a stanza that waits for that queue.
    place.mayWait = false;
  }

  /** Nothing more comes of the stanzas under way. */
  passAll(): void {
    for (const place of [...this.#open]) place.pass();
  }

  /** Nothing comes any more; see transaction-storage.ts. */
  close(): void {
    this.passAll();
    this.#current.disable();
  }
}
