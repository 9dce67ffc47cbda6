import { capabilitiesOf, type NpcFaceSettings } from './npc-settings.ts';

/** Version of the agent card specification that wa2ai speaks. */
const PROTOCOL_VERSION = '1.0.0';

/**
 * The agent card as the specification of the NPC Engine defines it: only what is configured.
 * @param baseUrl where callers reach wa2ai, without a slash at its end
 */
export function npcCard(settings: NpcFaceSettings, baseUrl: string): Record<string, unknown> {
  const { name, description, metadata, chain } = settings;
  return {
    version: PROTOCOL_VERSION,
    id: idOf(name),
    name,
    description: description ?? `${name}, an agent of wa2ai`,
    capabilities: capabilitiesOf(settings),
    transports: [
      { type: 'http', url: `${baseUrl}/rpc`, methods: ['POST'] },
      { type: 'sse', url: `${baseUrl}/stream/{taskId}`, methods: ['GET'] },
    ],
    authentication: { type: 'api-key', header: 'X-API-Key' },
    metadata: {
      protocolVersions: [PROTOCOL_VERSION],
      ...(chain && { chainId: chain.chainId, contracts: chain.contracts }),
      ...metadata,
    },
  };
}

/** `Old Guard` → `old-guard`. */
function idOf(name: string): string {
  const words = name.toLowerCase().match(/[\p{L}\p{N}]+/gu);
  return words?.join('-') ?? 'npc';
}
