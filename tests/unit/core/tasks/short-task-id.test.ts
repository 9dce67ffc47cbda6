import { describe, expect, it } from 'vitest';
import { shortTaskId, taskNamed } from '../../../../router/src/core/tasks.ts';

const long = '9ef22c6c-1111-2222-3333-444455556666';
const stored = (...ids: string[]) => ids.map((remoteId) => ({ remoteId, isOpen: true }));

describe('a task id', () => {
  it('is shown whole when it is short, else by its first characters', () => {
    expect(shortTaskId('task_1234567890')).toBe('task_1234567890');
    expect(shortTaskId(long)).toBe('9ef22c6c');
  });

  it('is found by itself, or by the beginning of only one', () => {
    const tasks = stored('task_1', 'task_12', long);
    expect(taskNamed(tasks, 'task_1')?.remoteId).toBe('task_1');
    expect(taskNamed(tasks, '9EF22C6C')?.remoteId).toBe(long);
    expect(taskNamed(tasks, 'task')).toBeUndefined();
    expect(taskNamed(tasks, '9ef')).toBeUndefined();
    expect(taskNamed(stored(long, long), '9ef22')?.remoteId).toBe(long);
  });
});
