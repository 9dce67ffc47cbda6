import type { ProbeFinding } from '../agent-kind.ts';
import type { AgentTransport } from '../transport/agent-transport.ts';
import { adkServer, exchange } from './adk-http.ts';
import type { AdkSettings } from './adk-settings.ts';
import { parseAppNames } from './adk-wire.ts';

const MAX_BYTES = 256 * 1024;
const MAX_NAMES_CHARS = 300;

/** What `GET /list-apps` of an ADK server says. `apps` is empty when the server does not tell. */
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
  const listed = await exchange(server, server.url('list-apps'), {
    method: 'GET',
    signal,
    maxBytes: MAX_BYTES,
  });
  if (listed.kind === 'answer') {
    const { status, body } = listed;
    return { server: server.name, status, apps: status === 200 ? parseAppNames(body) : [] };
  }
  const detail = listed.stage === 'aborted' ? 'no answer in time' : listed.detail;
  const problem = server.secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), detail);
  return { server: server.name, apps: [], problem };
}

/** What is likely to go wrong with a route to this server. */
export async function adkFindings(
  agentEndpoint: string,
  settings: AdkSettings,
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const { appName, baseUrl } = settings;
  const probe = await probeAdkServer(baseUrl ?? agentEndpoint, settings, deps);
  const field = baseUrl === undefined ? 'agentEndpoint' : 'config.adk.baseUrl';
  if (probe.status === undefined) {
    const message = `The ADK server at ${probe.server} cannot be reached: ${probe.problem}. Start it, or correct the address.`;
    return [{ code: 'AGENT_UNREACHABLE', field, message }];
  }
  if (probe.status === 401 || probe.status === 403) {
    const message = `The ADK server at ${probe.server} answered status ${probe.status}. Check the headers of the route.`;
    return [{ code: 'AGENT_ACCESS_DENIED', field: 'config.adk.headers', message }];
  }
  if (probe.apps.length === 0 || probe.apps.includes(appName)) return [];
  const names = probe.apps.join(', ').slice(0, MAX_NAMES_CHARS);
  const message = `The ADK server at ${probe.server} has no agent "${appName}". Its agents: ${names}.`;
  return [{ code: 'AGENT_APP_UNKNOWN', field: 'config.adk.appName', message }];
}
