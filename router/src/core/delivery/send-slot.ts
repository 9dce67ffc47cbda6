import type { Lease } from '../ports/account-lease.ts';
import type { QueuedReply } from '../turns/turn.ts';

/**
 * The next position in the send queue of a chat, reserved for a turn: the row of its first reply may be stored as
 * `sending` under this lease. Other replies of the chat wait until the slot is delivered or closed.
 */
export interface SendSlot {
  lease: Lease;
  /** No reply was stored under it. */
  close(): void;
}

/** The slot as the delivery of its account uses it. */
export class ReservedSlot implements SendSlot {
  readonly lease: Lease;
  /** The opening of the connection that it is for. */
  readonly opening: number;
  /** The replies to send in this slot; undefined: the account is released first. */
  readonly replies: Promise<readonly QueuedReply[] | undefined>;
  #resolve!: (replies: readonly QueuedReply[] | undefined) => void;

  constructor(lease: Lease, opening: number) {
    this.lease = lease;
    this.opening = opening;
    this.replies = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** The first call counts. */
  fill(replies: readonly QueuedReply[] | undefined): void {
    this.#resolve(replies);
  }

  close(): void {
    this.fill([]);
  }
}
