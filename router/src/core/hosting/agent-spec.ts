/** Protocols of hosted agents: the port, the readiness check and the request that belong to each. */
export const AGENT_PROFILES = ['chat', 'adk', 'abi', 'agentcore', 'a2a'] as const;
/** `swerex` is a shell runtime: only routes to shells have it. */
export type AgentProfile = (typeof AGENT_PROFILES)[number] | 'swerex';

/** The port that a program of the profile listens on in its container, unless the settings name one. */
export const PROFILE_PORTS: Record<AgentProfile, number> = {
  chat: 8080,
  adk: 8000,
  abi: 80,
  agentcore: 8080,
  a2a: 8080,
  swerex: 8000,
};

/** How a hosted agent runs, with all defaults filled in. A change of it re-creates the container; the data stays. */
export interface AgentSpec {
  runtime: 'docker' | 'process';
  image?: string;
  command?: readonly string[];
  profile: AgentProfile;
  /** Port inside the container; of a process its own port, 0 for a free one. */
  port: number;
  env: Readonly<Record<string, string>>;
  memoryMb: number;
  cpus: number;
  pids: number;
  network: 'none' | 'internet';
  pull: 'never' | 'missing' | 'always';
}

/** Whether a text is the name of an image by Docker's grammar: `registry.example:5000/team/agent:1@sha256:…`. */
export function isImageName(text: string): boolean {
  const [name = '', digest, ...more] = text.split('@');
  if (more.length > 0 || (digest !== undefined && !/^[a-z0-9]+:[0-9a-f]{32,128}$/.test(digest))) return false;
  const parts = name.split('/');
  const [last = '', tag, ...others] = (parts.pop() ?? '').split(':');
  if (others.length > 0 || (tag !== undefined && !/^\w[\w.-]{0,127}$/.test(tag))) return false;
  const [host, ...rest] = parts;
  const isHost = host !== undefined && /^(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+(?::\d{1,5})?$/.test(host);
  const isPart = (part: string) => /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/.test(part);
  return (host === undefined || isHost || isPart(host)) && [...rest, last].every(isPart);
}

/** One hosted agent: its name, and what wa2ai knows of it before it runs. */
export interface HostedAgent {
  /** `[a-z0-9][a-z0-9._-]{0,62}`: the name of its data folder. */
  agentId: string;
  spec: AgentSpec;
  /** How long it runs without work, in milliseconds. */
  idleMs: number;
  /** Settings of the profile's own agent kind: `{appName: 'helper'}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Longest wait for an answer, in milliseconds. Absent: as the service says. */
  timeoutMs?: number;
  /** Absent: it was made by the API. */
  accountId?: string;
  routeId?: string;
}

/** Headers with which wa2ai proves itself to a hosted agent. */
export function tokenHeaders(token: string): Record<string, string> {
  return { 'x-api-key': token, authorization: `Bearer ${token}` };
}

/** What an id of an agent must look like. */
export const AGENT_ID = /^[a-z0-9][a-z0-9._-]{0,62}$/;
