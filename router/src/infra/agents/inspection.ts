/** What `wa2ai agent inspect` says about an agent of any kind. */
export interface Inspection {
  /** Name of the agent kind. */
  kind: string;
  url: string;
  isReachable: boolean;
  /** How the agent answered, or why not. */
  answer: string;
  /** Of one harmless request. */
  latencyMs: number;
  /** As the agent states it. */
  version?: string;
  /** What it can do, as far as it says: agents, models, functions, skills. */
  capabilities: string[];
  /** A body for `POST /api/routes`. Absent: something is not known that a route needs. */
  route?: Record<string, unknown>;
}

/** An inspection for a terminal. */
export function inspectionText(
  { kind, url, answer, latencyMs, version, capabilities, route }: Inspection,
  details: readonly string[] = [],
): string {
  return [
    url,
    `kind          ${kind}`,
    `answer        ${answer}, ${latencyMs} ms`,
    ...(version === undefined ? [] : [`version       ${version}`]),
    `capabilities  ${capabilities.join(', ') || '(none listed)'}`,
    ...details,
    ...(route ? ['', 'Body for POST /api/routes:', JSON.stringify(route, null, 2)] : []),
  ].join('\n');
}
