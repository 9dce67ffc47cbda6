import { describe, expect, it } from 'vitest';
import { agentKinds } from '../../../../../router/src/infra/agents/agent-kinds.ts';
import {
  type RouteRow,
  routeReader,
  unreadableRoute,
} from '../../../../../router/src/infra/db/stores/postgres-route-store.ts';

const read = routeReader(agentKinds);

function row(config: unknown, change: Partial<RouteRow> = {}): RouteRow {
  return {
    id: '00000000-0000-4000-8000-000000000000',
    accountId: 'a',
    channelId: '*',
    agentEndpoint: 'http://127.0.0.1:8000',
    environment: 'lab',
    regexFilter: null,
    priority: 3,
    enabled: true,
    name: null,
    config,
    createdAt: new Date(0),
    updatedAt: new Date(1),
    ...change,
  };
}

describe('routeReader', () => {
  it('reads the agent and the settings of a stored route', () => {
    const route = read(row({ adk: { appName: 'app' }, shared: true }, { regexFilter: '^hi', name: 'n' }));
    expect(route).toMatchObject({
      channelId: '*',
      priority: 3,
      regexFilter: '^hi',
      name: 'n',
      config: { agent: { kind: 'adk', settings: { appName: 'app' } }, shared: true },
    });
    expect(route.damage).toBeUndefined();
  });

  it('reads earlier names of settings, which decide, as those of now', () => {
    const notices = { failed: false, slow: false };
    const stored = { adk: { appName: 'app' }, notices, failureNotice: 'Sorry.', unsupportedNotice: 'Text.' };
    const { agent: _, ...config } = read(row(stored)).config;
    expect(config).toEqual({ notices: { failed: 'Sorry.', slow: false, unsupported: 'Text.' } });
  });

  it('has no absent column', () => {
    const route = read(row({ adk: { appName: 'app' } }));
    expect(route.regexFilter).toBeUndefined();
    expect(route.name).toBeUndefined();
  });

  it.each([
    [{ adk: {} }],
    [{ adk: 7 }],
    [[]],
    [null],
    ['text'],
    [{ failure: { tryForMs: -1 }, adk: { appName: 'a' } }],
  ])('keeps a route whose stored config is %j, with the reason and without a config', (config) => {
    const route = read(row(config));
    expect(route.damage).toEqual(expect.stringMatching(/./));
    expect(route.config).toEqual({});
    expect(route.agentEndpoint).toBe('http://127.0.0.1:8000');
  });
});

describe('unreadableRoute', () => {
  it('has everything but the config', () => {
    const { config: _, ...columns } = row({});
    expect(unreadableRoute(columns)).toMatchObject({
      id: columns.id,
      priority: 3,
      config: {},
      damage: 'the database cannot read its config',
    });
  });
});
