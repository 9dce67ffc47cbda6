import { describe, expect, it } from 'vitest';
import type { ServedRequest } from '../../../router/src/features/tasks/served-tasks.ts';
import { DirectSteps } from '../../doubles/direct-steps.ts';
import { settle } from '../../support/fake-clock.ts';
import { serving } from '../../support/serving.ts';

const request: ServedRequest = {
  skill: 'message-person',
  accountId: 'default',
  to: '5493777239922',
  text: 'Hello',
  deadlineMinutes: 10,
};

async function setup() {
  const all = serving();
  const taskId = await all.open(request);
  const steps = new DirectSteps();
  const end = all.start(taskId, steps);
  await settle();
  const [row] = all.state.outbox.values();
  if (!row) throw new Error('nothing was stored');
  const keys = async () =>
    (await all.servedTasks.get(taskId))?.updates.map(({ key, state }) => `${key}: ${state}`);
  return { ...all, taskId, steps, end, row, keys };
}

describe('messagePerson', () => {
  it('reports each state of the message until it is delivered', async () => {
    const { clock, row, end, keys, servedTasks, taskId } = await setup();
    row.state = 'sent';
    await clock.advanceMs(2_000);
    row.state = 'acked';
    await clock.advanceMs(2_000);
    row.state = 'delivered';
    await clock.advanceMs(20_000);
    expect(await end).toEqual({ outcome: 'completed' });
    expect(await keys()).toEqual(['queued: working', 'sent: working', 'acked: working', 'end: completed']);
    expect((await servedTasks.get(taskId))?.updates.at(-1)).toMatchObject({
      text: 'The message was delivered.',
      artifact: { name: 'delivery', data: { messageId: row.id, state: 'delivered' } },
    });
  });

  it('counts what WhatsApp accepted as done at the deadline, and nothing less', async () => {
    const accepted = await setup();
    accepted.row.state = 'acked';
    await accepted.clock.advanceMs(600_000 + 15_000);
    expect(await accepted.end).toEqual({ outcome: 'completed' });
    const queued = await setup();
    await queued.clock.advanceMs(600_000 + 15_000);
    expect(await queued.end).toEqual({ outcome: 'failed' });
    expect((await queued.servedTasks.get(queued.taskId))?.updates.at(-1)?.text).toMatch(/stays queued/);
  });

  it('fails when the message cannot be sent', async () => {
    const { clock, row, end } = await setup();
    row.state = 'dead';
    await clock.advanceMs(2_000);
    expect(await end).toEqual({ outcome: 'failed' });
  });

  it('sends once although a crash repeats it', async () => {
    const { start, taskId, row, sent, clock } = await setup();
    const again = start(taskId);
    row.state = 'read';
    await clock.advanceMs(20_000);
    expect(await again).toEqual({ outcome: 'completed' });
    expect(sent()).toEqual(['Hello']);
  });

  it('ends at once when it is canceled', async () => {
    const { servedTasks, taskId, end, row } = await setup();
    await servedTasks.update(taskId, { key: 'cancel', state: 'canceled' });
    expect(await end).toEqual({ outcome: 'canceled' });
    expect(row.state).toBe('queued');
  });

  it('waits for the next start when the process stops', async () => {
    const { steps, end } = await setup();
    steps.stop(new Error('stopping'));
    await expect(end).rejects.toThrow('stopping');
  });
});
