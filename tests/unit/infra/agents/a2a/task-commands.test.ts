import { expect, it } from 'vitest';
import { taskCommandOf } from '../../../../../router/src/infra/agents/a2a/a2a-agent-client.ts';

it.each([
  ['/tasks', { kind: 'list' }],
  [' /TASKS ', { kind: 'list' }],
  ['/task 1a2b3c4d', { kind: 'status', written: '1a2b3c4d' }],
  ['/task 1a2b3c4d status', { kind: 'status', written: '1a2b3c4d' }],
  ['/task 1a2b3c4d Cancel', { kind: 'cancel', written: '1a2b3c4d' }],
  ['/task', { kind: 'status', written: '' }],
  ['/task 1a2b3c4d again', undefined],
  ['/taskforce', undefined],
  ['about /tasks', undefined],
])('%j', (text, expected) => {
  expect(taskCommandOf(text)).toEqual(expected);
});
