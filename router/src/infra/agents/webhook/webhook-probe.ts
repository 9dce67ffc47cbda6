import type { ProbeFinding } from '../agent-kind.ts';
import { reachFinding } from '../reach-finding.ts';
import type { AgentTransport } from '../transport/agent-transport.ts';

const MAX_BYTES = 64 * 1024;

/** The answer of a webhook to `HEAD`, which starts nothing. */
export interface WebhookProbe {
  /** Absent: there was no answer. */
  status?: number;
  /** Why there was no answer. */
  problem?: string;
}

/** Checks whether a server answers at the address of a webhook. */
export async function probeWebhook(
  url: string,
  headers: Record<string, string>,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<WebhookProbe> {
  const fetched = await transport.fetch(url, {
    method: 'HEAD',
    headers: new Headers(headers),
    signal,
    maxBytes: MAX_BYTES,
  });
  if (fetched.kind === 'answer') return { status: fetched.status };
  return { problem: fetched.fault === 'aborted' ? 'no answer in time' : fetched.detail };
}

/** Likely problems of a route to this webhook. */
export async function webhookFindings(
  agentEndpoint: string,
  { headers = {} }: { headers?: Record<string, string> },
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const probe = await probeWebhook(agentEndpoint, headers, deps);
  const fields = { address: 'agentEndpoint', headers: 'config.webhook.headers' };
  const finding = reachFinding(`webhook at ${new URL(agentEndpoint).origin}`, probe, fields);
  return finding ? [finding] : [];
}
