import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { MAX_PATTERN_CHARS } from '../../../router/src/core/routing/regex-problem.ts';
import { newRouteOf, routeSchemas } from '../../../router/src/features/routes/route-schemas.ts';
import { agentKinds } from '../../../router/src/infra/agents/agent-kinds.ts';

const schemas = routeSchemas(agentKinds);
const good = {
  channelId: '+54 9 3777 239922',
  agentEndpoint: 'http://localhost:8000',
  config: { adk: { appName: 'a' } },
};

/** Path and message of each mistake. */
function problemsOf(schema: z.ZodType, value: unknown): string[] {
  return (schema.safeParse(value).error?.issues ?? []).map(
    ({ path, message }) => `${path.join('.')} ${message}`,
  );
}

describe('the body of a new route', () => {
  it('gets the defaults of the service, its chat in its stored form', () => {
    const body = schemas.body.parse({ ...good, regexFilter: null, name: null });
    expect(newRouteOf(agentKinds, body, { accountId: 'sales', environment: 'prod' })).toEqual({
      accountId: 'sales',
      channelId: '5493777239922',
      agentEndpoint: 'http://localhost:8000',
      environment: 'prod',
      regexFilter: undefined,
      priority: 0,
      enabled: true,
      name: undefined,
      config: { agent: { kind: 'adk', settings: { appName: 'a' } } },
    });
  });

  it('prevails over the defaults, also with false and 0', () => {
    const given = { accountId: 'a', environment: 'lab', enabled: false, priority: 0, name: '' };
    const body = schemas.body.parse({ ...good, ...given });
    expect(newRouteOf(agentKinds, body, { accountId: 'sales', environment: 'prod' })).toMatchObject(given);
  });

  it.each([
    [{ priority: -1_000_000 }, 0],
    [{ priority: 1_000_001 }, 1],
    [{ name: 'x'.repeat(200) }, 0],
    [{ name: 'x'.repeat(201) }, 1],
    [{ colour: 'red' }, 1],
    [{ config: {} }, 1],
  ])('with %j has %i mistakes', (change, count) => {
    expect(problemsOf(schemas.body, { ...good, ...change })).toHaveLength(count);
  });

  it('has a message that follows the field for a pattern that cannot be used', () => {
    const [empty] = problemsOf(schemas.body, { ...good, regexFilter: '' });
    expect(empty).toBe('regexFilter must not be empty; leave it out to match every text');
    const long = 'x'.repeat(MAX_PATTERN_CHARS + 1);
    expect(problemsOf(schemas.body, { ...good, regexFilter: long })).toHaveLength(1);
    expect(problemsOf(schemas.body, { ...good, regexFilter: long.slice(1) })).toEqual([]);
  });
});

describe('the other bodies', () => {
  it('of PUT needs no channelId, and a whole config', () => {
    const { channelId: _, ...rest } = good;
    expect(problemsOf(schemas.replacement, rest)).toEqual([]);
    expect(problemsOf(schemas.replacement, { ...rest, config: undefined })).toHaveLength(1);
  });

  it('of PATCH needs nothing, and leaves the config to a check of the merged one', () => {
    expect(problemsOf(schemas.patch, {})).toEqual([]);
    expect(problemsOf(schemas.patch, { config: { adk: { appName: null } } })).toEqual([]);
    expect(problemsOf(schemas.patch, { config: null })).toHaveLength(1);
    expect(problemsOf(schemas.patch, { colour: 'red' })).toHaveLength(1);
    expect(problemsOf(schemas.changedConfig, { config: { adk: {} } })).toHaveLength(1);
  });
});
