import type { AgentCard, SecurityScheme } from '@a2a-js/sdk';
import { AgentUnavailableError, Wa2aiError } from '../../../core/errors.ts';
import { changed, say } from '../../../core/phrases.ts';
import {
  type AgentCardFacts,
  type AgentDeps,
  agentKind,
  findingOf,
  type ProbeFinding,
  reachFinding,
  withoutSecrets,
} from '../agent-kind.ts';
import {
  type AgentTools,
  agentTools,
  messageTool,
  newTestPerson,
  type ToolInput,
  type ToolOption,
  ToolUsageError,
} from '../agent-tools.ts';
import { A2aAgentClient, noneAttempted } from './a2a-agent-client.ts';
import { type A2aSettings, a2aSettings, a2aSettingsProblems } from './a2a-settings.ts';
import { type A2aCardAnswer, A2aCards, a2aHeaders, a2aServer, findA2aCard } from './card/a2a-cards.ts';

const key: ToolOption = { name: 'key', value: 'KEY', help: 'key of the agent' };
const version: ToolOption = {
  name: 'a2a-version',
  value: '1.0|0.3',
  help: 'version to speak (default: the newest)',
};

/** Tools for people who write A2A agents. */
const a2aTools: AgentTools = agentTools<A2aCardAnswer>({
  kind: 'a2a',
  find: cardOf,
  recognizes: ({ card }) => card !== undefined,
  inspect: {
    summary: 'shows the card: version, skills, and a route for the agent',
    options: [key, version],
    of(found, input) {
      const { card } = found;
      const settings = settingsOf(input);
      const apiKey = settings.apiKey !== undefined && { apiKey: '<the API key>' };
      const speaks = spokenBy(input, found);
      return {
        isReachable: card !== undefined,
        answer: answerText(found),
        ...(speaks !== undefined && { version: speaks }),
        capabilities: card ? a2aCapabilities(card) : [],
        ...(card && { config: { a2a: { ...settings, ...apiKey } } }),
      };
    },
  },
  test: messageTool([key, version], async (input) => ({ client: clientOf(input) })),
  check: {
    summary: 'checks what wa2ai needs from the agent; really sends messages',
    options: [key, version],
    async run(checks, found, input) {
      const isFound = await checks.run('the agent card can be read', async () =>
        found.card ? ['pass', answerText(found)] : ['fail', answerText(found)],
      );
      if (isFound === 'fail') return;
      await checks.run('an interface fits the settings', async () => {
        const server = a2aServer(input.url, settingsOf(input), found);
        return ['pass', `${server.version} at ${server.url}`];
      });
      const client = clientOf(input);
      const person = newTestPerson();
      const contexts: unknown[] = [];
      for (const text of ['hello', 'hello again']) {
        await checks.run(`an answer to "${text}"`, async () => {
          const { response, files, metadata } = await client.sendMessage(input.url, person.says(text));
          contexts.push((metadata?.a2a as { contextId?: unknown } | undefined)?.contextId);
          if (response === undefined && !files) return ['warn', 'the agent says nothing'];
          return ['pass', `${response?.length ?? 0} characters`];
        });
      }
      await checks.run('both messages have one context', async () => {
        const [first, second] = contexts;
        if (first === undefined || second === undefined) return ['fail', 'no context'];
        return first === second
          ? ['pass', String(first)]
          : ['warn', 'another context for each message: the agent has no memory'];
      });
      checks.runTimes();
    },
  },
});

function answerText({ card, fetched }: A2aCardAnswer): string {
  if (card) return `card of ${card.name || 'an agent without a name'}`;
  if (fetched?.kind === 'fault') return fetched.detail.sentence;
  return `status ${fetched?.status ?? 'unknown'}, no card`;
}

/** `1.0 JSONRPC`: what wa2ai would speak. */
function spokenBy(input: ToolInput, found: A2aCardAnswer): string | undefined {
  try {
    const server = a2aServer(input.url, settingsOf(input), found);
    return `${server.version} ${server.card.supportedInterfaces[0]?.protocolBinding}`;
  } catch (error) {
    if (error instanceof Wa2aiError) return undefined;
    throw error;
  }
}

function settingsOf({ options }: ToolInput): A2aSettings {
  const written = options['a2a-version'];
  if (written !== undefined && written !== '1.0' && written !== '0.3') {
    throw new ToolUsageError('--a2a-version must be 1.0 or 0.3');
  }
  return {
    ...(options.key !== undefined && { apiKey: options.key }),
    ...(written !== undefined && { version: written }),
  };
}

function cardOf(input: ToolInput): Promise<A2aCardAnswer> {
  const { transport, timeoutMs } = input;
  return findA2aCard(input.url, settingsOf(input), { transport, signal: AbortSignal.timeout(timeoutMs) });
}

function clientOf(input: ToolInput): A2aAgentClient {
  const { transport, clock, timeoutMs } = input;
  const cards = new A2aCards(clock, transport);
  const a2a = { ...settingsOf(input), waitMs: timeoutMs };
  return new A2aAgentClient({ a2a, timeoutMs, transport, clock, cards });
}

/** Warnings about a route to this agent: it cannot be reached, or its card has no interface that the settings allow. */
async function a2aFindings(
  agentEndpoint: string,
  settings: A2aSettings,
  deps: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const answer = await findA2aCard(agentEndpoint, settings, deps);
  const { fetched } = answer;
  const { secrets } = a2aHeaders(agentEndpoint, settings, undefined);
  const found =
    fetched?.kind === 'answer'
      ? { status: fetched.status }
      : { problem: fetched && withoutSecrets(fetched.detail, secrets) };
  const address = settings.cardUrl === undefined ? 'agentEndpoint' : 'config.a2a.cardUrl';
  const fields = { address, headers: 'config.a2a.headers' };
  const unreached = reachFinding({ kind: 'a2a', address: new URL(answer.cardUrl).origin }, found, fields);
  if (unreached) return [unreached];
  try {
    a2aServer(agentEndpoint, settings, answer);
    return [];
  } catch (error) {
    if (!(error instanceof Wa2aiError)) throw error;
    return [findingOf('AGENT_MANIFEST', address, error.said)];
  }
}

/** What an agent can do by its card, a line for each. */
function a2aCapabilities({ capabilities, skills }: AgentCard): string[] {
  return [
    ...(capabilities?.streaming ? ['streaming'] : []),
    ...(skills ?? []).map(({ id, name }) => `skill ${id || name}`),
  ];
}

const MAX_TEXT_CHARS = 1_000;

const MAX_LISTED = 100;

/** The card of an A2A agent, for operators. @throws {AgentUnavailableError} it does not answer */
async function a2aCardFacts(
  agentEndpoint: string,
  settings: A2aSettings,
  deps: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
): Promise<AgentCardFacts | undefined> {
  const { card, cardUrl, keyHeader, fetched } = await findA2aCard(agentEndpoint, settings, deps);
  if (card) return factsOf(card, cardUrl, keyHeader);
  if (fetched?.kind !== 'fault') return undefined;
  const { secrets } = a2aHeaders(agentEndpoint, settings, undefined);
  const why = changed(fetched.detail, (text) =>
    secrets.reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text),
  );
  throw new AgentUnavailableError(say('a2a.no-card', { why }));
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

/** Agents that speak the Agent2Agent protocol, version 1.0 or 0.3. */
export const a2aKind = agentKind<A2aSettings>({
  name: 'a2a',
  description: 'An agent that speaks A2A (Agent2Agent), version 1.0 or 0.3.',
  settings: a2aSettings,
  check: a2aSettingsProblems,
  endpointOf: (agentEndpoint) => agentEndpoint,
  probe: a2aFindings,
  card: a2aCardFacts,
  tools: a2aTools,
  client: ({ defaultTimeoutMs, log, clock, transport, taskPushes }) => {
    const cards = new A2aCards(clock, transport);
    // A hosted agent gets a new client for each attempt.
    const shared = { log, clock, cards, attempted: noneAttempted(), taskPushes };
    return (a2a, { id: routeId }, own) =>
      new A2aAgentClient({
        ...shared,
        timeoutMs: defaultTimeoutMs(),
        a2a,
        routeId,
        transport: own ?? transport,
        isHosted: own !== undefined,
      });
  },
});
