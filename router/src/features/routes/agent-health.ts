import type { Clock } from '../../core/clock.ts';
import type { Route } from '../../core/models.ts';
import type { AgentKind, ProbeFinding } from '../../infra/agents/agent-kind.ts';
import { kindNamed } from '../../infra/agents/route-config.ts';
import type { RouteProbe } from '../../infra/agents/route-probe.ts';

/** An agent is asked again after this time. */
const LIFETIME_MS = 60_000;
/** Agents that one call asks, concurrently; the others keep their last state until the next call. */
const MAX_ASKED = 30;
/** Agents whose state is remembered. */
const MAX_KNOWN = 1_000;

/** Whether the agent of a route answers. `unknown`: it was not asked. */
export type AgentState = { state: 'answers' | 'unknown' } | { state: 'problem'; finding: ProbeFinding };

type Known = { askedAtMs: number; state: AgentState };

/**
 * The agents of routes as their last probe found them, at most a minute old when few are used. Routes with the same agent share
 * its probe. In the memory of this node.
 */
export class AgentHealth {
  readonly #probe: Pick<RouteProbe, 'findings'>;
  readonly #kinds: readonly AgentKind[];
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #known = new Map<string, Known>();
  /** Probes that run: calls at the same time share them. */
  readonly #asking = new Map<string, Promise<void>>();

  constructor(
    probe: Pick<RouteProbe, 'findings'>,
    kinds: readonly AgentKind[],
    clock: Pick<Clock, 'monotonicMs'>,
  ) {
    this.#probe = probe;
    this.#kinds = kinds;
    this.#clock = clock;
  }

  /** The states of the agents of these routes, by route id. Takes as long as one probe, or no time. */
  async of(routes: readonly Route[]): Promise<Map<string, AgentState>> {
    const byAgent = new Map(
      routes.filter((route) => this.#isAsked(route)).map((each) => [keyOf(each), each]),
    );
    const nowMs = this.#clock.monotonicMs();
    const askedAtMs = (key: string) => this.#known.get(key)?.askedAtMs ?? -Infinity;
    const due = [...byAgent.keys()]
      .filter((key) => nowMs - askedAtMs(key) >= LIFETIME_MS)
      .sort((one, other) => askedAtMs(one) - askedAtMs(other))
      .slice(0, MAX_ASKED);
    await Promise.all(due.map((key) => this.#askOnce(key, byAgent.get(key) as Route, nowMs)));
    return new Map(
      routes.map((route) => [
        route.id,
        (this.#isAsked(route) && this.#known.get(keyOf(route))?.state) || { state: 'unknown' },
      ]),
    );
  }

  /** Routes that are switched off may have an agent that no longer exists. */
  #isAsked({ enabled, config }: Route): boolean {
    return enabled && kindNamed(this.#kinds, config.agent?.kind)?.probe !== undefined;
  }

  #askOnce(key: string, route: Route, nowMs: number): Promise<void> {
    const asking =
      this.#asking.get(key) ?? this.#ask(key, route, nowMs).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  async #ask(key: string, route: Route, askedAtMs: number): Promise<void> {
    const [finding] = await this.#probe.findings(route);
    this.#known.delete(key);
    this.#known.set(key, {
      askedAtMs,
      state: finding ? { state: 'problem', finding } : { state: 'answers' },
    });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }
}

function keyOf({ agentEndpoint, config }: Route): string {
  return JSON.stringify([agentEndpoint, config.agent]);
}
