import type { ProbeFinding } from './agent-kind.ts';

/**
 * The finding of a harmless request to an agent: no answer, or access denied; undefined when the agent answered.
 * @param agent as a sentence names it: `ADK server at http://localhost:8000`
 * @param found `status` absent: there was no answer, for the reason `problem`
 * @param fields the fields of the route with the address and with the headers
 */
export function reachFinding(
  agent: string,
  { status, problem }: { status?: number; problem?: string },
  fields: { address: string; headers: string },
): ProbeFinding | undefined {
  if (status === undefined) {
    const message = `The ${agent} cannot be reached: ${problem}. Start it, or correct the address.`;
    return { code: 'AGENT_UNREACHABLE', field: fields.address, message };
  }
  if (status !== 401 && status !== 403) return undefined;
  const message = `The ${agent} answered status ${status}. Check the headers of the route.`;
  return { code: 'AGENT_ACCESS_DENIED', field: fields.headers, message };
}
