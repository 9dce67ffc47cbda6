import { withoutTrailing } from '../../../core/without-trailing.ts';
import type { ProbeFinding } from '../agent-kind.ts';
import { reachFinding } from '../reach-finding.ts';
import type { AgentTransport } from '../transport/agent-transport.ts';
import { bodyText } from '../transport/error-text.ts';

const MAX_BYTES = 64 * 1024;

/** How a runtime answered `GET /is_alive`. */
export interface ShellProbe {
  /** Absent: there was no answer. */
  status?: number;
  /** Why there was no answer. */
  problem?: string;
  /** The answer is one of a SWE-ReX runtime, alive or refusing the key. */
  isRuntime: boolean;
}

/** Asks a runtime whether it is alive; runs nothing. */
export async function probeShell(
  url: string,
  token: string | undefined,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<ShellProbe> {
  const fetched = await transport.fetch(`${withoutTrailing(url, '/')}/is_alive`, {
    ...{ method: 'GET', signal, maxBytes: MAX_BYTES },
    headers: new Headers(token === undefined ? {} : { 'x-api-key': token }),
  });
  if (fetched.kind === 'fault') {
    return { isRuntime: false, problem: fetched.fault === 'aborted' ? 'no answer in time' : fetched.detail };
  }
  const body = bodyText(fetched);
  const isRefusal = /"detail":\s*"(Not authenticated|Invalid API Key)"/.test(body);
  return { status: fetched.status, isRuntime: isRefusal || /"is_alive":\s*(true|false)/.test(body) };
}

/** Likely problems of a route to this runtime. */
export async function shellFindings(
  agentEndpoint: string,
  { token, image }: { token?: string; image?: string },
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<ProbeFinding[]> {
  // its container starts with the first message
  if (image !== undefined) return [];
  const probe = await probeShell(agentEndpoint, token, deps);
  const fields = { address: 'agentEndpoint', headers: 'config.shell.token' };
  const finding = reachFinding(`shell runtime at ${new URL(agentEndpoint).origin}`, probe, fields);
  return finding ? [finding] : [];
}
