import { z } from 'zod';
import type { AgentAbout, ProbeFinding } from '../agent-kind.ts';
import { reachFinding } from '../reach-finding.ts';
import type { AgentTransport } from '../transport/agent-transport.ts';
import { adkServer, exchange } from './adk-http.ts';
import { listApps } from './adk-session.ts';
import type { AdkSettings } from './adk-settings.ts';

const MAX_NAMES_CHARS = 300;
const MAX_VERSION_BYTES = 16 * 1024;

/** The answer of an ADK server to `GET /list-apps`. `apps` is empty when the server does not list them. */
export interface AdkProbe {
  server: string;
  /** Absent: there was no answer. */
  status?: number;
  apps: string[];
  /** Why there was no answer. */
  problem?: string;
}

/**
 * Asks an ADK server for its agents.
 * @throws {AgentProtocolError} the address or a header cannot be used
 */
export async function probeAdkServer(
  baseUrl: string,
  { headers }: Pick<AdkSettings, 'headers'>,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<AdkProbe> {
  const server = adkServer(baseUrl, headers, transport);
  const { listed, apps } = await listApps(server, signal);
  if (listed.kind === 'answer') return { server: server.name, status: listed.status, apps };
  const detail = listed.fault === 'aborted' ? 'no answer in time' : listed.detail;
  const problem = server.secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), detail);
  return { server: server.name, apps: [], problem };
}

/** What the server says at `GET /version`; undefined when it says nothing. */
export async function adkVersion(
  baseUrl: string,
  { headers }: Pick<AdkSettings, 'headers'>,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<string | undefined> {
  const server = adkServer(baseUrl, headers, transport);
  const answer = await exchange(server, server.url('version'), {
    method: 'GET',
    signal,
    maxBytes: MAX_VERSION_BYTES,
  });
  if (answer.kind !== 'answer' || answer.status !== 200) return undefined;
  try {
    return z.looseObject({ version: z.string().max(100) }).safeParse(JSON.parse(answer.body)).data?.version;
  } catch {
    return undefined;
  }
}

/** Likely problems of a route to this server. */
export async function adkFindings(
  agentEndpoint: string,
  settings: AdkSettings,
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const { appName, baseUrl } = settings;
  const probe = await probeAdkServer(baseUrl ?? agentEndpoint, settings, deps);
  const address = baseUrl === undefined ? 'agentEndpoint' : 'config.adk.baseUrl';
  const fields = { address, headers: 'config.adk.headers' };
  const unreached = reachFinding(`ADK server at ${probe.server}`, probe, fields);
  if (unreached) return [unreached];
  if (probe.apps.length === 0 || probe.apps.includes(appName)) return [];
  const names = probe.apps.join(', ').slice(0, MAX_NAMES_CHARS);
  const message = `The ADK server at ${probe.server} has no agent "${appName}". Its agents: ${names}.`;
  return [{ code: 'AGENT_APP_UNKNOWN', field: 'config.adk.appName', message }];
}

/** The agents of the server and its version; undefined when it does not answer. */
export async function aboutAdk(
  agentEndpoint: string,
  settings: AdkSettings,
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<AgentAbout | undefined> {
  const address = settings.baseUrl ?? agentEndpoint;
  const [{ status, apps }, version] = await Promise.all([
    probeAdkServer(address, settings, deps),
    adkVersion(address, settings, deps),
  ]);
  if (status === undefined) return undefined;
  return { ...(version !== undefined && { version }), capabilities: apps.map((name) => `agent ${name}`) };
}
