import { describe, expect, it } from 'vitest';
import {
  routeNameIn,
  suggestedLimitMs,
  traceSteps,
} from '../../../../console/src/conversation/trace-steps.ts';

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

describe('the suggestion of a longer time limit', () => {
  const attempts = (...codes: Array<string | undefined>) => [
    { step: 'agent', attempts: codes.map((code) => ({ agentMs: 30_000, ...(code && { code }) })) },
  ];

  it.each([
    [
      'an agent that answered after its limit had ended attempts',
      attempts('AGENT_TIMEOUT', undefined),
      91_000,
      190_000,
    ],
    ['an agent that never answered within it', attempts('AGENT_TIMEOUT'), 30_000, 60_000],
    ['an agent that answered', attempts(undefined), 29_000, undefined],
    ['an agent that failed otherwise', attempts('AGENT_UNAVAILABLE'), 90_000, undefined],
    ['a turn without a trace', undefined, undefined, undefined],
  ])('for %s', (_, trace, agentMs, expected) => {
    expect(suggestedLimitMs(trace, agentMs)).toBe(expected);
  });
});
