import { describe, expect, it, vi } from 'vitest';
import type { ServedRequest } from '../../../router/src/features/tasks/served-tasks.ts';
import { MemoryInbox } from '../../doubles/memory-inbox.ts';
import { settle } from '../../support/fake-clock.ts';
import { serving } from '../../support/serving.ts';

const person = { phone: '5493777239922' };
const request: ServedRequest = {
  skill: 'ask-person',
  accountId: 'default',
  to: person.phone,
  text: 'Which colour?',
  deadlineMinutes: 60,
};
/** The question does not say its language; the number is of Argentina. */
const NOTICE = 'Tu próximo mensaje aquí responde a esta pregunta.';

function setup() {
  const all = serving();
  const inbox = new MemoryInbox(all.state);
  let messages = 0;
  /** The person writes; the message is given to the open question, as the turn of the message does. */
  const answer = async (text: string) => {
    messages += 1;
    const { chatId, messageId } = await inbox.add(
      {
        accountId: 'default',
        waMessageId: `3EB1${messages}`,
        chat: { kind: 'person', ...person },
        sender: person,
        kind: 'text',
        text,
        sentAtMs: all.clock.now(),
        stanzaOrder: BigInt(messages),
      },
      'n1',
    );
    return all.questions.answer(chatId, messageId);
  };
  const ask = async () => {
    const taskId = await all.open(request);
    const end = all.start(taskId);
    await settle();
    return { taskId, end };
  };
  const last = async (taskId: string) => (await all.servedTasks.get(taskId))?.updates.at(-1);
  return { ...all, answer, ask, last };
}

describe('askPerson', () => {
  it('asks, and completes with the answer at once', async () => {
    const { ask, answer, sent, last } = setup();
    const { taskId, end } = await ask();
    expect(sent()).toEqual([`Which colour?\n\n${NOTICE}`]);
    expect(await last(taskId)).toMatchObject({ key: 'asked', state: 'working' });
    expect(await answer('Blue')).toBe(taskId);
    expect(await end).toEqual({ outcome: 'completed' });
    expect(await last(taskId)).toMatchObject({ artifact: { name: 'answer', text: 'Blue' } });
  });

  it('reminds once after half of the time, and fails at the deadline', async () => {
    const { ask, clock, sent, last, questions } = setup();
    const { taskId, end } = await ask();
    await clock.advanceMs(29 * 60_000);
    expect(sent()).toHaveLength(1);
    await clock.advanceMs(2 * 60_000);
    await clock.advanceMs(20 * 60_000);
    expect(sent()).toEqual([`Which colour?\n\n${NOTICE}`, `Recordatorio: Which colour?\n\n${NOTICE}`]);
    await clock.advanceMs(10 * 60_000);
    expect(await end).toEqual({ outcome: 'failed' });
    expect(await last(taskId)).toMatchObject({ text: 'The person did not answer within 60 minutes.' });
    expect((await questions.get(taskId))?.state).toBe('closed');
  });

  it('takes an answer after the reminder', async () => {
    const { ask, clock, answer } = setup();
    const { end } = await ask();
    await clock.advanceMs(45 * 60_000);
    await answer('Red');
    expect(await end).toEqual({ outcome: 'completed' });
  });

  it('asks one question of a chat at a time', async () => {
    const { ask, answer, sent } = setup();
    const first = await ask();
    const second = await ask();
    expect(sent()).toHaveLength(1);
    await answer('Blue');
    await first.end;
    await settle();
    expect(sent()).toHaveLength(2);
    await answer('Green');
    expect(await second.end).toEqual({ outcome: 'completed' });
  });

  it('asks the database about a question that waits for another one every five minutes, not every two seconds', async () => {
    const { ask, clock, questions } = setup();
    await ask();
    for (let n = 0; n < 20; n++) await ask();
    await clock.advanceMs(120_000);
    const open = vi.spyOn(questions, 'open');
    await clock.advanceMs(60_000);
    // The open question, once a minute.
    expect(open.mock.calls.length).toBeLessThanOrEqual(2);
  });

  it('closes the question when the task is canceled', async () => {
    const { ask, servedTasks, questions, answer } = setup();
    const { taskId, end } = await ask();
    await servedTasks.update(taskId, { key: 'cancel', state: 'canceled' });
    expect(await end).toEqual({ outcome: 'canceled' });
    expect((await questions.get(taskId))?.state).toBe('closed');
    expect(await answer('too late')).toBeUndefined();
  });

  it('fails when the question cannot be sent', async () => {
    const { ask, state, clock, last } = setup();
    const { taskId, end } = await ask();
    for (const row of state.outbox.values()) row.state = 'dead';
    await clock.advanceMs(3_000);
    expect(await end).toEqual({ outcome: 'failed' });
    expect(await last(taskId)).toMatchObject({ text: 'The question could not be sent.' });
  });

  it('asks nothing again when a crash repeats it', async () => {
    const { ask, start, sent, answer } = setup();
    const { taskId } = await ask();
    const again = start(taskId);
    await settle();
    expect(sent()).toHaveLength(1);
    await answer('Blue');
    expect(await again).toEqual({ outcome: 'completed' });
  });
});
