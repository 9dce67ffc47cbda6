import { describe, expect, it } from 'vitest';
import { untilSettled } from '../../../router/src/features/tasks/task-feed.ts';
import { serving } from '../../support/serving.ts';

async function setup() {
  const all = serving();
  const id = await all.open({
    skill: 'ask-person',
    accountId: 'main',
    to: '5493777239922',
    text: 'At 5?',
    deadlineMinutes: 60,
  });
  const task = await all.servedTasks.get(id);
  if (!task) throw new Error('the task was opened');
  const gone = new AbortController();
  const seen: string[] = [];
  const wait = (limitMs: number) =>
    untilSettled(all, task, limitMs, gone.signal, ({ state }) => void seen.push(state));
  const update = (key: string, state: 'working' | 'completed' | 'input-required') =>
    all.servedTasks.update(id, { key, state });
  return { ...all, wait, update, gone, seen };
}

describe('untilSettled', () => {
  it.each(['completed', 'input-required'] as const)('shows each update until the task is %s', async (end) => {
    const { wait, update, seen, clock } = await setup();
    const waiting = wait(60_000);
    await clock.untilSleeping();
    await update('a', 'working');
    await expect.poll(() => seen).toEqual(['working']);
    await update('b', end);
    expect((await waiting).state).toBe(end);
    expect(seen).toEqual(['working', end]);
    expect(clock.sleeping).toBe(0);
  });

  it('returns the task as it is after the limit, and when the signal aborts', async () => {
    const { wait, clock, gone } = await setup();
    expect((await wait(0)).state).toBe('submitted');
    const limited = wait(1_000);
    await clock.untilSleeping();
    await clock.advanceMs(1_000);
    expect((await limited).state).toBe('submitted');
    const aborted = wait(60_000);
    gone.abort();
    expect((await aborted).state).toBe('submitted');
  });
});
