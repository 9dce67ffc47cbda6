import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import { TaskStarter } from '../../../router/src/features/tasks/serve-task.ts';
import { quietLog } from '../../support/quiet-log.ts';

describe('TaskStarter', () => {
  it('starts a task once for each time its program said something', async () => {
    const started: string[] = [];
    const starter = new TaskStarter({
      servedTasks: { waiting: async () => [{ id: 'b', round: 2 }] },
      tasks: {
        start: async (kind, id, input) => void started.push(`${kind} ${id} ${JSON.stringify(input)}`),
      },
      log: quietLog,
    });
    await starter.start({ id: 'a', messages: [{ messageId: 'm', text: 'x', at: new Date() }] });
    await starter.sweep(30_000);
    expect(started).toEqual([
      'serve-task served-task-a-1 {"taskId":"a"}',
      'serve-task served-task-b-2 {"taskId":"b"}',
    ]);
  });

  it('leaves the rest to the next sweep when the database does not answer', async () => {
    const starter = new TaskStarter({
      servedTasks: {
        waiting: async () => {
          throw new StorageUnavailableError('down');
        },
      },
      tasks: { start: async () => undefined },
      log: quietLog,
    });
    await expect(starter.sweep(30_000)).resolves.toBeUndefined();
  });
});
