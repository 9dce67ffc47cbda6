import type { AgentClients } from '../../core/agent-client.ts';
import { type Clock, withLimit } from '../../core/clock.ts';
import { Wa2aiError } from '../../core/errors.ts';
import type { Route } from '../../core/models.ts';
import { type Phrase, type Said, say } from '../../core/phrases.ts';
import type { MessageToPreview } from '../../core/routing/explain-route.ts';
import {
  type AgentAbout,
  type AgentCardFacts,
  type AgentKind,
  findingOf,
  type ProbeFinding,
} from './agent-kind.ts';
import { agentKinds } from './agent-kinds.ts';
import { kindNamed } from './route-config.ts';
import { type AgentOfRoute, addressesOf, audioAddressesOf } from './route-secrets.ts';
import type { AgentTransport } from './transport/agent-transport.ts';

/** Longest time that a caller waits for the probe of a route. */
const PROBE_LIMIT_MS = 2_000;
const MAX_CAPABILITIES = 100;
const MAX_TEXT_CHARS = 100;

/** What the probe of a route found. */
export interface ProbeResult {
  kind?: string;
  /** Whether agents of the kind can be probed. */
  isProbed: boolean;
  findings: ProbeFinding[];
  /** What the agent says about itself; absent when it says nothing. */
  about?: AgentAbout;
  /** How long the probe took. */
  milliseconds: number;
}

/** The card of an agent, or why there is none to show. */
interface CardResult {
  kind?: string;
  card?: AgentCardFacts;
  /** One sentence. Absent when there is a card. */
  problem?: string;
  phrase?: Phrase;
}

/** Probes the agent of a route. */
export class RouteProbe {
  readonly #deps: { clock: Clock; transport: AgentTransport };
  readonly #kinds: readonly AgentKind[];

  constructor(deps: { clock: Clock; transport: AgentTransport }, kinds: readonly AgentKind[] = agentKinds) {
    this.#deps = deps;
    this.#kinds = kinds;
  }

  /** Addresses of the route whose host is an IP address that the egress policy refuses, each with its reason. */
  refusedAddresses(route: AgentOfRoute): Array<{ field: string; message: string; phrase?: Phrase }> {
    const kind = kindNamed(this.#kinds, route.config.agent?.kind);
    if (!kind) return [];
    return [...addressesOf(kind, route), ...audioAddressesOf(route.config)].flatMap(({ field, url }) => {
      const reason = this.#deps.transport.refusalOf(url);
      if (reason === undefined) return [];
      const { sentence: message, phrase } = say('field.refused', { why: reason });
      return [{ field, message, ...(phrase && { phrase }) }];
    });
  }

  /** Probes the agent, and says how long that took. `kind` is absent if the stored config cannot be used. */
  async test(route: AgentOfRoute): Promise<ProbeResult> {
    const kind = kindNamed(this.#kinds, route.config.agent?.kind);
    const beganMs = this.#deps.clock.monotonicMs();
    const [findings, about] = await Promise.all([this.findings(route), this.#aboutOf(kind, route)]);
    return {
      ...(kind && { kind: kind.name }),
      isProbed: kind?.probe !== undefined,
      findings,
      ...(about && { about }),
      milliseconds: Math.round(this.#deps.clock.monotonicMs() - beganMs),
    };
  }

  /** Reads the card of the agent. Takes at most two seconds and does not run the agent. */
  async card({ agentEndpoint, config }: AgentOfRoute): Promise<CardResult> {
    const kind = kindNamed(this.#kinds, config.agent?.kind);
    if (!kind?.card) {
      return { ...(kind && { kind: kind.name }), ...problemOf(say('probe.kind-without-card')) };
    }
    const { card: read, name } = kind;
    try {
      const card = await withLimit(this.#deps.clock, PROBE_LIMIT_MS, undefined, (signal) =>
        read.call(kind, agentEndpoint, config.agent?.settings, { ...this.#deps, signal }),
      );
      return { kind: name, ...(card ? { card } : problemOf(say('probe.no-card'))) };
    } catch (error) {
      if (!(error instanceof Wa2aiError)) throw error;
      return { kind: name, ...problemOf(error.said) };
    }
  }

  /** Likely problems of calling the agent. Takes at most two seconds and does not run the agent. */
  async findings({ agentEndpoint, config }: AgentOfRoute): Promise<ProbeFinding[]> {
    const kind = kindNamed(this.#kinds, config.agent?.kind);
    if (!kind?.probe) return [];
    const { probe } = kind;
    try {
      return await withLimit(this.#deps.clock, PROBE_LIMIT_MS, undefined, (signal) =>
        probe.call(kind, agentEndpoint, config.agent?.settings, { ...this.#deps, signal }),
      );
    } catch (error) {
      if (!(error instanceof Wa2aiError)) throw error;
      return [findingOf('AGENT_UNREACHABLE', 'agentEndpoint', error.said)];
    }
  }

  async #aboutOf(
    kind: AgentKind | undefined,
    { agentEndpoint, config }: AgentOfRoute,
  ): Promise<AgentAbout | undefined> {
    const ask = kind?.about ?? kind?.card;
    if (!ask) return undefined;
    try {
      const said = await withLimit(this.#deps.clock, PROBE_LIMIT_MS, undefined, (signal) =>
        ask.call(kind, agentEndpoint, config.agent?.settings, { ...this.#deps, signal }),
      );
      return said && boundedAbout(said);
    } catch (error) {
      // The findings say why the agent cannot be asked.
      if (!(error instanceof Wa2aiError)) throw error;
      return undefined;
    }
  }
}

function problemOf({ sentence: problem, phrase }: Said): Pick<CardResult, 'problem' | 'phrase'> {
  return { problem, ...(phrase && { phrase }) };
}

/** What an agent says may be of any length. */
function boundedAbout({
  version,
  capabilities,
  skills = [],
}: AgentAbout & Partial<Pick<AgentCardFacts, 'skills'>>): AgentAbout {
  const all = [...capabilities, ...skills.map(({ name }) => `skill ${name}`)];
  return {
    ...(version !== undefined && { version: version.slice(0, MAX_TEXT_CHARS) }),
    capabilities: all.slice(0, MAX_CAPABILITIES).map((each) => each.slice(0, MAX_TEXT_CHARS)),
  };
}

/**
 * What wa2ai would send to the agent of a route for a message; undefined when its client has no preview. An error of the
 * settings is part of the explanation: `{kind: 'error', sentence}`.
 * @throws anything but a Wa2aiError
 */
export async function previewCall(
  agents: AgentClients,
  clock: Pick<Clock, 'now'>,
  route: Route,
  message: MessageToPreview,
): Promise<Record<string, unknown> | undefined> {
  try {
    const client = agents.clientFor(route);
    const explained = { ...message, id: 'explain', timestamp: new Date(clock.now()) };
    return await client.preview?.(explained, route.agentEndpoint);
  } catch (error) {
    if (error instanceof Wa2aiError) return { kind: 'error', ...error.said };
    throw error;
  }
}
