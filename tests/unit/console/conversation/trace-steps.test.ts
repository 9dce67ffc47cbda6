import { expect, it } from 'vitest';
import { routeNameIn, traceSteps } from '../../../../console/src/conversation/trace-steps.ts';

it('shows rules, policies and requests to the agent as lines', () => {
  const trace = [
    {
      routeId: 'r1',
      name: 'everybody',
      channelId: '*',
      priority: 0,
      outcome: 'chosen',
      sentence: 'It matches.',
    },
    {
      step: 'agent',
      routeId: 'r1',
      outcome: 'failed',
      sentence: 'No answer.',
      attempts: [{ attempt: 1, agentMs: 5, x: { y: 1 } }],
    },
    { step: 'reply', outcome: 'split', messages: 2 },
  ];
  expect(traceSteps(trace)).toEqual([
    { title: 'everybody', outcome: 'chosen', sentence: 'It matches.', attempts: [] },
    {
      title: 'agent',
      isWord: true,
      outcome: 'failed',
      sentence: 'No answer.',
      attempts: [{ attempt: 1, agentMs: 5, x: '{"y":1}' }],
    },
    { title: 'reply', isWord: true, outcome: 'split', attempts: [], more: '{\n  "messages": 2\n}' },
  ]);
});

it.each([
  [undefined, []],
  [null, []],
  ['words', []],
  [{ function: 'ask' }, [{ title: '?', attempts: [], more: '{\n  "function": "ask"\n}' }]],
  [
    [7, null],
    [
      { title: '7', attempts: [] },
      { title: 'null', attempts: [] },
    ],
  ],
])('shows %j', (trace, steps) => {
  expect(traceSteps(trace)).toEqual(steps);
});

it('finds the name of a route', () => {
  const trace = [null, { routeId: 'r1' }, { routeId: 'r2', name: 'support', outcome: 'chosen' }];
  expect(routeNameIn(trace, 'r2')).toBe('support');
  expect(routeNameIn(trace, 'r1')).toBeUndefined();
  expect(routeNameIn('words', 'r1')).toBeUndefined();
});
