import { describe, expect, it } from 'vitest';
import { a2aKind } from '../../../../../router/src/infra/agents/a2a/a2a-kind.ts';
import type { A2aSettings } from '../../../../../router/src/infra/agents/a2a/a2a-settings.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { a2aDouble } from '../../../../support/a2a.ts';
import { probeOf } from '../../../../support/agent-kinds.ts';

const find = (url: string, settings: A2aSettings = {}) =>
  probeOf(a2aKind)(url, settings, {
    clock: holdingClock,
    transport: new AgentTransport(),
    signal: AbortSignal.timeout(60_000),
  });

describe('the probe of a2a', () => {
  it('reports a card that has no such interface, and a server without a card', async () => {
    const agent = await a2aDouble();
    expect(await find(agent.url, { version: '0.3' })).toMatchObject([
      { code: 'AGENT_MANIFEST', field: 'agentEndpoint' },
    ]);
    const bare = await a2aDouble({ card: null });
    expect(await find(bare.url)).toMatchObject([
      { code: 'AGENT_MANIFEST', message: expect.stringContaining('no agent card') },
    ]);
  });

  it('reports an agent that cannot be reached', async () => {
    expect(await find('http://127.0.0.1:1')).toMatchObject([{ code: 'AGENT_UNREACHABLE' }]);
    const settings = { cardUrl: 'http://127.0.0.1:1/card.json' };
    expect(await find('http://127.0.0.1:1', settings)).toMatchObject([{ field: 'config.a2a.cardUrl' }]);
  });
});
