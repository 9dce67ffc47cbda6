import { describe, expect, it } from 'vitest';
import { npcCardOf } from '../../../../../../router/src/infra/agents/npc/card/npc-card.ts';

const card = {
  version: '1.0.0',
  name: 'NPC',
  capabilities: ['duel', 'custom:guild-management', 'duel', 'two words'],
  transports: [
    { type: 'http', url: 'http://localhost:3000/rpc', methods: ['POST'] },
    { type: 'sse', url: 'http://localhost:3000/stream/{taskId}' },
  ],
  authentication: { type: 'api-key', header: 'X-Game-Key' },
  metadata: { anything: 1 },
};

describe('npcCardOf', () => {
  it('reads the fields that wa2ai needs', () => {
    expect(npcCardOf(card)).toEqual({
      name: 'NPC',
      version: '1.0.0',
      authType: 'api-key',
      capabilities: ['duel', 'custom:guild-management'],
      rpcUrl: 'http://localhost:3000/rpc',
      streamUrl: 'http://localhost:3000/stream/{taskId}',
      keyHeader: 'X-Game-Key',
    });
  });

  it('has the header of the specification for a card without a usable one', () => {
    expect(npcCardOf({ capabilities: [] })?.keyHeader).toBe('X-API-Key');
    const authentication = { type: 'api-key', header: 'no header\r\n' };
    expect(npcCardOf({ capabilities: [], authentication })?.keyHeader).toBe('X-API-Key');
  });

  it.each([
    ['a card of A2A', { name: 'a', capabilities: { streaming: true }, supportedInterfaces: [] }],
    ['a list', []],
    ['a text', 'card'],
    ['nothing', undefined],
  ])('does not take %s for a card', (_name, json) => {
    expect(npcCardOf(json)).toBeUndefined();
  });
});
