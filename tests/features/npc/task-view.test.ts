import { describe, expect, it } from 'vitest';
import { listedView, taskEvent, taskView } from '../../../router/src/features/npc/npc-task-feed.ts';
import { npcTaskOf } from '../../../router/src/infra/agents/npc/rpc/json-rpc.ts';
import { anNpcTask } from '../../support/npc-tasks.ts';

const done = anNpcTask({ status: 'completed', result: { success: true }, version: 3, idempotencyKey: 'k' });

describe('a task as callers see it', () => {
  it('has its end, and what it takes only while it runs', () => {
    expect(taskView(done)).toEqual({
      taskId: 'task_1',
      type: 'social',
      status: 'completed',
      result: { success: true },
      createdAt: 1_000,
      updatedAt: 2_000,
    });
    expect(taskView(anNpcTask())).toMatchObject({ status: 'pending', estimatedDuration: 30_000 });
    expect(npcTaskOf(taskView(done))).toMatchObject({ taskId: 'task_1', status: 'completed' });
  });

  it('is short in a list, with the key that opened it', () => {
    expect(listedView(done)).toEqual({
      taskId: 'task_1',
      type: 'social',
      status: 'completed',
      createdAt: 1_000,
      updatedAt: 2_000,
      idempotencyKey: 'k',
    });
  });

  it('is an event with a name and an id, on one line of data', () => {
    expect(taskEvent(anNpcTask({ status: 'processing', version: 2, progress: 50 }))).toMatch(
      /^id: 2\nevent: task\.update\ndata: \{"taskId":"task_1".*"progress":50.*\}\n\n$/,
    );
    expect(taskEvent(done)).toContain('event: task.completed\n');
    const failed = anNpcTask({ status: 'failed', error: { code: -32603, message: 'Internal\nerror' } });
    expect(taskEvent(failed)).toContain('event: task.failed\n');
    expect(taskEvent(failed).split('\n')).toHaveLength(5);
  });
});
