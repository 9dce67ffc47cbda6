import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AgentKind } from '../../../../router/src/infra/agents/agent-kind.ts';
import {
  kindNamed,
  routeConfigField,
  routeConfigOf,
  storedConfigCheck,
  wireConfigOf,
  withNewConfigNames,
} from '../../../../router/src/infra/agents/route-config.ts';
import { secretField } from '../../../../router/src/infra/agents/setting-fields.ts';

function aKind(name: string, settings: z.ZodType): AgentKind {
  return {
    name,
    description: `The kind ${name}.`,
    settings,
    endpointOf: (agentEndpoint) => agentEndpoint,
    client: () => () => ({ sendMessage: () => Promise.reject(new Error('not called')) }),
  };
}

const one = aKind('one', z.strictObject({ key: secretField }));
const two = aKind(
  'two',
  z.strictObject({ source: z.union([z.strictObject({ url: z.string() }), z.null()]) }),
);
const kinds = [one, two];
const good = { one: { key: 'k' } };

/** Paths and messages of what is wrong with a config. */
function problemsOf(config: unknown): string[] {
  const { error } = routeConfigField(kinds).safeParse(config);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('earlier names of a config', () => {
  it.each([
    [{ attempts: 1 }, { tryForMs: 0 }],
    [{ attempts: 1, patienceMs: 60_000 }, { tryForMs: 60_000 }],
    [
      { attempts: 4, fallbackText: 'Later.' },
      { tryForMs: 3_500, fallbackText: 'Later.' },
    ],
    [{ patienceMs: 0 }, { tryForMs: 1_500 }],
    [{ attempts: 3, maxRetryAfterMs: 200_000 }, { tryForMs: 200_000 }],
    [{ backoffMs: 10, maxBackoffMs: 20 }, {}],
    [{ patienceMs: null }, { tryForMs: null }],
  ])('say how long to try: %j is %j', (failure, expected) => {
    const { value, renamed } = withNewConfigNames({ ...good, failure });
    expect(value).toEqual({ ...good, failure: expected });
    const old = Object.keys(failure).filter((name) => name !== 'fallbackText');
    expect(renamed).toEqual(old.map((name) => ({ from: `failure.${name}`, to: 'failure.tryForMs' })));
  });
});

describe('the config of a route', () => {
  it.each([
    [{}],
    [{ shared: true }],
    [{ one: { key: 'k' }, two: { source: null } }],
    [{ one: { key: 'k' }, two: undefined }],
  ])('has exactly one agent kind, not %j', (config) => {
    expect(problemsOf(config)).toContain(': must contain exactly one agent kind: one, two');
  });

  it.each([[null], [[]], ['one'], [undefined]])('is an object, not %j', (config) => {
    expect(problemsOf(config)).toHaveLength(1);
    expect(problemsOf(config)[0]).not.toContain('agent kind');
  });

  it.each([
    [{ tryForMs: 0 }, []],
    [{ tryForMs: 3_600_000 }, []],
    [{ circuit: { failures: 1, openMs: 100 }, fallbackText: 'Sorry.' }, []],
  ])('accepts the failure policy %j except for %j', (failure, problems) => {
    expect(problemsOf({ ...good, failure })).toEqual(problems);
  });

  it.each([
    [{ tryForMs: 3_600_001 }],
    [{ tryForMs: -1 }],
    [{ uncertain: 'drop' }],
    [{ circuit: { failures: 0, openMs: 100 } }],
    [{ circuit: { failures: 1, openMs: 99 } }],
    [{ fallbackRouteId: '7' }],
    [{ fallbackText: ' \n ' }],
    [{ fallbackText: 'x'.repeat(4_097) }],
  ])('refuses the failure policy %j', (failure) => {
    const [field] = Object.keys(failure);
    const problems = problemsOf({ ...good, failure });
    expect(problems).toHaveLength(1);
    expect(problems[0]?.startsWith(`failure.${field}`)).toBe(true);
  });
});

describe('the two forms of a config', () => {
  it('are converted into each other without loss', () => {
    const wire = { one: { key: 'k', newer: 1 }, shared: true };
    const core = { agent: { kind: 'one', settings: { key: 'k', newer: 1 } }, shared: true };
    expect(routeConfigOf(kinds, wire)).toEqual(core);
    expect(wireConfigOf(core)).toEqual(wire);
  });

  it('use the first kind of the list when a config names several', () => {
    expect(routeConfigOf(kinds, { two: { source: null }, one: { key: 'k' } })).toMatchObject({
      agent: { kind: 'one' },
    });
  });

  it('leave a config without a known kind unchanged', () => {
    expect(routeConfigOf(kinds, { three: {}, shared: true })).toEqual({
      three: {},
      shared: true,
    });
    expect(wireConfigOf({ shared: true })).toEqual({ shared: true });
  });
});

describe('kindNamed', () => {
  it.each([
    ['two', two],
    ['three', undefined],
    [undefined, undefined],
  ])('finds %s', (name, expected) => {
    expect(kindNamed(kinds, name)).toBe(expected);
  });
});

describe('storedConfigCheck', () => {
  const check = storedConfigCheck(kinds);

  it.each([
    ['valid', good],
    ['with unknown fields of a newer version', { one: { key: 'k', newer: 1 }, newer: true }],
    ['with an unknown field in an option of a union', { two: { source: { url: 'u', newer: 1 } } }],
  ])('accepts a config that is %s', (_case, stored) => {
    expect(check(stored)).toBeUndefined();
  });

  it.each([
    [{ one: { key: 7 } }, 'config.one.key'],
    [{ one: {} }, 'config.one.key'],
    [{ two: { source: { url: 7 } } }, 'config.two.source'],
    [{ three: {} }, 'must contain exactly one agent kind: one, two'],
    [null, 'settings'],
    ['text', 'settings'],
  ])('names what is wrong with %j', (stored, part) => {
    expect(check(stored)).toContain(part);
  });

  it('never quotes a value, which may be a secret', () => {
    const found = check({ one: { key: ['top-secret'] }, shared: { a: 'top-secret' } });
    expect(found).toBeDefined();
    expect(found).not.toContain('top-secret');
  });
});
