import { NotOnWhatsAppError, StorageUnavailableError } from '../../core/errors.ts';
import type { SentMessageRow } from '../../core/ports/message-log.ts';
import type { OutboxState } from '../../core/ports/outbox.ts';
import type { ServedRequest, ServedTask } from './served-tasks.ts';
import type { SkillDeps } from './skill-deps.ts';

export type PersonRequest = Extract<ServedRequest, { to: string }>;

/** Between two looks at the delivery state; it grows with the time that has passed. */
const FIRST_LOOK_MS = 250;
const MAX_LOOK_MS = 15_000;

const SENTENCES: Record<OutboxState, string> = {
  draft: 'The message waits for the owner of the account.',
  queued: 'The message waits to be sent.',
  sending: 'The message is being sent.',
  sent: 'The message was sent.',
  acked: 'WhatsApp accepted the message.',
  delivered: 'The message was delivered.',
  read: 'The message was read.',
  dead: 'The message could not be sent.',
};

/**
 * Sends a message, and reports its delivery state until it is delivered, cannot be sent, or the deadline of the task is
 * over. What WhatsApp accepted by then counts as done.
 */
export async function messagePerson(
  deps: SkillDeps,
  task: ServedTask,
  request: PersonRequest,
): Promise<void> {
  const id = await sendOnce(deps, `a2a ${task.id}`, request, request.text);
  const endMs = task.createdAt.getTime() + request.deadlineMinutes * 60_000;
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 1.5, MAX_LOOK_MS)) {
    const row = await deps.messageLog.sentMessage(id);
    if (await reportState(deps, row, deps.clock.now() >= endMs)) return;
    await deps.watch.change(waitMs, deps.stopping);
    // Cancelled: a message that is queued is sent all the same.
    if ((await deps.servedTasks.get(task.id))?.state === 'canceled') return;
  }
}

/** Stores a message to the person of a task under a key, once. @returns the id of its row */
export async function sendOnce(
  { sendMessage }: Pick<SkillDeps, 'sendMessage'>,
  idempotencyKey: string,
  { accountId, to }: Pick<PersonRequest, 'accountId' | 'to'>,
  text: string,
): Promise<string> {
  const { outcome, row } = await sendMessage({ accountId, to, text, idempotencyKey });
  if (outcome === 'conflict') {
    throw new StorageUnavailableError(`The message "${idempotencyKey}" is stored with another text.`);
  }
  return row.id;
}

/** The sentence for the end of a task whose message is dead: that its number has no account, else the given one. */
export function whyDead(row: SentMessageRow | undefined, sentence: string): string {
  const { message } = new NotOnWhatsAppError();
  return row?.error === message ? message : sentence;
}

/** @returns whether the task has ended */
async function reportState(
  { update }: SkillDeps,
  row: SentMessageRow | undefined,
  isLate: boolean,
): Promise<boolean> {
  if (!row) {
    await update({ key: 'end', state: 'failed', text: 'The message was deleted.' });
    return true;
  }
  const { id, state } = row;
  const artifact = { name: 'delivery', text: SENTENCES[state], data: { messageId: id, state } };
  const isDelivered = state === 'delivered' || state === 'read';
  if (state === 'dead') {
    await update({ key: 'end', state: 'failed', text: whyDead(row, SENTENCES.dead) });
  } else if (isDelivered || (isLate && state === 'acked')) {
    await update({ key: 'end', state: 'completed', text: SENTENCES[state], artifact });
  } else if (isLate) {
    const text =
      'WhatsApp did not accept the message before the deadline. It stays queued and may be sent later.';
    await update({ key: 'end', state: 'failed', text });
  } else {
    if (state !== 'sending') await update({ key: state, state: 'working', text: SENTENCES[state] });
    return false;
  }
  return true;
}
