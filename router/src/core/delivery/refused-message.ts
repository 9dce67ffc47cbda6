import type { DeadReplyReason, Outbox } from '../ports/outbox.ts';

/** Of an error ack: see `decideRefusal`. */
const REACH_OUT_REFUSED = '463';
/** Baileys asks the person's privacy token after error 463; so long it may take. */
const TOKEN_WAIT_MS = 15_000;
/** Sends with a privacy token that may be missing. */
const MAX_TOKEN_ATTEMPTS = 3;

/** What is known of a message that WhatsApp refused with an error ack. */
export interface Refusal {
  code: string;
  /** For how long WhatsApp still limits the account; undefined: it does not. */
  limitLeftMs?: number;
  /** Sends so far. */
  attempts: number;
  /** Its person never wrote to the account. */
  isCold: boolean;
}

/** What happens to a refused message. `error` is a sentence for its row. */
export interface RefusalDecision {
  error: string;
  delayMs?: number;
  reason?: DeadReplyReason;
}

/**
 * Decides about a refused message. Error 463 of a person who never wrote is the lock of the account while there is one; without one it
 * concerns that person alone. A person who wrote has a privacy token, which may be missing here: the message is sent again with it, also
 * during a lock, which spares such chats. Pure.
 */
export function decideRefusal({ code, limitLeftMs, attempts, isCold }: Refusal): RefusalDecision {
  const error = `WhatsApp refused it with error ${code}.`;
  if (code === REACH_OUT_REFUSED && !isCold && attempts < MAX_TOKEN_ATTEMPTS) {
    return { error: `${error} It is sent again with the privacy token of its chat.`, delayMs: TOKEN_WAIT_MS };
  }
  if (limitLeftMs !== undefined) return { error, delayMs: limitLeftMs };
  if (code !== REACH_OUT_REFUSED || !isCold) return { error };
  const why =
    'WhatsApp refused the first message to this person (463). The account is not limited; other messages are sent. Let the person write first, or write to them once on the phone.';
  return { error: why, reason: 'contact-refused' };
}

/** Stores what happens to a message that WhatsApp refused. @throws {StorageUnavailableError} */
export async function messageRefused(
  outbox: Pick<Outbox, 'markRefused' | 'refusedRow'>,
  {
    accountId,
    waMessageId,
    ...refusal
  }: Pick<Refusal, 'code' | 'limitLeftMs'> & { accountId: string; waMessageId: string },
): Promise<void> {
  const row = await outbox.refusedRow(accountId, waMessageId);
  if (!row) return;
  const { error, ...outcome } = decideRefusal({ ...refusal, ...row });
  await outbox.markRefused(accountId, waMessageId, error, outcome);
}
