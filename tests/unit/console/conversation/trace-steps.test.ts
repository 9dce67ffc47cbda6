import { describe, expect, it } from 'vitest';
import {
  routeNameIn,
  suggestedLimitMs,
  traceSteps,
} from '../../../../console/src/conversation/trace-steps.ts';

it('shows rules, policies, requests to the agent and its call as lines', () => {
  const trace = [
    {
      routeId: 'r1',
      name: 'everybody',
      channelId: '*',
      priority: 0,
      outcome: 'chosen',
      sentence: 'It matches.',
      conditions: [{ condition: 'hours', holds: true, sentence: 'It is 14:05.' }, { condition: 'tags' }],
    },
    {
      step: 'agent',
      routeId: 'r1',
      outcome: 'failed',
      sentence: 'No answer.',
      attempts: [{ attempt: 1, at: '2026-01-02T03:04:05.000Z', agentMs: 5, x: { y: 1 } }, { waitMs: 'x' }],
    },
    { outcome: 'called', function: 'ask' },
    { step: 'reply', outcome: 'split', messages: 2 },
  ];
  const none = { conditions: [], attempts: [] };
  expect(traceSteps(trace)).toEqual([
    {
      ...none,
      kind: 'rule',
      title: 'everybody',
      routeId: 'r1',
      outcome: 'chosen',
      sentence: { text: 'It matches.' },
      conditions: [{ text: 'It is 14:05.', holds: true }],
    },
    {
      ...none,
      kind: 'agent',
      title: 'agent',
      routeId: 'r1',
      outcome: 'failed',
      sentence: { text: 'No answer.' },
      attempts: [{ number: 1, atMs: Date.parse('2026-01-02T03:04:05.000Z'), ms: 5 }, {}],
    },
    { ...none, kind: 'call', title: '?', outcome: 'called', more: '{\n  "function": "ask"\n}' },
    { ...none, kind: 'step', title: 'reply', outcome: 'split', more: '{\n  "messages": 2\n}' },
  ]);
});

it.each([
  [undefined, []],
  [null, []],
  ['words', []],
  [{ function: 'ask' }, [{ kind: 'call', title: '?', more: '{\n  "function": "ask"\n}' }]],
  [
    [7, null],
    [
      { kind: 'step', title: '7' },
      { kind: 'step', title: 'null' },
    ],
  ],
])('shows %j', (trace, steps) => {
  expect(traceSteps(trace)).toEqual(steps.map((step) => ({ ...step, conditions: [], attempts: [] })));
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
