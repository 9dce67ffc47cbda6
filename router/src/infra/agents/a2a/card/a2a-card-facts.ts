import type { AgentCard, SecurityScheme } from '@a2a-js/sdk';
import { AgentUnavailableError } from '../../../../core/errors.ts';
import type { AgentCardFacts, AgentDeps } from '../../agent-kind.ts';
import type { A2aSettings } from '../a2a-settings.ts';
import { findA2aCard } from './a2a-cards.ts';
import { a2aHeaders } from './a2a-server.ts';

const MAX_TEXT_CHARS = 1_000;
const MAX_LISTED = 100;

/** The card of an A2A agent, for operators. @throws {AgentUnavailableError} it does not answer */
export async function a2aCardFacts(
  agentEndpoint: string,
  settings: A2aSettings,
  deps: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
): Promise<AgentCardFacts | undefined> {
  const { card, cardUrl, keyHeader, fetched } = await findA2aCard(agentEndpoint, settings, deps);
  if (card) return factsOf(card, cardUrl, keyHeader);
  if (fetched?.kind !== 'fault') return undefined;
  const { secrets } = a2aHeaders(agentEndpoint, settings, undefined);
  const detail = fetched.fault === 'aborted' ? 'no answer in time' : fetched.detail;
  const why = secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), detail);
  throw new AgentUnavailableError(`The A2A agent does not send its card: ${why}.`);
}

function factsOf(card: AgentCard, url: string, keyHeader: string | undefined): AgentCardFacts {
  const { name, description, version, provider, capabilities, supportedInterfaces, skills } = card;
  return {
    url,
    ...(name && { name: short(name) }),
    ...(description && { description: short(description) }),
    ...(version && { version: short(version) }),
    ...(provider?.organization && { provider: short(provider.organization) }),
    interfaces: supportedInterfaces
      .slice(0, MAX_LISTED)
      .map(({ protocolBinding, protocolVersion }) => short(`${protocolBinding} ${protocolVersion}`.trim())),
    capabilities: [
      ...(capabilities?.streaming ? ['streaming'] : []),
      ...(capabilities?.pushNotifications ? ['push notifications'] : []),
      ...(capabilities?.extendedAgentCard ? ['extended card'] : []),
    ],
    skills: skills.slice(0, MAX_LISTED).map((skill) => ({
      name: short(skill.name || skill.id),
      ...(skill.description && { description: short(skill.description) }),
    })),
    authentication: Object.entries(card.securitySchemes)
      .slice(0, MAX_LISTED)
      .map(([name, scheme]) => proofOf(name, scheme, keyHeader)),
  };
}

/** @param keyHeader of a card that writes its API key in another form than the one of the protocol */
function proofOf(name: string, { scheme }: SecurityScheme, keyHeader: string | undefined): string {
  switch (scheme?.$case) {
    case 'apiKeySecurityScheme':
      return short(`API key, in the ${scheme.value.location} ${scheme.value.name}`);
    case 'httpAuthSecurityScheme':
      return short(`HTTP ${scheme.value.scheme}`);
    case 'oauth2SecurityScheme':
      return 'OAuth 2.0';
    case 'openIdConnectSecurityScheme':
      return 'OpenID Connect';
    case 'mtlsSecurityScheme':
      return 'client certificate';
    default:
      return short(keyHeader === undefined ? name : `API key, in the header ${keyHeader}`);
  }
}

function short(text: string): string {
  return text.slice(0, MAX_TEXT_CHARS);
}
