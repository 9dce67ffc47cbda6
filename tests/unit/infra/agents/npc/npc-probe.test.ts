import { describe, expect, it } from 'vitest';
import { npcKind } from '../../../../../router/src/infra/agents/npc/npc-kind.ts';
import type { NpcSettings } from '../../../../../router/src/infra/agents/npc/npc-settings.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { probeOf } from '../../../../support/agent-kinds.ts';
import { npcDouble } from '../../../../support/npc.ts';

const find = (url: string, settings: NpcSettings = {}) =>
  probeOf(npcKind)(url, settings, {
    clock: holdingClock,
    transport: new AgentTransport(),
    signal: AbortSignal.timeout(60_000),
  });

describe('the probe of npc', () => {
  it('finds nothing at an agent with the capability, and at one without a card', async () => {
    const agent = await npcDouble();
    expect(await find(agent.url, { capability: 'duel' })).toEqual([]);
    const bare = await npcDouble({ card: null });
    expect(await find(bare.url, { capability: 'duel' })).toEqual([]);
  });

  it('names the capabilities of the card', async () => {
    const agent = await npcDouble({ capabilities: ['social', 'custom:crafting'] });
    expect(await find(agent.url, { capability: 'duel' })).toEqual([
      {
        code: 'AGENT_APP_UNKNOWN',
        field: 'config.npc.capability',
        message: 'The card of the NPC agent has no capability "duel". It has: social, custom:crafting.',
        phrase: { code: 'probe.no-capability', values: { name: 'duel', names: 'social, custom:crafting' } },
      },
    ]);
  });

  it('reports an agent that cannot be reached', async () => {
    expect(await find('http://127.0.0.1:1')).toMatchObject([
      { code: 'AGENT_UNREACHABLE', field: 'agentEndpoint' },
    ]);
    const settings = { cardUrl: 'http://127.0.0.1:1/card' };
    expect(await find('http://127.0.0.1:1', settings)).toMatchObject([{ field: 'config.npc.cardUrl' }]);
  });
});
