import type { Message } from '@a2a-js/sdk';
import { describe, expect, it } from 'vitest';
import { eventsOf, inputOf, stateOf, taskOf } from '../../../router/src/features/a2a/a2a-wire.ts';
import type { ServedTask } from '../../../router/src/features/tasks/served-tasks.ts';
import { a2aRequest } from '../../support/a2a-client.ts';

const at = new Date(Date.UTC(2026, 0, 1));
const task: ServedTask = {
  id: 't1',
  contextId: 'c1',
  owner: 'o',
  state: 'completed',
  messages: [
    { messageId: 'm1', text: 'first', at },
    { messageId: 'm2', text: 'second', at },
  ],
  updates: [
    { number: 1, key: 'a', state: 'working', text: 'at work', at },
    {
      number: 2,
      key: 'b',
      state: 'completed',
      artifact: { name: 'answer', text: 'Blue', data: { n: 1 } },
      at,
    },
  ],
  createdAt: at,
};

describe('inputOf', () => {
  const of = (given: Parameters<typeof a2aRequest>[0]) => inputOf(a2aRequest(given).message as Message);

  it('reads text parts and the data part, whose text is preferred', () => {
    expect(of({ text: 'Hi' })).toEqual({ text: 'Hi' });
    expect(of({ text: 'Hi', data: { skill: 'ask-person', to: '1' } })).toEqual({
      skill: 'ask-person',
      to: '1',
      text: 'Hi',
    });
    expect(of({ text: 'Hi', data: { text: 'Hello', unknown: 1 } })).toEqual({ text: 'Hello' });
  });

  it('names the field that is wrong', () => {
    expect(of({ data: { deadlineMinutes: 'soon' } })).toMatchObject({ problem: /^deadlineMinutes: / });
    expect(of({ text: 'x'.repeat(70_000) })).toMatchObject({ problem: /65536/ });
    const file = {
      content: { $case: 'url' as const, value: 'http://x' },
      metadata: undefined,
      filename: '',
      mediaType: '',
    };
    expect(of({ parts: [file] })).toMatchObject({ problem: /Only text parts/ });
  });
});

describe('taskOf', () => {
  it('shows state, artifacts and as much history as is asked for', () => {
    expect(taskOf(task)).toMatchObject({
      id: 't1',
      contextId: 'c1',
      status: { state: 3, message: undefined, timestamp: at.toISOString() },
      artifacts: [
        { artifactId: 'answer', parts: [{ content: { value: 'Blue' } }, { content: { value: { n: 1 } } }] },
      ],
    });
    expect(taskOf(task).history.map(({ messageId }) => messageId)).toEqual(['m1', 'm2']);
    expect(taskOf(task, 1).history.map(({ messageId }) => messageId)).toEqual(['m2']);
    expect(taskOf(task, 0).history).toEqual([]);
    expect(taskOf({ ...task, updates: [] }).status).toMatchObject({ state: 1 });
  });
});

describe('eventsOf', () => {
  it('sends the artifact before the state', () => {
    const kinds = task.updates.map((update) => eventsOf(task, update).map(({ payload }) => payload?.$case));
    expect(kinds).toEqual([['statusUpdate'], ['artifactUpdate', 'statusUpdate']]);
  });
});

it('knows the states of the protocol that wa2ai uses', () => {
  expect([1, 6, 8].map(stateOf)).toEqual(['submitted', 'input-required', undefined]);
});
