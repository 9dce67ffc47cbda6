import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { chatSettingsOf } from '../../../../router/src/core/policies/settings.ts';
import { type AgentKind, agentKind } from '../../../../router/src/infra/agents/agent-kind.ts';
import {
  type AgentOfRoute,
  addressesOf,
  maskedChatSettings,
  maskedConfig,
  unmasked,
} from '../../../../router/src/infra/agents/route-secrets.ts';
import {
  headersField,
  httpUrlField,
  secretField,
} from '../../../../router/src/infra/agents/setting-fields.ts';

const settingsSchema = z.strictObject({
  label: z.string().optional(),
  token: secretField.optional(),
  baseUrl: httpUrlField.optional(),
  headers: headersField.optional(),
});
type Settings = z.output<typeof settingsSchema>;

const kind: AgentKind = agentKind<Settings>({
  name: 'one',
  description: 'A kind.',
  settings: settingsSchema,
  endpointOf: (agentEndpoint, { baseUrl }) => baseUrl ?? agentEndpoint,
  client: () => () => ({ sendMessage: () => Promise.reject(new Error('not called')) }),
});
const kinds = [kind];

function aRoute(settings: Settings, agentEndpoint = 'http://agent.example/a'): AgentOfRoute {
  return { agentEndpoint, config: { shared: true, agent: { kind: 'one', settings } } };
}

const stored = aRoute({ token: 'secret-1', headers: { 'X-Key': 'secret-2' } });
const sentBack: Settings = { token: '***', headers: { 'X-Key': '***' } };

/** The settings after the masks are replaced. */
function settingsOf(next: AgentOfRoute, before?: AgentOfRoute): unknown {
  return unmasked(kinds, next, before).config.agent?.settings;
}

describe('maskedConfig', () => {
  it('masks secrets only, under the name of the kind', () => {
    const { config } = aRoute({ label: 'l', token: 'secret-1', headers: { 'X-Key': '' } });
    expect(maskedConfig(kinds, config)).toEqual({
      shared: true,
      one: { label: 'l', token: '***', headers: { 'X-Key': '***' } },
    });
  });

  it('shows a config without an agent as it is', () => {
    expect(maskedConfig(kinds, { shared: true })).toEqual({ shared: true });
  });
});

describe('unmasked', () => {
  it('restores each stored secret, and keeps the other fields', () => {
    const result = unmasked(kinds, aRoute({ ...sentBack, label: 'new' }), stored);
    expect(result).toEqual({
      config: {
        shared: true,
        agent: {
          kind: 'one',
          settings: { label: 'new', token: 'secret-1', headers: { 'X-Key': 'secret-2' } },
        },
      },
      dropped: [],
      unknown: [],
    });
  });

  it('keeps a new value', () => {
    expect(settingsOf(aRoute({ token: 'secret-3' }), stored)).toEqual({ token: 'secret-3' });
  });

  it('reports a mask for which nothing is stored', () => {
    const next = aRoute({ token: '***', headers: { 'X-Other': '***' } });
    expect(unmasked(kinds, next, undefined).unknown).toEqual([
      'config.one.token',
      'config.one.headers.X-Other',
    ]);
    expect(unmasked(kinds, next, stored)).toMatchObject({
      dropped: [],
      unknown: ['config.one.headers.X-Other'],
    });
  });

  it.each<[string, AgentOfRoute]>([
    ['the origin of the endpoint', aRoute(sentBack, 'http://attacker.example/a')],
    ['the port', aRoute(sentBack, 'http://agent.example:8080/a')],
    ['the scheme', aRoute(sentBack, 'https://agent.example/a')],
    ['an address in the settings', aRoute({ ...sentBack, baseUrl: 'http://attacker.example' })],
  ])('drops every stored secret when %s changes', (_case, next) => {
    expect(unmasked(kinds, next, stored)).toMatchObject({
      dropped: ['config.one.token', 'config.one.headers.X-Key'],
      unknown: [],
    });
    expect(JSON.stringify(unmasked(kinds, next, stored))).not.toMatch(/secret-|\*\*\*/);
  });

  it.each<[string, AgentOfRoute]>([
    ['the path', aRoute(sentBack, 'http://agent.example/b?c=d')],
    ['the spelling of the host', aRoute(sentBack, 'http://AGENT.example:80/a')],
    ['another setting', aRoute({ ...sentBack, baseUrl: 'http://agent.example/other' })],
  ])('keeps the stored secrets when only %s changes', (_case, next) => {
    expect(settingsOf(next, stored)).toMatchObject({ token: 'secret-1' });
  });

  it('has no secrets of a route whose agent kind was another', () => {
    const other = { ...stored, config: { agent: { kind: 'two', settings: { token: 'secret-1' } } } };
    expect(unmasked(kinds, aRoute({ token: '***' }), other).unknown).toEqual(['config.one.token']);
  });

  it('leaves a config of an unknown kind unchanged', () => {
    const config = { agent: { kind: 'two', settings: { token: '***' } } };
    expect(unmasked(kinds, { ...stored, config }, stored)).toEqual({ config, dropped: [], unknown: [] });
  });
});

describe('addressesOf', () => {
  it('names each address by its field', () => {
    expect(addressesOf(kind, aRoute({ baseUrl: 'http://b.example' }))).toEqual([
      { field: 'agentEndpoint', url: 'http://agent.example/a' },
      { field: 'config.one.baseUrl', url: 'http://b.example' },
    ]);
  });
});

describe('the headers of the transcription server', () => {
  const transcribe = { url: 'http://ears.example/v1', headers: { Authorization: 'Bearer secret-3' } };
  const { agentEndpoint, config } = aRoute({ label: 'l' });
  const before = { agentEndpoint, config: { ...config, media: { transcribe } } };
  const sent = (url: string) => ({
    agentEndpoint,
    config: { ...config, media: { transcribe: { url, headers: { Authorization: '***' } } } },
  });

  it('are masked', () => {
    expect(maskedConfig(kinds, before.config).media).toEqual(sent(transcribe.url).config.media);
  });

  it('stay when the mask is sent back, and are dropped with another address', () => {
    expect(unmasked(kinds, sent('http://ears.example/v2'), before).config.media?.transcribe).toEqual({
      url: 'http://ears.example/v2',
      headers: transcribe.headers,
    });
    const moved = unmasked(kinds, sent('http://other.example'), before);
    expect(moved.config.media?.transcribe).toEqual({ url: 'http://other.example', headers: {} });
    expect(moved.dropped).toEqual(['config.media.transcribe.headers.Authorization']);
    expect(unmasked(kinds, sent(transcribe.url), undefined).unknown).toEqual(moved.dropped);
  });

  it('are those of the speech server likewise, and each belongs to its own server', () => {
    const voice = { url: 'http://mouth.example', headers: { Authorization: 'Bearer secret-4' } };
    const both = { ...before.config, reply: { maxChars: 200, voice } };
    const masked = { url: voice.url, headers: { Authorization: '***' } };
    expect(maskedConfig(kinds, both).reply).toEqual({ maxChars: 200, voice: masked });
    const next = {
      agentEndpoint,
      config: { ...sent('http://mouth.example').config, reply: { voice: masked } },
    };
    const found = unmasked(kinds, next, { agentEndpoint, config: both });
    expect(found.config.reply?.voice).toEqual(voice);
    expect(found.dropped).toEqual(['config.media.transcribe.headers.Authorization']);
    expect(
      JSON.stringify(maskedChatSettings(chatSettingsOf({ channelId: '1', config: both }, {}))),
    ).not.toContain('secret-4');
  });
});
