import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AgentEffect,
  type AgentEvent,
  type AgentLife,
  agentLife,
  agentsToStop,
  isIdle,
  isUp,
  nameOfUser,
  newAgentLife,
} from '../../../../router/src/core/hosting/agent-life.ts';

const IDLE_MS = 1_800_000;
const problem = { code: 'AGENT_START_FAILED' as const, sentence: 'It ended.', isFinal: false };

/** Applies events in order. */
function applied(events: AgentEvent[], life = newAgentLife(0)): { life: AgentLife; effects: AgentEffect[] } {
  const effects: AgentEffect[] = [];
  for (const event of events) {
    const step = agentLife(life, event);
    life = step.life;
    effects.push(...step.effects);
  }
  return { life, effects };
}

const READY: AgentEvent[] = [
  { kind: 'request', nowMs: 1 },
  { kind: 'found', instance: 'stopped', hasImage: true, nowMs: 1 },
  { kind: 'ready', nowMs: 2 },
];

/** What the next event of an effect can be. */
function resultsOf(effect: AgentEffect, nowMs: number): AgentEvent[] {
  const failed = (leaves: boolean): AgentEvent => ({ kind: 'failed', problem, leaves });
  switch (effect.do) {
    case 'find':
      return [
        ...(['none', 'outdated', 'stopped', 'running'] as const).flatMap((instance) =>
          [true, false].map((hasImage): AgentEvent => ({ kind: 'found', instance, hasImage, nowMs })),
        ),
        failed(false),
      ];
    case 'pull':
      return [{ kind: 'pulled' }, failed(false)];
    case 'remove':
      return [{ kind: 'removed' }, failed(false)];
    case 'create':
      return [{ kind: 'created', nowMs }, failed(true)];
    case 'start':
    case 'wait':
      return [{ kind: 'ready', nowMs }, failed(true)];
    case 'stop':
      return [{ kind: 'stopped' }, failed(false)];
    default:
      return [];
  }
}

describe('the life cycle of a hosted agent', () => {
  it('keeps its promises in every sequence of events', () => {
    const step = fc.record({
      choice: fc.nat(1_000),
      passMs: fc.constantFrom(0, 10, 60_000, IDLE_MS),
      event: fc.constantFrom(
        'request',
        'end',
        'tick',
        'stop',
        'changed',
        'busy',
        'free',
        'canceled',
        'result',
      ),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        let life = newAgentLife(0);
        let nowMs = 0;
        // The runner performs one effect after the other.
        let pending: AgentEffect[] = [];
        let [open, delivered, rejected, canceled] = [0, 0, 0, 0];
        /** Since the last stop of an agent that ran. */
        let startsMs: number[] = [];
        const apply = (event: AgentEvent) => {
          const before = life;
          const { life: next, effects } = agentLife(life, event);
          life = next;
          if (event.kind === 'stopped' && before.phase === 'stopping' && !before.isInDoubt) startsMs = [];
          for (const effect of effects) {
            if (effect.do === 'deliver') delivered += before.waiting + Number(event.kind === 'request');
            else if (effect.do === 'reject') rejected += before.waiting;
            else if (effect.do !== 'clean-up') pending.push(effect);
            if (effect.do === 'start') {
              startsMs = [...startsMs.filter((atMs) => nowMs - atMs < 300_000), nowMs];
              expect(startsMs.length).toBeLessThanOrEqual(3);
            }
            // Only an operator or the runner's own failure ends an agent at work.
            if (effect.do === 'stop' && event.kind === 'tick') {
              expect(before.running + before.waiting).toBe(0);
              expect(before.saysBusy).toBe(false);
              expect(nowMs - before.lastActivityMs).toBeGreaterThanOrEqual(IDLE_MS);
            }
          }
          expect(pending.length).toBeLessThanOrEqual(1);
          // Nobody waits for an agent that nothing starts.
          if (pending.length === 0) expect(life.waiting).toBe(0);
          if (life.phase === 'ready') expect(life.running).toBe(0);
          expect(life.waiting).toBeGreaterThanOrEqual(0);
          expect(delivered + rejected + canceled + life.waiting).toBe(open);
        };
        for (const { choice, passMs, event } of steps) {
          nowMs += passMs;
          if (event === 'request') {
            open += 1;
            apply({ kind: 'request', nowMs });
          } else if (event === 'end' && life.running > 0) apply({ kind: 'request-ended', nowMs });
          else if (event === 'tick') apply({ kind: 'tick', nowMs, idleMs: IDLE_MS });
          else if (event === 'stop') apply({ kind: 'stop' });
          else if (event === 'changed') apply({ kind: 'changed' });
          else if (event === 'busy' || event === 'free') {
            apply({ kind: 'says-busy', isBusy: event === 'busy', nowMs });
          } else if (event === 'canceled' && life.waiting > 0) {
            canceled += 1;
            apply({ kind: 'canceled' });
          } else if (event === 'result' && pending[0]) {
            const results = resultsOf(pending[0], nowMs);
            pending = pending.slice(1);
            const result = results[choice % results.length];
            if (result) apply(result);
          }
        }
        // Whatever happened, the waiting requests end when the effects succeed or fail.
        for (let guard = 0; pending[0] && guard < 20; guard++) {
          const [result] = resultsOf(pending[0], nowMs).slice(-1);
          pending = pending.slice(1);
          if (result) apply(result);
        }
        expect(life.waiting).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('goes from absent to ready through pull, creation and start', () => {
    const { life, effects } = applied([
      { kind: 'request', nowMs: 1 },
      { kind: 'found', instance: 'none', hasImage: false, nowMs: 1 },
      { kind: 'pulled' },
      { kind: 'created', nowMs: 2 },
      { kind: 'ready', nowMs: 3 },
    ]);
    expect(effects.map((effect) => effect.do)).toEqual(['find', 'pull', 'create', 'start', 'deliver']);
    expect(life).toMatchObject({ phase: 'busy', running: 1, waiting: 0 });
  });

  it('replaces an instance with other settings', () => {
    const { effects } = applied([
      { kind: 'request', nowMs: 1 },
      { kind: 'found', instance: 'outdated', hasImage: true, nowMs: 1 },
      { kind: 'removed' },
    ]);
    expect(effects.map((effect) => effect.do)).toEqual(['find', 'remove', 'create']);
  });

  it('starts again for a request that comes while it stops', () => {
    const { life, effects } = applied(
      [
        { kind: 'request-ended', nowMs: 3 },
        { kind: 'stop' },
        { kind: 'request', nowMs: 4 },
        { kind: 'stopped' },
      ],
      applied(READY).life,
    );
    expect(effects.map((effect) => effect.do)).toEqual(['stop', 'find']);
    expect(life).toMatchObject({ phase: 'starting', waiting: 1 });
  });

  it('looks at the instance before the next request when it may have changed', () => {
    const { effects } = applied(
      [{ kind: 'request-ended', nowMs: 3 }, { kind: 'changed' }, { kind: 'request', nowMs: 4 }],
      applied(READY).life,
    );
    expect(effects).toEqual([{ do: 'find' }]);
  });

  it('counts the time without work from the end of what the agent itself did', () => {
    const { life, effects } = applied(
      [
        { kind: 'request-ended', nowMs: 3 },
        { kind: 'says-busy', isBusy: true, nowMs: 4 },
        { kind: 'tick', nowMs: 10 * IDLE_MS, idleMs: IDLE_MS },
        { kind: 'says-busy', isBusy: false, nowMs: 10 * IDLE_MS },
        { kind: 'tick', nowMs: 10 * IDLE_MS + 1, idleMs: IDLE_MS },
      ],
      applied(READY).life,
    );
    expect(effects).toEqual([]);
    expect(isIdle(life)).toBe(true);
  });

  it('ends a crash loop until an operator starts the agent', () => {
    let life = newAgentLife(0);
    for (let start = 1; start <= 4; start++) {
      life = applied(
        [
          { kind: 'request', nowMs: start },
          { kind: 'found', instance: 'stopped', hasImage: true, nowMs: start },
          { kind: 'failed', problem, leaves: true },
        ],
        life,
      ).life;
    }
    const again: AgentEvent[] = [
      { kind: 'request', nowMs: 5 },
      { kind: 'found', instance: 'stopped', hasImage: true, nowMs: 5 },
    ];
    expect(applied(again, life).life.problem?.code).toBe('AGENT_CRASH_LOOP');
    expect(applied([{ kind: 'forgiven' }, ...again], life).effects).toContainEqual({ do: 'start' });
  });

  it('starts an agent that idles out as often as messages come', () => {
    const wakeAndIdleOut: AgentEvent[] = [
      ...READY,
      { kind: 'request-ended', nowMs: 3 },
      { kind: 'stop' },
      { kind: 'stopped' },
    ];
    const { effects } = applied(Array.from({ length: 9 }, () => wakeAndIdleOut).flat());
    expect(effects.filter((effect) => effect.do === 'start')).toHaveLength(9);
  });
});

describe('agentsToStop', () => {
  const idleSince = (lastActivityMs: number): AgentLife => ({
    ...newAgentLife(lastActivityMs),
    phase: 'ready',
  });

  it('names the idle agents that were used longest ago', () => {
    const lives = new Map([
      ['a', idleSince(3)],
      ['b', idleSince(1)],
      ['c', idleSince(2)],
      ['d', newAgentLife(0, 'stopped')],
    ]);
    expect(agentsToStop(lives, 'x', 5)).toEqual([]);
    expect(agentsToStop(lives, 'x', 3)).toEqual(['b']);
    expect(agentsToStop(lives, 'x', 2)).toEqual(['b', 'c']);
    expect(agentsToStop(lives, 'a', 3)).toEqual([]);
  });

  it('names none when too few are idle', () => {
    const working: AgentLife = { ...idleSince(1), phase: 'busy', running: 1 };
    expect(isUp(working)).toBe(true);
    expect(agentsToStop(new Map([['a', working]]), 'x', 1)).toBeUndefined();
  });
});

describe('nameOfUser', () => {
  const from = '34600120001@s.whatsapp.net';
  const group = { from, channelId: '120363000000000001@g.us', isGroup: true, pushName: 'Ana' };

  it.each([
    ['person', { from, channelId: '34600120001', pushName: 'Ana' }, 'Ana'],
    ['person', { from, channelId: '34600120001' }, '34600120001'],
    ['person', group, 'Ana'],
    ['chat', { ...group, subject: 'Weekend team' }, 'Weekend team'],
    ['chat', group, '120363000000000001@g.us'],
    ['chat', { from, channelId: '34600120001', pushName: 'Ana' }, 'Ana'],
  ] as const)('names whom the agent of a %s answers: %j', (per, user, name) => {
    expect(nameOfUser(user, per)).toBe(name);
  });
});
