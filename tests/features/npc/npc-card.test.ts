import { describe, expect, it } from 'vitest';
import { npcCard } from '../../../router/src/features/npc/npc-server.ts';
import { npcCardOf } from '../../../router/src/infra/agents/npc/card/npc-card.ts';

const settings = { enabled: true, name: 'Old Guard' };

describe('npcCard', () => {
  it('has the fields of the specification, and only what is configured', () => {
    expect(npcCard(settings, 'https://npc.example.com')).toEqual({
      version: '1.0.0',
      id: 'old-guard',
      name: 'Old Guard',
      description: 'Old Guard, an agent of wa2ai',
      capabilities: ['trade', 'emotion', 'memory'],
      transports: [
        { type: 'http', url: 'https://npc.example.com/rpc', methods: ['POST'] },
        { type: 'sse', url: 'https://npc.example.com/stream/{taskId}', methods: ['GET'] },
      ],
      authentication: { type: 'api-key', header: 'X-API-Key' },
      metadata: { protocolVersions: ['1.0.0'] },
    });
  });

  it('has metadata and custom capabilities of the operator', () => {
    const routeId = '01900000-0000-7000-8000-000000000001';
    const metadata = { game: 'fantasy-rpg' };
    const card = npcCard(
      { ...settings, routeId, custom: ['custom:crafting'], metadata },
      'http://localhost:3000',
    );
    expect(card.capabilities).toContain('custom:crafting');
    expect(card.metadata).toEqual({ protocolVersions: ['1.0.0'], game: 'fantasy-rpg' });
  });

  it('offers duel and quest for the contracts of the chain settings, without its RPC URL', () => {
    const arena = `0x${'a'.repeat(40)}`;
    const chain = {
      rpcUrl: 'https://rpc.test/secret',
      chainId: 50_312,
      contracts: { arena },
      tokens: [arena],
      limits: { wager: '1' },
    };
    const card = npcCard({ ...settings, chain }, 'http://localhost:3000');
    expect(card.capabilities).toEqual(['duel', 'trade', 'emotion', 'memory']);
    expect(card.metadata).toEqual({ protocolVersions: ['1.0.0'], chainId: 50_312, contracts: { arena } });
    expect(JSON.stringify(card)).not.toContain('rpc.test');
  });

  it('is read by the client of the same protocol', () => {
    expect(npcCardOf(npcCard(settings, 'http://localhost:3000'))).toMatchObject({
      name: 'Old Guard',
      rpcUrl: 'http://localhost:3000/rpc',
      streamUrl: 'http://localhost:3000/stream/{taskId}',
      keyHeader: 'X-API-Key',
    });
  });

  it('has an id for any name', () => {
    expect(npcCard({ ...settings, name: '!!!' }, '').id).toBe('npc');
    expect(npcCard({ ...settings, name: 'Señor Ñu 7' }, '').id).toBe('señor-ñu-7');
  });
});
