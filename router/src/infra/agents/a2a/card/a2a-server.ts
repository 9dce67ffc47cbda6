import type { AgentCard, AgentInterface } from '@a2a-js/sdk';
import { AgentProtocolError } from '../../../../core/errors.ts';
import { cardAddress, type OwnHeaders, ownHeaders } from '../../card-address.ts';
import type { A2aSettings } from '../a2a-settings.ts';

const BINDINGS = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON' } as const;

/** The interface of an agent that a route uses, and what requests to it carry. */
export interface A2aServer extends OwnHeaders {
  /** With this one interface, whose address is absolute. */
  card: AgentCard;
  url: string;
  version: '1.0' | '0.3';
  canStream: boolean;
}

/**
 * The headers of a route, with its key.
 * @param keyHeader the header in which the card wants the key; absent: as a bearer token
 */
export function a2aHeaders(
  agentEndpoint: string,
  { apiKey, headers = {}, cardUrl }: A2aSettings,
  keyHeader: string | undefined,
): OwnHeaders {
  const key: Array<[string, string]> =
    apiKey === undefined
      ? []
      : [keyHeader === undefined ? ['authorization', `Bearer ${apiKey}`] : [keyHeader, apiKey]];
  return ownHeaders([...key, ...Object.entries(headers)], [agentEndpoint, cardUrl]);
}

/**
 * Chooses the interface of a card by the settings of the route. Without a card, settings that name version and transport
 * are enough: agentEndpoint is then the address of the calls.
 * @param isHosted wa2ai runs the agent
 * @throws {AgentProtocolError} the card has no such interface
 */
export function a2aServer(
  agentEndpoint: string,
  settings: A2aSettings,
  found: { card?: AgentCard; cardUrl: string; keyHeader?: string },
  isHosted = false,
): A2aServer {
  const { version = 'auto', transport = 'auto' } = settings;
  const card = found.card ?? cardBySettings(agentEndpoint, settings);
  const fitting = card.supportedInterfaces.filter(
    ({ protocolBinding, protocolVersion }) =>
      (transport === 'auto'
        ? Object.values(BINDINGS).some((binding) => isSame(binding, protocolBinding))
        : isSame(BINDINGS[transport], protocolBinding)) &&
      (version === 'auto'
        ? versionOf(protocolVersion) !== undefined
        : versionOf(protocolVersion) === version),
  );
  const chosen =
    fitting.find(({ protocolVersion }) => versionOf(protocolVersion) === '1.0') ??
    // Version 0.3 over HTTP has no place for the marks of thoughts and tool calls.
    fitting.find(({ protocolBinding }) => isSame(BINDINGS.jsonrpc, protocolBinding)) ??
    fitting[0];
  if (!chosen) {
    const has = card.supportedInterfaces
      .map((one) => `${one.protocolBinding} ${one.protocolVersion}`)
      .join(', ');
    throw new AgentProtocolError(
      `The card of the A2A agent has no interface for version ${version} and transport ${transport}. It has: ${has.slice(0, 300)}.`,
    );
  }
  const url = cardAddress(chosen.url, found.cardUrl, isHosted);
  const used: AgentInterface = { ...chosen, url };
  return {
    ...a2aHeaders(agentEndpoint, settings, found.keyHeader),
    card: { ...card, supportedInterfaces: [used] },
    url,
    version: versionOf(chosen.protocolVersion) ?? '1.0',
    canStream: (card.capabilities?.streaming ?? false) && settings.streaming !== false,
  };
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** Every 1.x and every 0.3.x is spoken, and 0.2.x, whose requests are those of 0.3; an empty version is 0.3 in the protocol. */
function versionOf(written: string): '1.0' | '0.3' | undefined {
  if (/^1(?:\.|$)/.test(written)) return '1.0';
  return written === '' || /^0\.[23](?:\.|$)/.test(written) ? '0.3' : undefined;
}

function cardBySettings(agentEndpoint: string, settings: A2aSettings): AgentCard {
  const { version = 'auto', transport = 'auto', streaming = false } = settings;
  if (version === 'auto' || transport === 'auto') {
    throw new AgentProtocolError(
      'The A2A agent has no agent card. Set config.a2a.cardUrl, or name version and transport of an agent without a card.',
    );
  }
  const protocolBinding = BINDINGS[transport];
  return {
    name: '',
    description: '',
    version: '',
    provider: undefined,
    capabilities: { streaming, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    signatures: [],
    supportedInterfaces: [{ url: agentEndpoint, protocolBinding, protocolVersion: version, tenant: '' }],
  };
}

/** Whether the agent takes a file of this media type, as its card says. */
export function takesMedia({ defaultInputModes, skills }: AgentCard, mimeType: string): boolean {
  const type = mimeType.toLowerCase().split(';')[0]?.trim() ?? '';
  const modes = [...defaultInputModes, ...skills.flatMap(({ inputModes }) => inputModes)];
  return modes.some((mode) => {
    const written = mode.toLowerCase().split(';')[0]?.trim() ?? '';
    if (written === '*/*' || written === '*' || written === 'file') return true;
    return written === type || (written.endsWith('/*') && type.startsWith(written.slice(0, -1)));
  });
}
