import type { AgentTransport } from '../../infra/agents/transport/agent-transport.ts';
import type { NpcChain } from './npc-chain.ts';
import type { NpcFaceSettings } from './npc-settings.ts';

/** The chain of the settings of the moment. viem is loaded when there are some. */
export function chainAccess({
  key,
  settings,
  transport,
}: {
  key: string | undefined;
  settings(): Promise<NpcFaceSettings>;
  transport: Pick<AgentTransport, 'fetch'>;
}): () => Promise<NpcChain | undefined> {
  let current: { of: string; chain: NpcChain } | undefined;
  return async () => {
    // First: a node without the key reads no settings for it.
    if (key === undefined) return undefined;
    const { chain } = await settings();
    if (!chain) return undefined;
    const of = JSON.stringify(chain);
    if (current?.of !== of) {
      const { ViemNpcChain } = await import('./viem-npc-chain.ts');
      current = { of, chain: new ViemNpcChain({ settings: chain, key, transport }) };
    }
    return current.chain;
  };
}
