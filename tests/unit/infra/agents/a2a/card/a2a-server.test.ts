import { AgentCard } from '@a2a-js/sdk';
import { describe, expect, it } from 'vitest';
import type { A2aSettings } from '../../../../../../router/src/infra/agents/a2a/a2a-settings.ts';
import {
  a2aHeaders,
  a2aServer,
  takesMedia,
} from '../../../../../../router/src/infra/agents/a2a/card/a2a-cards.ts';

const cardUrl = 'https://a.example/.well-known/agent-card.json';
const card = AgentCard.fromJSON({
  name: 'x',
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain', 'image/*'],
  supportedInterfaces: [
    { url: 'https://a.example/grpc', protocolBinding: 'GRPC', protocolVersion: '1.0' },
    { url: 'https://a.example/old', protocolBinding: 'JSONRPC', protocolVersion: '0.3.0' },
    { url: '/new', protocolBinding: 'jsonrpc', protocolVersion: '1.0' },
    { url: 'http://localhost:9/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
  ],
});
const choose = (settings: A2aSettings) => a2aServer('https://a.example', settings, { card, cardUrl });

describe('a2aServer', () => {
  it.each([
    [{}, '1.0', 'https://a.example/new'],
    [{ version: '0.3' as const }, '0.3', 'https://a.example/old'],
    [{ transport: 'rest' as const }, '1.0', 'https://a.example/rest'],
    [{ transport: 'jsonrpc' as const, version: '0.3' as const }, '0.3', 'https://a.example/old'],
  ])('%j uses version %s at %s', (settings, version, url) => {
    expect(choose(settings)).toMatchObject({ version, url, card: { supportedInterfaces: [{ url }] } });
  });

  it('speaks 0.3 with a server of 0.2.5', () => {
    const old = AgentCard.fromJSON({
      supportedInterfaces: [{ url: '/a', protocolBinding: 'JSONRPC', protocolVersion: '0.2.5' }],
    });
    expect(a2aServer('https://a.example', {}, { card: old, cardUrl })).toMatchObject({ version: '0.3' });
  });

  it('prefers JSON-RPC for version 0.3, which does not mark thoughts over HTTP', () => {
    const [, old] = card.supportedInterfaces;
    const rest = {
      url: 'https://a.example/rest',
      protocolBinding: 'HTTP+JSON',
      protocolVersion: '0.3',
      tenant: '',
    };
    const both = AgentCard.fromJSON({ supportedInterfaces: [rest, old] });
    const chosen = (settings: A2aSettings) =>
      a2aServer('https://a.example', settings, { card: both, cardUrl }).url;
    expect([chosen({}), chosen({ transport: 'rest' })]).toEqual(['https://a.example/old', rest.url]);
  });

  it('streams as the card says, unless the settings forbid it', () => {
    expect([choose({}).canStream, choose({ streaming: false }).canStream]).toEqual([true, false]);
  });

  it('names what the card has when nothing fits', () => {
    expect(() => choose({ version: '0.3', transport: 'rest' })).toThrow(/It has: GRPC 1\.0, JSONRPC 0\.3\.0/);
  });

  it('needs version and transport without a card', () => {
    const none = { cardUrl };
    expect(() => a2aServer('https://a.example/x', {}, none)).toThrow(/has no agent card/);
    const settings = { version: '0.3' as const, transport: 'jsonrpc' as const };
    expect(a2aServer('https://a.example/x', settings, none)).toMatchObject({
      version: '0.3',
      url: 'https://a.example/x',
      canStream: false,
    });
  });
});

describe('a2aHeaders', () => {
  it('has the key where the card wants it, and the headers of the route', () => {
    const settings = { apiKey: 'key-1', headers: { 'X-More': 'm' } };
    const bearer = a2aHeaders('https://a.example', settings, undefined).headersFor('https://a.example/x');
    expect([...bearer]).toEqual([
      ['authorization', 'Bearer key-1'],
      ['x-more', 'm'],
    ]);
    const named = a2aHeaders('https://a.example', settings, 'X-Key').headersFor('https://a.example/x');
    expect(named.get('x-key')).toBe('key-1');
    expect([...a2aHeaders('https://a.example', settings, 'X-Key').headersFor('https://b.example')]).toEqual(
      [],
    );
  });
});

describe('takesMedia', () => {
  it.each([
    ['image/png', true],
    ['text/plain; charset=utf-8', true],
    ['audio/ogg; codecs=opus', false],
  ])('%s: %s', (mimeType, takes) => {
    expect(takesMedia(card, mimeType)).toBe(takes);
  });

  it('takes everything where the card says so', () => {
    const open = AgentCard.fromJSON({ skills: [{ inputModes: ['*/*'] }] });
    expect(takesMedia(open, 'video/mp4')).toBe(true);
  });
});
