import { Agent, fetch as fetchOver } from 'undici';
import type { ServiceConnection } from '../../features/mcp/http-bridge.ts';
import type { Target } from './target.ts';

/** One for each Unix socket. */
const agents = new Map<string, Agent>();

/** The service as something that speaks `fetch`, over its Unix socket or its URL. */
export function connectionTo({ url, socketPath, key, name }: Target): ServiceConnection {
  const base = { url, key, name };
  if (socketPath === undefined) return { ...base, fetch };
  const agent = agents.get(socketPath) ?? new Agent({ connect: { socketPath }, bodyTimeout: 0 });
  agents.set(socketPath, agent);
  return {
    ...base,
    fetch: ((input: string, init: object) =>
      fetchOver(input, { ...init, dispatcher: agent })) as typeof fetch,
  };
}
