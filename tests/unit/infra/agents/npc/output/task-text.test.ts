import { describe, expect, it } from 'vitest';
import { parseJsonTemplate } from '../../../../../../router/src/infra/agents/json-template.ts';
import {
  completedText,
  statusText,
  taskListText,
} from '../../../../../../router/src/infra/agents/npc/input/npc-command.ts';
import { npcTaskOf } from '../../../../../../router/src/infra/agents/npc/rpc/json-rpc.ts';

const task = (fields: Record<string, unknown>) => {
  const read = npcTaskOf({ taskId: 'task_1', status: 'completed', ...fields });
  if (!read) throw new Error('no task');
  return read;
};
const text = (result: unknown) => completedText(task({ result }), undefined);

describe('completedText', () => {
  it.each([
    ['the text itself', 'Hello', 'Hello'],
    ['message', { message: 'Hello', mood: 'happy' }, 'Hello'],
    ['response', { response: 'Hi' }, 'Hi'],
    ['text', { text: 'Hey' }, 'Hey'],
    [
      'fields, one a line',
      { success: true, transactionHash: '0xabc', gasUsed: 150_000, none: null },
      'success: yes\ntransaction hash: 0xabc\ngas used: 150000',
    ],
    ['lists', { items: ['a', { name: 'b', n: 1 }] }, 'items:\n  • a\n  • name: b\n    n: 1'],
    [
      'what is nested deeply as JSON',
      { a: { b: { c: { d: { e: 1 } } } } },
      'a:\n  b:\n    c:\n      d:\n        {"e":1}',
    ],
    ['nothing', undefined, 'Task task_1 is completed.'],
    ['an empty object', {}, 'Task task_1 is completed.'],
  ])('is %s', (_name, result, shown) => {
    expect(text(result)).toBe(shown);
  });

  it('follows the template of the route', () => {
    const template = parseJsonTemplate('{{status}}: {{result.hash}}{{#result.items}} {{.}}{{/result.items}}');
    expect(completedText(task({ result: { hash: '0x1', items: [1, 2] } }), template)).toBe(
      'completed: 0x1 1 2',
    );
  });

  it('is never longer than a message', () => {
    expect(text('x'.repeat(200_000)).length).toBe(60_000);
  });
});

describe('statusText', () => {
  it('shows progress, and the result at the end', () => {
    expect(statusText(task({ status: 'processing', type: 'duel', progress: 49.6 }), undefined)).toBe(
      'duel task_1: processing, 50 %',
    );
    expect(statusText(task({ result: { message: 'You won' } }), undefined)).toBe(
      'task_1: completed\nYou won',
    );
  });
});

describe('taskListText', () => {
  it('lists type, status and time', () => {
    const listed = [
      task({ type: 'duel', createdAt: 1_640_995_200_000 }),
      task({ taskId: 't2', status: 'pending' }),
    ];
    expect(taskListText(listed)).toBe('• duel task_1: completed, since 2022-01-01 00:00 UTC\n• t2: pending');
    expect(taskListText([])).toBe('This chat has no tasks.');
  });

  it('is cut after twenty', () => {
    expect(taskListText(Array.from({ length: 25 }, () => task({})))).toMatch(/… and 5 more$/);
  });

  it('ignores a time that is none', () => {
    expect(taskListText([task({ createdAt: 1e300 })])).toBe('• task_1: completed');
  });
});
