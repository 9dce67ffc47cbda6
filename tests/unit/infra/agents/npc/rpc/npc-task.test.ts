import { describe, expect, it } from 'vitest';
import {
  npcTaskOf,
  npcTasksOf,
  phaseOf,
} from '../../../../../../router/src/infra/agents/npc/rpc/json-rpc.ts';

describe('npcTaskOf', () => {
  it('reads a task, with a number as its id too', () => {
    expect(npcTaskOf({ taskId: 12, status: 'pending', more: 1 })).toMatchObject({
      taskId: '12',
      status: 'pending',
    });
  });

  it.each([
    [{}],
    [{ taskId: 'a' }],
    [{ taskId: 'a\nb', status: 'x' }],
    [{ taskId: 'x'.repeat(300), status: 'x' }],
    ['t'],
  ])('refuses %j', (json) => {
    expect(npcTaskOf(json)).toBeUndefined();
  });
});

describe('npcTasksOf', () => {
  it('leaves out entries that are no tasks', () => {
    const tasks = [{ taskId: 'a', status: 'x' }, 7, {}];
    expect(npcTasksOf({ tasks, totalTasks: 3 })).toMatchObject([{ taskId: 'a' }]);
    expect(npcTasksOf({ result: [] })).toBeUndefined();
  });
});

describe('phaseOf', () => {
  it.each([
    ['pending', 'running'],
    ['processing', 'running'],
    ['something new', 'running'],
    ['completed', 'completed'],
    ['COMPLETED', 'completed'],
    ['failed', 'failed'],
    ['cancelled', 'canceled'],
  ])('%s is %s', (status, phase) => {
    expect(phaseOf({ status })).toBe(phase);
  });
});
