import { z } from 'zod';
import type { AgentAbout, ProbeFinding } from '../agent-kind.ts';
import { reachFinding } from '../reach-finding.ts';
import type { AgentTransport } from '../transport/agent-transport.ts';
import { bodyJson } from '../transport/error-text.ts';
import { reportedErrorIn } from './openai-answer.ts';
import { type OpenAiSettings, openAiServer } from './openai-settings.ts';

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_NAMES_CHARS = 300;

const modelsSchema = z.union([
  z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) }).transform(({ data }) => data),
  z.array(z.looseObject({ id: z.string() })),
]);

/** The answer of a server to `GET /v1/models`. */
export interface OpenAiProbe {
  server: string;
  /** Absent: there was no answer. */
  status?: number;
  /** Names of its models; empty when it does not list them. */
  models: string[];
  /** The answer has the form of this protocol, also when it is an error. */
  isProtocol: boolean;
  /** Why there was no answer. */
  problem?: string;
}

/**
 * Asks a server for its models.
 * @throws {AgentProtocolError} the address or a header cannot be used
 */
export async function probeOpenAiServer(
  address: string,
  settings: Pick<OpenAiSettings, 'api' | 'apiKey' | 'headers'>,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<OpenAiProbe> {
  const { name, modelsUrl, headers, secrets } = openAiServer(address, settings);
  const fetched = await transport.fetch(modelsUrl, { method: 'GET', headers, signal, maxBytes: MAX_BYTES });
  if (fetched.kind === 'fault') {
    const detail = fetched.fault === 'aborted' ? 'no answer in time' : fetched.detail;
    const problem = secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), detail);
    return { server: name, models: [], isProtocol: false, problem };
  }
  const json = bodyJson(fetched);
  const models = fetched.status === 200 ? modelsSchema.safeParse(json).data : undefined;
  return {
    server: name,
    status: fetched.status,
    models: models?.map(({ id }) => id) ?? [],
    isProtocol: models !== undefined || isProtocolError(fetched.status, json),
  };
}

/** Likely problems of a route to this server. */
export async function openAiFindings(
  agentEndpoint: string,
  settings: OpenAiSettings,
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const { baseUrl, model } = settings;
  const probe = await probeOpenAiServer(baseUrl ?? agentEndpoint, settings, deps);
  const address = baseUrl === undefined ? 'agentEndpoint' : 'config.openai.baseUrl';
  const unreached = reachFinding(`model server at ${probe.server}`, probe, {
    address,
    headers: 'config.openai.apiKey',
  });
  if (unreached) return [unreached];
  if (probe.models.length === 0 || probe.models.includes(model)) return [];
  const names = probe.models.join(', ').slice(0, MAX_NAMES_CHARS);
  const message = `The model server at ${probe.server} does not list the model "${model}". Its models: ${names}.`;
  return [{ code: 'AGENT_APP_UNKNOWN', field: 'config.openai.model', message }];
}

/** The models of the server; undefined when it lists none. */
export async function aboutOpenAi(
  agentEndpoint: string,
  settings: OpenAiSettings,
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<AgentAbout | undefined> {
  const { models } = await probeOpenAiServer(settings.baseUrl ?? agentEndpoint, settings, deps);
  return models.length === 0 ? undefined : { capabilities: models.map((name) => `model ${name}`) };
}

function isProtocolError(status: number, json: unknown): boolean {
  const isRefused = status === 401 || status === 403 || status === 429;
  const error = isRefused ? reportedErrorIn(json) : undefined;
  return error?.type !== undefined || error?.code !== undefined;
}
