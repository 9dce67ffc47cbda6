import { Task } from '@a2a-js/sdk';
import { describe, expect, it } from 'vitest';
import {
  answerParts,
  hasMessage,
  hasSettled,
  isSettled,
  progressText,
  stateOf,
  TaskView,
  textOf,
} from '../../../../../../router/src/infra/agents/a2a/wire/task-updates.ts';

const task = (json: Record<string, unknown>) => Task.fromJSON({ id: 't', contextId: 'c', ...json });
const says = (text: string, more = {}) => ({
  messageId: text,
  role: 'ROLE_AGENT',
  parts: [{ text }],
  ...more,
});
const texts = (json: Record<string, unknown>) => answerParts(task(json)).map(textOf);
const completed = { state: 'TASK_STATE_COMPLETED' };

describe('stateOf', () => {
  it.each([
    ['TASK_STATE_SUBMITTED', 'submitted', false],
    ['TASK_STATE_WORKING', 'working', false],
    ['TASK_STATE_COMPLETED', 'completed', true],
    ['TASK_STATE_FAILED', 'failed', true],
    ['TASK_STATE_CANCELED', 'canceled', true],
    ['TASK_STATE_INPUT_REQUIRED', 'input-required', true],
    ['TASK_STATE_REJECTED', 'rejected', true],
    ['TASK_STATE_AUTH_REQUIRED', 'auth-required', true],
    ['TASK_STATE_OF_LATER', 'working', false],
  ])('%s is %s, settled: %s', (state, name, settled) => {
    const read = stateOf(task({ status: { state } }));
    expect([read, isSettled(read)]).toEqual([name, settled]);
  });
});

describe('hasSettled', () => {
  const asks = (text: string, timestamp: string) =>
    task({ status: { state: 'TASK_STATE_INPUT_REQUIRED', message: says(text), timestamp } });
  const question = asks('Which city?', '2026-01-01T00:00:00Z');

  it('is false for a task that still shows the question that was answered', () => {
    expect(hasSettled(question, question)).toBe(false);
    expect(hasSettled(question)).toBe(true);
    expect(hasSettled(asks('Which day?', '2026-01-01T00:00:05Z'), question)).toBe(true);
    expect(hasSettled(task({ status: completed }), question)).toBe(true);
  });
});

describe('answerParts', () => {
  it('are the artifacts of a completed task, not its history', () => {
    const history = [says('working on it')];
    const artifacts = [
      { artifactId: 'a', parts: [{ text: 'one' }, { text: ' two' }] },
      { artifactId: 'b', parts: [{ text: 'three' }] },
    ];
    expect(texts({ status: completed, artifacts, history })).toEqual(['one two', 'three']);
  });

  it('are the last message of the agent without artifacts', () => {
    const history = [
      says('first'),
      says('last'),
      { messageId: 'u', role: 'ROLE_USER', parts: [{ text: 'mine' }] },
    ];
    expect(texts({ status: completed, history })).toEqual(['last']);
    expect(texts({ status: { ...completed, message: says('said at the end') }, history })).toEqual([
      'said at the end',
    ]);
  });

  it('leave out thoughts, and artifacts of tools', () => {
    const artifacts = [
      {
        artifactId: 'a',
        parts: [{ text: 'Let me look' }, { data: {}, metadata: { adk_type: 'function_call' } }],
      },
      { artifactId: 'b', parts: [{ text: 'hm', metadata: { adk_thought: true } }, { text: 'Here' }] },
    ];
    expect(texts({ status: completed, artifacts })).toEqual(['Here']);
  });

  it.each(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_FAILED', 'TASK_STATE_REJECTED'])(
    'are the status message of %s',
    (state) => {
      const artifacts = [{ artifactId: 'a', parts: [{ text: 'half' }] }];
      expect(texts({ status: { state, message: says('why') }, artifacts })).toEqual(['why']);
    },
  );
});

describe('TaskView', () => {
  it('builds a task from its events, with chunks of an artifact', () => {
    const view = new TaskView({ id: 't', contextId: 'c' });
    const chunk = (artifactId: string, text: string, append: boolean) => {
      const artifact = task({ artifacts: [{ artifactId, parts: [{ text }] }] }).artifacts[0];
      view.artifact({ taskId: 't', contextId: 'c', artifact, append, lastChunk: false, metadata: undefined });
    };
    chunk('a', 'one', false);
    chunk('a', ' two', true);
    chunk('b', 'draft', false);
    chunk('b', 'final', false);
    const { status } = task({ status: completed });
    view.status({ taskId: 't', contextId: 'c', status, metadata: undefined });
    expect(answerParts(view.task).map(textOf)).toEqual(['one two', 'final']);
  });
});

describe('progressText', () => {
  const working = (message: object) =>
    progressText(task({ status: { state: 'TASK_STATE_WORKING', message } }));

  it('is what the agent says about its work, for people', () => {
    expect(working(says('half done'))).toBe('half done');
    expect(working(says('x', { metadata: { adk_partial: true } }))).toBeUndefined();
    expect(working(says('x', { parts: [{ text: 'hm', metadata: { adk_thought: true } }] }))).toBeUndefined();
    expect(
      working(
        says('x', { parts: [{ text: 'call' }, { data: {}, metadata: { adk_type: 'function_call' } }] }),
      ),
    ).toBeUndefined();
    expect(progressText(task({ status: { state: 'TASK_STATE_WORKING' } }))).toBeUndefined();
  });
});

describe('hasMessage', () => {
  it('finds a message by its id', () => {
    const known = task({ history: [says('m1')] });
    expect([hasMessage(known, 'm1'), hasMessage(known, 'm2')]).toEqual([true, false]);
  });
});
