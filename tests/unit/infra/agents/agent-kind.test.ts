import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { AgentClient } from '../../../../router/src/core/agent-client.ts';
import type { Route } from '../../../../router/src/core/models.ts';
import { createAgentClients } from '../../../../router/src/infra/agents/agent-clients.ts';
import { type AgentKind, agentKind } from '../../../../router/src/infra/agents/agent-kind.ts';
import { agentKinds } from '../../../../router/src/infra/agents/agent-kinds.ts';
import { wireConfigOf } from '../../../../router/src/infra/agents/route-config.ts';
import {
  headersField,
  httpUrlField,
  secretField,
} from '../../../../router/src/infra/agents/setting-fields.ts';
import { AgentTransport } from '../../../../router/src/infra/agents/transport/agent-transport.ts';
import { routeReader } from '../../../../router/src/infra/db/stores/postgres-route-store.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { type HttpApi, startHttpApi } from '../../../support/http-api.ts';
import { quietLog } from '../../../support/quiet-log.ts';

const mirrorSettings = z.strictObject({
  greeting: z.string().describe('Put before each answer.'),
  token: secretField.describe('Sent as a bearer token.'),
  keys: z.array(secretField).optional(),
  headers: headersField.optional(),
  directory: httpUrlField.optional(),
});

/** A kind that exists only in this test. */
const mirrorKind: AgentKind = agentKind<z.output<typeof mirrorSettings>>({
  name: 'mirror',
  description: 'Answers with the text that it received.',
  settings: mirrorSettings,
  check: async ({ greeting }) =>
    greeting === 'rude' ? [{ field: 'greeting', said: { sentence: 'is not polite' } }] : [],
  endpointOf: (agentEndpoint) => `${agentEndpoint}/mirror`,
  client:
    () =>
    ({ greeting, token }): AgentClient => ({
      sendMessage: async (_endpoint, { text }) => ({
        success: true,
        response: `${greeting} ${text} with ${token}`,
      }),
    }),
});

const kinds = [...agentKinds, mirrorKind];
const settings = {
  greeting: 'Hello',
  token: 'top-secret',
  keys: ['first-key', 'second-key'],
  headers: { 'X-Key': 'header-secret' },
};
const masked = { greeting: 'Hello', token: '***', keys: ['***', '***'], headers: { 'X-Key': '***' } };
const body = { channelId: '*', agentEndpoint: 'http://agent.example', config: { mirror: settings } };

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi({ agentKinds: kinds });
});
afterEach(() => api.close());

async function createdRoute(): Promise<Route> {
  const { status, body: answer } = await api.call('POST', '/api/routes', body);
  expect(status).toBe(201);
  return (await api.routes.get(answer.data.id)) as Route;
}

describe('an agent kind added to the list', () => {
  it('is a setting of routes in the API and its description', async () => {
    const { body: document } = await api.call('GET', '/openapi.json');
    const { properties } = document.components.schemas.NewRoute.properties.config;
    expect(Object.keys(properties)).toContain('mirror');
    expect(properties.mirror).toMatchObject({
      description: 'Answers with the text that it received.',
      required: ['greeting', 'token'],
      properties: { token: { format: 'password' } },
    });
  });

  it('has its settings checked by its schema and by its own check', async () => {
    const wrong = (mirror: object) => api.call('POST', '/api/routes', { ...body, config: { mirror } });
    expect((await wrong({ token: 'x' })).body.error).toBe('config.mirror.greeting is missing.');
    expect((await wrong({ ...settings, greeting: 'rude' })).body.error).toBe(
      'config.mirror.greeting is not polite.',
    );
  });

  it('has its secrets masked in each response, and kept when the response is sent back', async () => {
    const { id } = await createdRoute();
    const shown = await api.call('GET', `/api/routes/${id}`);
    expect(shown.body.data.config).toEqual({ mirror: masked });
    const back = await api.call('PATCH', `/api/routes/${id}`, {
      config: { mirror: { ...masked, greeting: 'Hi' } },
    });
    expect(back.status).toBe(200);
    const stored = await api.routes.get(id);
    expect(stored?.config.agent).toEqual({ kind: 'mirror', settings: { ...settings, greeting: 'Hi' } });
  });

  it('refuses a changed address without its required secret, which is never sent there', async () => {
    const { id } = await createdRoute();
    const answer = await api.call('PATCH', `/api/routes/${id}`, { agentEndpoint: 'http://attacker.example' });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toBe('config.mirror.token is missing.');
    expect((await api.routes.get(id))?.agentEndpoint).toBe('http://agent.example');
  });

  it('drops its optional secrets when any address of its settings moves to another origin', async () => {
    const { id } = await createdRoute();
    const change = { config: { mirror: { directory: 'http://attacker.example', token: 'new-token' } } };
    const answer = await api.call('PATCH', `/api/routes/${id}`, change);
    expect(answer.body.warnings.map(({ field }: { field: string }) => field)).toEqual([
      'config.mirror.keys.0',
      'config.mirror.keys.1',
      'config.mirror.headers.X-Key',
    ]);
    const stored = await api.routes.get(id);
    expect(stored?.config.agent?.settings).toMatchObject({ token: 'new-token', keys: [], headers: {} });
  });

  it('is stored under its name and read back, with fields of a newer version', async () => {
    const route = await createdRoute();
    const row = { ...route, regexFilter: null, name: null, config: wireConfigOf(route.config) };
    const read = routeReader(kinds);
    expect(read(row as never).config).toEqual(route.config);
    const newer = { ...row, config: { mirror: { ...settings, volume: 11 }, mood: 'good' } };
    expect(read(newer as never)).toMatchObject({
      config: { agent: { kind: 'mirror', settings: { volume: 11 } } },
    });
    const damaged = { ...row, config: { mirror: { token: 7 } } };
    expect(read(damaged as never)).toMatchObject({
      config: {},
      damage: 'config.mirror.greeting is not valid',
    });
  });

  it('is called by its client, under the circuit of its endpoint', async () => {
    const clients = createAgentClients(
      {
        defaultTimeoutMs: () => 1_000,
        log: quietLog,
        clock: new FakeClock(),
        transport: new AgentTransport(),
      },
      kinds,
    );
    const route = await createdRoute();
    const answer = await clients.clientFor(route).sendMessage(route.agentEndpoint, {
      id: 'm',
      from: '5491@s.whatsapp.net',
      channelId: '5491',
      text: 'world',
      timestamp: new Date(0),
    });
    expect(answer.response).toBe('Hello world with top-secret');
    expect(clients.endpointOf(route)).toBe('http://agent.example/mirror');
  });
});
