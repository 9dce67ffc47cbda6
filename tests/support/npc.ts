import { onTestFinished } from 'vitest';
import type { Clock } from '../../router/src/core/clock.ts';
import type { IncomingMessage } from '../../router/src/core/models.ts';
import { NpcCards } from '../../router/src/infra/agents/npc/card/npc-card.ts';
import { NpcAgentClient } from '../../router/src/infra/agents/npc/npc-agent-client.ts';
import type { NpcSettings } from '../../router/src/infra/agents/npc/npc-settings.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';
import { NpcDouble, type NpcDoubleOptions } from '../doubles/npc-agent.ts';

/** A stand-in agent, stopped at the end of the test. */
export async function npcDouble(options: NpcDoubleOptions = {}): Promise<NpcDouble> {
  const agent = await NpcDouble.start(options);
  onTestFinished(() => agent.stop());
  return agent;
}

/** A client as a route with these settings has one. */
export function npcClient(npc: NpcSettings = {}, clock: Clock = holdingClock): NpcAgentClient {
  const transport = new AgentTransport();
  return new NpcAgentClient({
    npc,
    timeoutMs: 30_000,
    clock,
    transport,
    cards: new NpcCards(clock, transport),
  });
}

/** A message of one person to the bot. */
export function npcMessage(text: string, message: Partial<IncomingMessage> = {}): IncomingMessage {
  const from = '5493777239922@s.whatsapp.net';
  return {
    id: '3EB0AAAAAAAAAAAAAAAAAA',
    from,
    channelId: '5493777239922',
    accountId: 'main',
    text,
    timestamp: new Date(),
    ...message,
  };
}
