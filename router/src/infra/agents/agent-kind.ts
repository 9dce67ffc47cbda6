import type { z } from 'zod';
import type { Scope } from '../../core/access/scopes.ts';
import type { AgentClient } from '../../core/agent-client.ts';
import type { Clock } from '../../core/clock.ts';
import type { AgentHost } from '../../core/hosting/agent-host.ts';
import type { Logger } from '../../core/logger.ts';
import type { Route } from '../../core/models.ts';
import { changed, type Phrase, type Said, say } from '../../core/phrases.ts';
import type { AuditLog } from '../../core/ports/audit-log.ts';
import type { TextMatcher } from '../../core/ports/converters.ts';
import type { TaskPushes } from '../../core/tasks.ts';
import {
  type AgentTools,
  type Inspection,
  type ToolInput,
  ToolkitError,
  ToolUsageError,
} from './agent-tools.ts';
import type { AgentTransport } from './transport/agent-transport.ts';

/** A mistake in a route's settings; `field` is its path within the settings of the kind, such as `functions[1]`. */
export interface SettingsProblem {
  field: string;
  /** Continues the name of the field. */
  said: Said;
}

/** A likely problem of a route whose settings are valid. */
export interface ProbeFinding {
  /** Stable and machine-readable. */
  code: 'AGENT_UNREACHABLE' | 'AGENT_ACCESS_DENIED' | 'AGENT_APP_UNKNOWN' | 'AGENT_MANIFEST';
  /** The field it is about, from `agentEndpoint` or `config`. */
  field: string;
  /** One sentence without secrets. */
  message: string;
  phrase?: Phrase;
}

/** What an agent says about itself, in the form that all protocols share. Texts are those of the agent. */
export interface AgentCardFacts {
  /** Where the card came from. */
  url: string;
  name?: string;
  description?: string;
  version?: string;
  /** Who runs it. */
  provider?: string;
  /** Protocols and bindings that it speaks: `JSONRPC 1.0`. */
  interfaces: string[];
  /** Such as `streaming`, or what an agent of the NPC Engine can do. */
  capabilities: string[];
  skills: Array<{ name: string; description?: string }>;
  /** What it wants as a proof, in words: `API key in the header X-API-Key`. Empty: it names none. */
  authentication: string[];
}

/** What an agent says about itself. */
export interface AgentAbout {
  version?: string;
  /** What it can do, as far as it says: agents, models, skills. */
  capabilities: string[];
}

/** What the clients of a kind need. */
export interface AgentDeps {
  /** Longest wait for one answer when the route names none, in milliseconds; of the clients that are made from now on. */
  defaultTimeoutMs(): number;
  log: Logger;
  clock: Clock;
  transport: AgentTransport;
  /** Matches patterns of people. Absent: this program matches none. */
  matcher?: TextMatcher;
  /** Where commands of people are recorded before they run. Absent: this program records nothing. */
  audit?: Pick<AuditLog, 'append'>;
  /** Notifications of agents. Absent: this program gets none. */
  taskPushes?: TaskPushes;
  /** Agents that wa2ai itself runs. Absent: this program runs none. */
  hosting?: Pick<AgentHost, 'use' | 'stop'>;
  /** Makes clients of the kind with this name; undefined when there is none. */
  clientOf?(kind: string): ClientMaker | undefined;
}

/**
 * Makes a client from settings of a kind, for a route. All clients of the kind share the state of that function.
 * `transport` sends the requests of this client; default: that of `AgentDeps`.
 */
export type ClientMaker<Settings = unknown> = (
  settings: Settings,
  route: Pick<Route, 'id' | 'accountId'>,
  transport?: AgentTransport,
) => AgentClient;

/**
 * Everything wa2ai knows about one protocol to agents. The schema of routes in the API, their stored form, the masking of
 * secrets, the key of the circuit breaker, the probe and the documentation follow from it, so a new kind is one folder and
 * one line in `agent-kinds.ts`.
 */
export interface AgentKind<Settings = unknown> {
  /** The name under which a route's `config` contains the settings: `adk`. */
  readonly name: string;
  /** One sentence for the description of the API and the documentation. */
  readonly description: string;
  /**
   * The settings as the API accepts them: strict, each field with a `describe` text. A field that contains a secret has the
   * meta `{ format: 'password' }`, one that contains an address `{ format: 'uri' }` (setting-fields.ts).
   */
  readonly settings: z.ZodType<Settings>;
  /** Finds mistakes that the schema cannot detect. Uses no network. Absent: there are none. */
  check?(settings: Settings): Promise<SettingsProblem[]>;
  /**
   * Whether a route with these settings has no `agentEndpoint`, because wa2ai runs the agent itself. Gets settings that may
   * not be valid. Absent: every route needs one.
   */
  hasNoEndpoint?(settings: unknown): boolean;
  /** A route of this kind is for one chat: it is refused for the channelId `*`. */
  readonly isForOneChat?: boolean;
  /**
   * What a caller needs besides `routes:write` to write a route with these settings, because it makes wa2ai run programs: `admin`
   * when they run outside of a container. Absent: nothing.
   */
  scopeOf?(settings: Settings): Scope;
  /**
   * The URL that requests of a route go to. Routes with the same one share a circuit breaker, unless their clients name the
   * agent of each message (`agentIdFor`).
   */
  endpointOf(agentEndpoint: string, settings: Settings): string;
  /**
   * Checks whether the agent responds, without running it. Ends when the signal aborts; never throws for an agent's failure.
   * Absent: a route of this kind cannot be probed.
   */
  probe?(
    agentEndpoint: string,
    settings: Settings,
    deps: Pick<AgentDeps, 'clock' | 'transport'> & { signal: AbortSignal },
  ): Promise<ProbeFinding[]>;
  /**
   * Reads the agent's card. Absent: agents of this kind have none.
   * @returns undefined: it sends no card
   * @throws {Wa2aiError} the agent does not answer
   */
  card?(
    agentEndpoint: string,
    settings: Settings,
    deps: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
  ): Promise<AgentCardFacts | undefined>;
  /**
   * Asks an agent without a card what it says about itself, without running it; undefined when it says nothing. As `probe`
   * otherwise. Absent: agents of this kind have a card, or say nothing.
   */
  about?(
    agentEndpoint: string,
    settings: Settings,
    deps: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
  ): Promise<AgentAbout | undefined>;
  /** Tools for the command line. Absent: the kind has none. */
  readonly tools?: AgentTools;
  /** Returns the function that creates a client. */
  client(deps: AgentDeps): ClientMaker<Settings>;
}

/** Type-checks a descriptor against its own settings, and returns it as the type that lists contain. */
export function agentKind<Settings>(kind: AgentKind<Settings>): AgentKind {
  return kind as AgentKind;
}

/**
 * The finding of a harmless request to an agent: no answer, or access denied; undefined when the agent answered.
 * @param agent its kind and where it is, or as a sentence names it
 * @param found `status` absent: there was no answer, for the reason `problem`
 * @param fields the fields of the route with the address and with the headers
 */
export function reachFinding(
  agent: { kind: 'adk' | 'a2a' | 'abi' | 'npc' | 'shell' | 'webhook'; address: string } | Said,
  { status, problem = { sentence: '' } }: { status?: number; problem?: Said | undefined },
  fields: { address: string; headers: string },
): ProbeFinding | undefined {
  const named =
    'kind' in agent
      ? say('probe.agent-at', { agent: say(`agent-name.${agent.kind}`), address: agent.address })
      : agent;
  if (status === undefined) {
    const said = say('probe.unreachable', { agent: named, why: problem });
    return findingOf('AGENT_UNREACHABLE', fields.address, said);
  }
  if (status !== 401 && status !== 403) return undefined;
  return findingOf(
    'AGENT_ACCESS_DENIED',
    fields.headers,
    say('probe.access-denied', { agent: named, status }),
  );
}

/** A finding with its sentence. */
export function findingOf(
  code: ProbeFinding['code'],
  field: string,
  { sentence: message, phrase }: Said,
): ProbeFinding {
  return { code, field, message, ...(phrase && { phrase }) };
}

/** A sentence about a server without what must not be shown. */
export function withoutSecrets(said: Said, secrets: readonly string[]): Said {
  return changed(said, (text) =>
    secrets.reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text),
  );
}

export type KindWithTools = AgentKind & { tools: AgentTools };

/** No kind recognizes an agent: nothing answers, or something whose protocol none of them is. */
export type NoAgent = 'no-answer' | 'unknown-protocol';

interface InspectAgentDeps {
  kinds: readonly AgentKind[];
  transport: AgentTransport;
  clock: Clock;
}

/** Longest wait for one answer of the agent. */
const TIMEOUT_MS = 5_000;

/**
 * Finds out what kind of agent answers at an address, and what it says about itself. Sends only harmless requests. Where
 * several kinds recognize the agent, the first one of the list is used.
 */
export async function inspectAgent(
  { kinds, transport, clock }: InspectAgentDeps,
  url: string,
): Promise<Inspection | NoAgent> {
  const withTools = kinds.filter((kind): kind is KindWithTools => kind.tools !== undefined);
  const input = { url, options: {}, timeoutMs: TIMEOUT_MS, transport, clock };
  const kind = await detectKind(withTools, input);
  if (typeof kind === 'string') return kind;
  try {
    return (await kind.tools.inspect.run(input)).report as Inspection;
  } catch (error) {
    if (!(error instanceof ToolkitError) && !(error instanceof ToolUsageError)) throw error;
    // The kind is known, and a person must say the rest.
    return { kind: kind.name, url, isReachable: true, answer: error.message, latencyMs: 0, capabilities: [] };
  }
}

/** The first kind that recognizes the agent at an address. Sends only harmless requests. */
export async function detectKind(
  kinds: readonly KindWithTools[],
  input: ToolInput,
): Promise<KindWithTools | NoAgent> {
  // Together: an address that does not answer takes one time limit, not one for each kind.
  const detected = await Promise.all(kinds.map(({ tools }) => tools.detect(input)));
  const kind = kinds.find((_, index) => detected[index]);
  if (kind) return kind;
  const { url, transport, timeoutMs } = input;
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = await transport.fetch(url, {
    method: 'HEAD',
    headers: new Headers(),
    signal,
    maxBytes: 65_536,
  });
  return answer.kind === 'answer' ? 'unknown-protocol' : 'no-answer';
}
