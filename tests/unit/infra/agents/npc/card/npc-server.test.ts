import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../../router/src/core/errors.ts';
import { cardUrlOf, npcServer } from '../../../../../../router/src/infra/agents/npc/card/npc-card.ts';

const card = { capabilities: [], keyHeader: 'X-API-Key' };
const secrets = { apiKey: 'key-12345', headers: { 'X-Extra': 'extra-12345' } };

describe('npcServer', () => {
  it('uses the addresses of the specification below agentEndpoint without a card', () => {
    const server = npcServer('https://game.example/npc/', {}, undefined);
    expect(cardUrlOf('https://game.example/npc/', {})).toBe(
      'https://game.example/npc/.well-known/agent-card',
    );
    expect(server.rpcUrl).toBe('https://game.example/npc/rpc');
    expect(server.streamUrl('a b')).toBe('https://game.example/npc/stream/a%20b');
  });

  it('uses the addresses of the card, relative ones against its URL', () => {
    const named = { ...card, rpcUrl: '/api/rpc', streamUrl: 'https://events.example/s/{taskId}?v=1' };
    const server = npcServer('https://game.example', {}, named);
    expect(server.rpcUrl).toBe('https://game.example/api/rpc');
    expect(server.streamUrl('t1')).toBe('https://events.example/s/t1?v=1');
  });

  it('replaces the loopback host of a card that came from another host', () => {
    const named = {
      ...card,
      rpcUrl: 'http://localhost:3000/rpc',
      streamUrl: 'http://127.0.0.1:3000/stream/{taskId}',
    };
    const server = npcServer('https://game.example', {}, named);
    expect(server.rpcUrl).toBe('https://game.example/rpc');
    expect(server.streamUrl('t')).toBe('https://game.example/stream/t');
    expect(npcServer('http://localhost:8000', {}, named).rpcUrl).toBe('http://localhost:3000/rpc');
  });

  it('sends key and headers only to origins that the route names', () => {
    const server = npcServer('https://game.example', secrets, {
      ...card,
      rpcUrl: 'https://other.example/rpc',
    });
    expect([...server.headersFor('https://game.example/x').keys()]).toEqual(['x-api-key', 'x-extra']);
    expect([...server.headersFor(server.rpcUrl).keys()]).toEqual([]);
    const named = { ...secrets, rpcUrl: 'https://other.example/rpc' };
    expect(
      npcServer('https://game.example', named, card).headersFor('https://other.example/rpc').get('x-api-key'),
    ).toBe('key-12345');
  });

  it('knows the secrets, also without the word before a token', () => {
    const settings = { apiKey: 'key-12345', headers: { Authorization: 'Bearer token-12345' } };
    expect(npcServer('https://game.example', settings, card).secrets).toEqual([
      'Bearer token-12345',
      'token-12345',
      'key-12345',
    ]);
  });

  it('refuses an address of the card that is no http URL', () => {
    const named = { ...card, rpcUrl: 'file:///etc/passwd' };
    expect(() => npcServer('https://game.example', {}, named)).toThrow(AgentProtocolError);
  });
});
