import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../router/src/core/errors.ts';
import { TaskFollower } from '../../../router/src/features/tasks/follow-task.ts';
import { recordingLog } from '../../support/quiet-log.ts';

function setup() {
  const starts: unknown[] = [];
  const state = { open: ['1', '2'], isAway: false };
  const log = recordingLog();
  const ready = <T>(value: T) =>
    state.isAway ? Promise.reject(new StorageUnavailableError('away')) : Promise.resolve(value);
  const follower = new TaskFollower({
    remoteTasks: {
      unfollowed: () => ready(state.open),
      startedBy: (messageId) => ready(messageId === 'm1' ? '1' : undefined),
    },
    tasks: {
      start: async (kind, id, input) => {
        starts.push([kind, id, input]);
      },
    },
    log,
  });
  return { starts, state, log, follower };
}

describe('TaskFollower', () => {
  it('follows the task that a turn left running', async () => {
    const { starts, follower } = setup();
    await follower.follow('m1');
    await follower.follow('m2');
    expect(starts).toEqual([['follow-task', 'agent-task-1', { taskId: '1' }]]);
  });

  it('follows the tasks that a crash left behind, each once', async () => {
    const { starts, follower } = setup();
    await follower.follow('m1');
    await follower.sweep();
    await follower.sweep();
    expect(starts).toHaveLength(2);
  });

  it('does not fail when the database does not answer, and finds the task later', async () => {
    const { starts, state, log, follower } = setup();
    state.isAway = true;
    await follower.follow('m1');
    await follower.sweep();
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(2);
    state.isAway = false;
    await follower.sweep();
    expect(starts).toHaveLength(2);
  });
});
