import { jidOfChannelId } from '../../core/chat-id.ts';
import type { Question } from '../../core/ports/questions.ts';
import { type PersonRequest, sendOnce, whyDead } from './message-person.ts';
import type { ServedTask } from './served-tasks.ts';
import type { SkillDeps } from './skill-deps.ts';

/** Longest wait between two looks at a question; a change of the question ends the wait. */
const MAX_WAIT_MS = 60_000;
/** While another question of the chat is open: its end is such a change. */
const MAX_QUEUED_MS = 300_000;
/** While the question is on its way to WhatsApp; the longer that takes, the longer the wait. */
const FIRST_LOOK_MS = 2_000;

/** Says to the person where the next message goes. */
const NOTICE = 'Your next message here answers this question.';

/**
 * Asks a person and completes with the answer. One question of a chat is open at a time. The person is reminded once, after
 * half of the time. Nothing is asked again after a crash.
 */
export async function askPerson(deps: SkillDeps, task: ServedTask, request: PersonRequest): Promise<void> {
  const { questions, watch, stopping, update, clock } = deps;
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
    const current = await deps.servedTasks.get(task.id);
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
    const isSent = state === 'open' && (await askOpen(deps, task, request, question));
    if (isSent === 'dead') return;
    const dueMs = question.remindMs > 0 ? question.remindMs : question.deadlineMs;
    const lookMs = Math.max(FIRST_LOOK_MS, (clock.monotonicMs() - begunMs) / 2);
    const awaitedMs = isSent === 'on its way' ? Math.min(lookMs, MAX_WAIT_MS) : MAX_WAIT_MS;
    const limitMs = state === 'waiting' ? MAX_QUEUED_MS : awaitedMs;
    await watch.change(Math.min(Math.max(dueMs, 0) + 1, limitMs), stopping);
  }
}

/** Sends the question, and the reminder when it is time. @returns whether WhatsApp has the question */
async function askOpen(
  deps: SkillDeps,
  task: ServedTask,
  request: PersonRequest,
  { remindMs }: Question,
): Promise<'sent' | 'on its way' | 'dead'> {
  const { update, questions, messageLog } = deps;
  const id = await sendOnce(deps, `a2a ${task.id}`, request, `${request.text}\n\n${NOTICE}`);
  const row = await messageLog.sentMessage(id);
  if (!row || row.state === 'dead') {
    await questions.close(task.id);
    await update({ key: 'end', state: 'failed', text: whyDead(row, 'The question could not be sent.') });
    return 'dead';
  }
  await update({ key: 'asked', state: 'working', text: 'The question waits for the answer of the person.' });
  if (remindMs <= 0) {
    await sendOnce(deps, `a2a ${task.id} reminder`, request, `Reminder: ${request.text}\n\n${NOTICE}`);
    await update({ key: 'reminded', state: 'working', text: 'The person was reminded.' });
  }
  return row.state === 'queued' || row.state === 'sending' || row.state === 'sent' ? 'on its way' : 'sent';
}
