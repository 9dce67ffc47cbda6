import { describe, expect, it } from 'vitest';
import { npcKind } from '../../../../../router/src/infra/agents/npc/npc-kind.ts';
import { npcSettings } from '../../../../../router/src/infra/agents/npc/npc-settings.ts';
import { textsOf } from '../../../../../router/src/infra/agents/route-secrets.ts';

describe('npcKind', () => {
  it('has its circuit at the address of the calls', () => {
    expect(npcKind.endpointOf('https://game.example/npc', {})).toBe('https://game.example/npc/rpc');
    expect(npcKind.endpointOf('https://game.example', { rpcUrl: 'https://rpc.example/x' })).toBe(
      'https://rpc.example/x',
    );
  });

  it('masks the key and the headers, and checks every address', () => {
    const settings = {
      apiKey: 'k',
      headers: { A: 'h' },
      cardUrl: 'https://a.example',
      rpcUrl: 'https://b.example',
    };
    expect(textsOf(npcSettings, settings, 'password').map(({ value }) => value)).toEqual(['k', 'h']);
    expect(textsOf(npcSettings, settings, 'uri').map(({ value }) => value)).toEqual([
      'https://a.example',
      'https://b.example',
    ]);
  });

  it.each([
    [{ capability: 'two words' }],
    [{ waitMs: -1 }],
    [{ apiKey: ' ' }],
    [{ apiKey: 'a\nb' }],
    [{ cardUrl: 'ftp://a' }],
    [{ unknown: 1 }],
  ])('refuses %j', (settings) => {
    expect(npcSettings.safeParse(settings).success).toBe(false);
  });
});
