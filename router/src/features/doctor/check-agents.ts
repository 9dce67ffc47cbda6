import { coveringRoute, type Rule } from '../../core/routing/covering-route.ts';
import type { ProbeFinding } from '../../infra/agents/agent-kind.ts';
import type { ProbeResult } from '../../infra/agents/route-probe.ts';
import type { Finding } from './check-network.ts';

/** Probes at a time. Each takes two seconds at most. */
const AT_ONCE = 8;

/** A route as the API shows it. */
export interface RouteToCheck {
  id: string;
  name?: string | null | undefined;
  agentEndpoint: string;
  enabled: boolean;
}

/** A hosted agent as the API shows it. */
export interface AgentToCheck {
  id: string;
  problem?: string | undefined;
}

const FIXES: Record<ProbeFinding['code'], (route: RouteToCheck) => string> = {
  AGENT_UNREACHABLE: ({ agentEndpoint }) =>
    `Start the agent, or correct the address of the route. Then try: wa2ai agent check ${originOf(agentEndpoint)}`,
  AGENT_ACCESS_DENIED: ({ id }) =>
    `Correct the headers or the key of the agent: wa2ai routes edit ${id} FILE`,
  AGENT_APP_UNKNOWN: ({ id }) => `Correct the name of the agent in the route: wa2ai routes edit ${id} FILE`,
  AGENT_MANIFEST: ({ agentEndpoint }) => `Compare with: wa2ai agent inspect ${originOf(agentEndpoint)}`,
};

/**
 * Probes the agent of each enabled route by the protocol of its kind, without running it. One finding for each mistake, and one for
 * all agents that answer.
 * @param test the probe of a route, by the service: it has the route's secrets, and its network counts
 */
export async function checkAgents(
  routes: readonly RouteToCheck[],
  test: (id: string) => Promise<ProbeResult>,
): Promise<Finding[]> {
  const check = 'agents';
  const enabled = routes.filter((route) => route.enabled);
  if (routes.length === 0) {
    const fix = 'Add a route: wa2ai routes add FILE, or the page Routes.';
    return [{ check, level: 'warning', message: 'There is no route: no message is answered.', fix }];
  }
  const results: Array<{ route: RouteToCheck; result: ProbeResult }> = [];
  for (let start = 0; start < enabled.length; start += AT_ONCE) {
    const some = enabled.slice(start, start + AT_ONCE);
    results.push(
      ...(await Promise.all(some.map(async (route) => ({ route, result: await test(route.id) })))),
    );
  }
  const findings = results.flatMap(({ route, result }) =>
    result.findings.map((found) => agentFinding(route, result.kind, found)),
  );
  const answering = results.filter(({ result }) => result.isProbed && result.findings.length === 0);
  if (answering.length > 0) {
    const kinds = [...new Set(answering.map(({ result }) => result.kind))].sort().join(', ');
    const count = `${answering.length} ${answering.length === 1 ? 'route' : 'routes'}`;
    findings.unshift({ check, level: 'ok', message: `The agents of ${count} answer (${kinds}).` });
  }
  return distinct(findings);
}

/**
 * Routes that get no message, because another one before them takes each of theirs.
 * @param routes in the order in which they are checked
 */
export function coveredFindings(routes: ReadonlyArray<RouteToCheck & Rule>): Finding[] {
  return routes.flatMap((route): Finding[] => {
    const covering = coveringRoute(route, routes);
    if (!covering) return [];
    const message = `Route ${route.name ?? route.id} gets no message: ${covering.name ?? covering.id} before it takes each of them.`;
    const fix = `Remove it, or change what it asks of messages: wa2ai routes remove ${route.id}`;
    return [{ check: 'routes', level: 'warning', message, fix }];
  });
}

/** Agents that wa2ai runs and that have a problem. */
export function hostedFindings(agents: readonly AgentToCheck[]): Finding[] {
  return agents.flatMap(({ id, problem }) =>
    problem === undefined
      ? []
      : [
          {
            check: 'agents',
            level: 'error' as const,
            message: `The hosted agent ${id} does not run: ${problem}`,
            fix: `Look at: wa2ai agents logs ${id}. Then: wa2ai agents start ${id}`,
          },
        ],
  );
}

function agentFinding(
  route: RouteToCheck,
  kind: string | undefined,
  { code, message }: ProbeFinding,
): Finding {
  return {
    check: 'agents',
    // A manifest that differs may still work; the others get no message answered.
    level: code === 'AGENT_MANIFEST' ? 'warning' : 'error',
    message: `Route ${route.name ?? route.id}${kind ? ` (${kind})` : ''}: ${message}`,
    fix: FIXES[code](route),
  };
}

/** Several routes may have the same agent. */
function distinct(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((finding) => [finding.message, finding])).values()];
}

/** A path or query may contain a secret. */
function originOf(agentEndpoint: string): string {
  return URL.canParse(agentEndpoint) ? new URL(agentEndpoint).origin : 'URL';
}
