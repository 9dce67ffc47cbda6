import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import { serveTask } from '../../../router/src/features/tasks/serve-task.ts';
import { DirectSteps } from '../../doubles/direct-steps.ts';
import { settle } from '../../support/fake-clock.ts';
import { serving } from '../../support/serving.ts';

describe('serveTask', () => {
  it('does nothing for a task that is gone, has ended or has nothing to do', async () => {
    const { start, servedTasks } = serving();
    expect(await start('none')).toEqual({ outcome: 'gone' });
    const message = { messageId: 'm', text: 'x' };
    await servedTasks.open({ id: 'unclear', contextId: 'c', owner: 'o', message });
    await servedTasks.update('unclear', { key: 'first', state: 'input-required' });
    expect(await start('unclear')).toEqual({ outcome: 'input-required' });
  });

  it('rejects a request that names no chat', async () => {
    const { open, start } = serving();
    const person = { skill: 'message-person' as const, accountId: 'default', text: 'x', deadlineMinutes: 1 };
    expect(await start(await open({ ...person, to: '*' }))).toEqual({ outcome: 'rejected' });
  });

  it('waits while the database does not answer', async () => {
    const { service, open, clock, sent } = serving();
    const taskId = await open({
      skill: 'ask-person',
      accountId: 'default',
      to: '5493777239922',
      text: 'Which colour?',
      deadlineMinutes: 60,
    });
    let isDown = true;
    const sendMessage: typeof service.sendMessage = (input) => {
      if (isDown) throw new StorageUnavailableError({ sentence: 'down' });
      return service.sendMessage(input);
    };
    const steps = new DirectSteps();
    const end = serveTask({ ...service, sendMessage }, steps, { taskId });
    await settle();
    expect(sent()).toEqual([]);
    isDown = false;
    await clock.advanceMs(60_000);
    expect(sent()).toHaveLength(1);
    steps.stop(new Error('stopping'));
    await expect(end).rejects.toThrow('stopping');
  });
});
