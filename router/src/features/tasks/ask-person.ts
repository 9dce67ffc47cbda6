import { jidOfChannelId } from '../../core/chat-id.ts';
import { NotOnWhatsAppError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { chatSettingsOf } from '../../core/policies/settings.ts';
import { languageOf, phoneOf, type SayInChat, sayingIn } from '../../core/policies/texts.ts';
import type { SentMessageRow } from '../../core/ports/message-log.ts';
import type { OutboxState } from '../../core/ports/outbox.ts';
import type { Question } from '../../core/ports/pending-answers.ts';
import type { Service } from '../../feature.ts';
import type { NewUpdate, ServedRequest, ServedTask } from './served-tasks.ts';
import type { TaskWatch } from './task-feed.ts';

/** Longest wait between two looks at a question; a change of the question ends the wait. */
const MAX_WAIT_MS = 60_000;
/** While another question of the chat is open: its end is such a change. */
const MAX_QUEUED_MS = 300_000;
/** While the question is on its way to WhatsApp; the longer that takes, the longer the wait. */
const FIRST_QUESTION_LOOK_MS = 2_000;

/**
 * Asks a person and completes with the answer. One question of a chat is open at a time. The person is reminded once, after
 * half of the time. Nothing is asked again after a crash.
 */
export async function askPerson(serving: Serving, task: ServedTask, request: PersonRequest): Promise<void> {
  const { service, watch, stopping, update } = serving;
  const { questions, servedTasks, clock } = service;
  const deadlineMs = request.deadlineMinutes * 60_000;
  const to = jidOfChannelId(request.to) ?? request.to;
  await questions.add({
    id: task.id,
    accountId: request.accountId,
    to,
    remindMs: deadlineMs / 2,
    deadlineMs,
  });
  const begunMs = clock.monotonicMs();
  for (;;) {
    const current = await servedTasks.get(task.id);
    if (!current || current.state === 'canceled') {
      await questions.close(task.id);
      return;
    }
    const state = await questions.open(task.id);
    const question = await questions.get(task.id);
    if (!question || state === 'closed') {
      await update({ key: 'end', state: 'failed', text: 'The question was closed.' });
      return;
    }
    if (question.answer !== undefined) {
      const artifact = { name: 'answer', text: question.answer };
      await update({ key: 'end', state: 'completed', text: 'The person answered.', artifact });
      return;
    }
    if (question.deadlineMs <= 0) {
      await questions.close(task.id);
      // An answer may have come first.
      if ((await questions.get(task.id))?.answer !== undefined) continue;
      const text = `The person did not answer within ${request.deadlineMinutes} minutes.`;
      await update({ key: 'end', state: 'failed', text });
      return;
    }
    const isSent = state === 'open' && (await askOpen(serving, task, request, question));
    if (isSent === 'dead') return;
    const dueMs = question.remindMs > 0 ? question.remindMs : question.deadlineMs;
    const lookMs = Math.max(FIRST_QUESTION_LOOK_MS, (clock.monotonicMs() - begunMs) / 2);
    const awaitedMs = isSent === 'on its way' ? Math.min(lookMs, MAX_WAIT_MS) : MAX_WAIT_MS;
    const limitMs = state === 'waiting' ? MAX_QUEUED_MS : awaitedMs;
    await watch.change(Math.min(Math.max(dueMs, 0) + 1, limitMs), stopping);
  }
}

/** Sends the question, and the reminder when it is time. @returns whether WhatsApp has the question */
async function askOpen(
  { service, update }: Serving,
  task: ServedTask,
  request: PersonRequest,
  { remindMs }: Question,
): Promise<'sent' | 'on its way' | 'dead'> {
  const { questions, messageLog } = service;
  const sayInChat = await sayingTo(service, request);
  // The next message of the person goes to the program.
  const asked = (text: string) => `${text}\n\n${sayInChat('question')}`;
  const id = await sendOnce(service, `a2a ${task.id}`, request, asked(request.text));
  const row = await messageLog.sentMessage(id);
  if (!row || row.state === 'dead') {
    await questions.close(task.id);
    await update({ key: 'end', state: 'failed', text: whyDead(row, 'The question could not be sent.') });
    return 'dead';
  }
  await update({ key: 'asked', state: 'working', text: 'The question waits for the answer of the person.' });
  if (remindMs <= 0) {
    const reminder = asked(sayInChat('reminder', { text: request.text }));
    await sendOnce(service, `a2a ${task.id} reminder`, request, reminder);
    await update({ key: 'reminded', state: 'working', text: 'The person was reminded.' });
  }
  return row.state === 'queued' || row.state === 'sending' || row.state === 'sent' ? 'on its way' : 'sent';
}

/** In the language of the question, else in that of the country. */
async function sayingTo({ shaping }: Service, { text, to }: PersonRequest): Promise<SayInChat> {
  const { texts } = chatSettingsOf(undefined, await shaping.conversation());
  return sayingIn(languageOf(text, phoneOf({ from: jidOfChannelId(to) ?? to })), texts);
}

type PersonRequest = Extract<ServedRequest, { to: string }>;

/** Between two looks at the delivery state; it grows with the time that has passed. */
const FIRST_LOOK_MS = 250;
const MAX_LOOK_MS = 15_000;

const SENTENCES: Record<OutboxState, string> = {
  draft: 'The message waits for the account owner.',
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
  { service, watch, stopping, update }: Serving,
  task: ServedTask,
  request: PersonRequest,
): Promise<void> {
  const { messageLog, servedTasks, clock } = service;
  const id = await sendOnce(service, `a2a ${task.id}`, request, request.text);
  const endMs = task.createdAt.getTime() + request.deadlineMinutes * 60_000;
  for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(waitMs * 1.5, MAX_LOOK_MS)) {
    const row = await messageLog.sentMessage(id);
    if (await reportState(update, row, clock.now() >= endMs)) return;
    await watch.change(waitMs, stopping);
    // Cancelled: a message that is queued is sent all the same.
    if ((await servedTasks.get(task.id))?.state === 'canceled') return;
  }
}

/**
 * Stores a message to the person of a task under a key, once. One that was stored in other words, as before an update or
 * under other settings, counts.
 * @returns the id of its row
 */
async function sendOnce(
  { sendMessage }: Service,
  idempotencyKey: string,
  { accountId, to }: Pick<PersonRequest, 'accountId' | 'to'>,
  text: string,
): Promise<string> {
  const { row } = await sendMessage({ accountId, to, text, idempotencyKey });
  return row.id;
}

/** The sentence for the end of a task whose message is dead: that its number has no account, else the given one. */
function whyDead(row: SentMessageRow | undefined, sentence: string): string {
  const { message } = new NotOnWhatsAppError();
  return row?.error === message ? message : sentence;
}

/** @returns whether the task has ended */
async function reportState(
  update: Serving['update'],
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

/** A task that is being done, and what its skill works with. */
export interface Serving {
  service: Service;
  log: Logger;
  /** Aborts when the process stops. */
  stopping: AbortSignal;
  /** The changes of the task. */
  watch: TaskWatch;
  /** Stores the next update of the task. @returns false: it is stored already, or the task has ended */
  update(update: NewUpdate): Promise<boolean>;
}
