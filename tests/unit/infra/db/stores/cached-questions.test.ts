import { describe, expect, it, vi } from 'vitest';
import { NodeBus, type NodeTransportEvents } from '../../../../../router/src/core/cluster/node-bus.ts';
import { StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import { CachedQuestions } from '../../../../../router/src/infra/db/stores/postgres-questions.ts';
import { MemoryQuestions } from '../../../../doubles/memory-questions.ts';
import { MemoryState } from '../../../../doubles/memory-state.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const question = {
  id: 'q1',
  accountId: 'default',
  to: '5493777239922@s.whatsapp.net',
  remindMs: 1_000,
  deadlineMs: 2_000,
};

function setup() {
  const clock = new FakeClock();
  const state = new MemoryState(() => clock.now());
  const table = new MemoryQuestions(state);
  const transport = { publish: () => undefined, session: 1 as number | undefined };
  let events: NodeTransportEvents | undefined;
  const bus = new NodeBus('n1', (own) => {
    events = own;
    return transport;
  });
  const questions = new CachedQuestions(table, bus, clock);
  const notify = () => events?.onMessage({ from: '', message: { kind: 'question-changed', taskId: 'q1' } });
  return {
    clock,
    state,
    table,
    transport,
    questions,
    notify,
    reads: vi.spyOn(table, 'chats'),
    answers: vi.spyOn(table, 'answer'),
  };
}

describe('CachedQuestions', () => {
  it('reads no statement for messages of chats without a question', async () => {
    const { questions, reads, answers } = setup();
    for (let n = 0; n < 100; n++) expect(await questions.answer(`chat ${n}`, '1')).toBeUndefined();
    expect(reads).toHaveBeenCalledTimes(1);
    expect(answers).not.toHaveBeenCalled();
  });

  it('asks the table for the chat of a question that this node opened', async () => {
    const { questions, state, answers } = setup();
    await questions.answer('1', '7');
    await questions.add(question);
    expect(await questions.open('q1')).toBe('open');
    const chatId = String(state.questions[0]?.chatId);
    await questions.answer(chatId, '7');
    expect(answers).toHaveBeenCalledWith(chatId, '7');
    expect(await questions.chats()).toEqual([chatId]);
    await questions.close('q1');
    expect((await questions.get('q1'))?.state).toBe('closed');
    answers.mockClear();
    await questions.answer(chatId, '8');
    expect(answers).not.toHaveBeenCalled();
  });

  it('finds a question of another node after its notification, and without one after a minute', async () => {
    const { questions, table, state, notify, clock, answers } = setup();
    await questions.answer('1', '7');
    await table.add(question);
    await table.open('q1');
    const chatId = String(state.questions[0]?.chatId);
    await questions.answer(chatId, '7');
    expect(answers).not.toHaveBeenCalled();
    notify();
    await questions.answer(chatId, '7');
    expect(answers).toHaveBeenCalledTimes(1);
    await table.close('q1');
    await clock.advanceMs(60_000);
    await questions.answer(chatId, '7');
    expect(answers).toHaveBeenCalledTimes(1);
  });

  it('reads the chats for each message while notifications may be lost', async () => {
    const { questions, transport, reads } = setup();
    transport.session = undefined;
    for (let n = 0; n < 3; n++) await questions.answer('1', '7');
    expect(reads).toHaveBeenCalledTimes(3);
  });

  it('reads again after a read that failed', async () => {
    const { questions, reads } = setup();
    reads.mockRejectedValueOnce(new StorageUnavailableError('down'));
    await expect(questions.answer('1', '7')).rejects.toThrow('down');
    expect(await questions.answer('1', '7')).toBeUndefined();
  });
});
