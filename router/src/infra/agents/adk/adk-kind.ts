import { z } from 'zod';
import { AgentUncertainError } from '../../../core/errors.ts';
import { type Said, say } from '../../../core/phrases.ts';
import { HttpAgentClient } from '../../http-agent-client.ts';
import {
  type AgentAbout,
  agentKind,
  findingOf,
  type ProbeFinding,
  reachFinding,
  withoutSecrets,
} from '../agent-kind.ts';
import {
  type AgentTools,
  agentTools,
  messageTool,
  newTestPerson,
  onlyName,
  type ToolInput,
  type ToolOption,
  type Verdict,
} from '../agent-tools.ts';
import type { AgentTransport } from '../transport/agent-transport.ts';
import { type AdkSettings, AdkState, adkServer, adkSettings, exchange, listApps } from './adk-run.ts';

const app: ToolOption = {
  name: 'app',
  value: 'NAME',
  help: "the agent's name (appName); default: the only one that the server lists",
};

/** How many people write at the same time in a check. */
const CONCURRENT = 5;
/** Tools for people who write ADK agents. Each run uses new sessions, of people who do not exist. */
const adkTools: AgentTools = agentTools<AdkProbe>({
  kind: 'adk',
  find: probe,
  recognizes: ({ apps }) => apps.length > 0,
  inspect: {
    summary: 'shows whether the server answers and which agents it has',
    options: [],
    async of({ status, apps, problem }, { url, transport, timeoutMs }) {
      const isReachable = status !== undefined;
      const deps = { transport, signal: AbortSignal.timeout(timeoutMs) };
      const version = isReachable ? await adkVersion(url, {}, deps) : undefined;
      const [appName] = apps;
      return {
        isReachable,
        answer: isReachable ? `status ${status}` : (problem?.sentence ?? 'no answer'),
        ...(version !== undefined && { version }),
        capabilities: apps.map((name) => `agent ${name}`),
        apps,
        ...(appName !== undefined && { config: { adk: { appName } } }),
      };
    },
  },
  test: messageTool([app], async (input) => {
    const appName = await appOf(input);
    return { client: clientOf(input, appName), about: { appName } };
  }),
  check: {
    summary: 'checks what wa2ai needs from the server; really runs the agent',
    options: [app],
    async run(checks, found, input) {
      await checks.run('GET /list-apps names the agents', async () => {
        if (found.status === undefined) return ['fail', `${found.problem?.sentence} (no other check ran)`];
        if (found.apps.length === 0) return ['warn', `status ${found.status}, no names`];
        return ['pass', found.apps.join(', ')];
      });
      if (found.status === undefined) return;
      const client = clientOf(input, await appOf(input, found));
      const send = async (sent = newTestPerson().says('hello'), to = client): Promise<Verdict> => {
        const { response, files } = await to.sendMessage(input.url, sent);
        if (response === undefined && !files) return ['warn', 'the agent says nothing'];
        return ['pass', `${response?.length ?? 0} characters`];
      };
      const person = newTestPerson();
      const first = person.says('hello');
      if ((await checks.run('a new person gets an answer', () => send(first))) === 'fail') return;
      const second = person.says('hello again');
      await checks.run('the same person gets a second answer', () => send(second));
      await checks.run('the session shows an earlier run', async () => {
        let requests = 0;
        const beforeRequest = async () => {
          requests += 1;
        };
        try {
          const options = { isRepeat: true, uncertain: 'dead-letter' as const, beforeRequest };
          await client.sendMessage(input.url, second, options);
          if (requests === 0) return ['pass', 'a run that a crash interrupts is not repeated'];
          return ['warn', 'it does not show the message: a run that a crash interrupts is repeated'];
        } catch (error) {
          if (!(error instanceof AgentUncertainError)) throw error;
          return [
            'warn',
            'it cannot be read: config.failure.uncertain decides about a run that a crash interrupts',
          ];
        }
      });
      await checks.refused('an unknown agent is refused', () =>
        send(newTestPerson().says('hello'), clientOf(input, 'wa2ai-no-such-agent')),
      );
      await checks.concurrent(CONCURRENT, () => send());
      checks.runTimes();
    },
  },
});

/** @throws {ToolkitError | ToolUsageError} no answer, or not exactly one agent to choose */
async function appOf(input: ToolInput, known?: AdkProbe): Promise<string> {
  if (input.options.app !== undefined) return input.options.app;
  const { apps, problem } = known ?? (await probe(input));
  return onlyName(apps, problem?.sentence, '--app is missing: the name of the agent');
}

function probe({ url, transport, timeoutMs }: ToolInput): Promise<AdkProbe> {
  return probeAdkServer(url, {}, { transport, signal: AbortSignal.timeout(timeoutMs) });
}

function clientOf({ transport, timeoutMs, clock }: ToolInput, appName: string): HttpAgentClient {
  return new HttpAgentClient({ timeout: timeoutMs, adk: { appName }, transport, clock });
}

const MAX_NAMES_CHARS = 300;
const MAX_VERSION_BYTES = 16 * 1024;

/** The answer of an ADK server to `GET /list-apps`. `apps` is empty when the server does not list them. */
interface AdkProbe {
  server: string;
  /** Absent: there was no answer. */
  status?: number;
  apps: string[];
  /** Why there was no answer. */
  problem?: Said;
}

/**
 * Asks an ADK server for its agents.
 * @throws {AgentProtocolError} the address or a header cannot be used
 */
async function probeAdkServer(
  baseUrl: string,
  { headers }: Pick<AdkSettings, 'headers'>,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<AdkProbe> {
  const server = adkServer(baseUrl, headers, transport);
  const { listed, apps } = await listApps(server, signal);
  if (listed.kind === 'answer') return { server: server.name, status: listed.status, apps };
  return { server: server.name, apps: [], problem: withoutSecrets(listed.detail, server.secrets) };
}

/** What the server says at `GET /version`; undefined when it says nothing. */
async function adkVersion(
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
async function adkFindings(
  agentEndpoint: string,
  settings: AdkSettings,
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const { appName, baseUrl } = settings;
  const probe = await probeAdkServer(baseUrl ?? agentEndpoint, settings, deps);
  const address = baseUrl === undefined ? 'agentEndpoint' : 'config.adk.baseUrl';
  const fields = { address, headers: 'config.adk.headers' };
  const unreached = reachFinding({ kind: 'adk', address: probe.server }, probe, fields);
  if (unreached) return [unreached];
  if (probe.apps.length === 0 || probe.apps.includes(appName)) return [];
  const names = probe.apps.join(', ').slice(0, MAX_NAMES_CHARS);
  const said = say('probe.no-agent', { server: probe.server, name: appName, names });
  return [findingOf('AGENT_APP_UNKNOWN', 'config.adk.appName', said)];
}

/** The agents of the server and its version; undefined when it does not answer. */
async function aboutAdk(
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

/** Google's Agent Development Kit over HTTP: the protocol of the agent contract. */
export const adkKind = agentKind<AdkSettings>({
  name: 'adk',
  description: 'A Google ADK server.',
  settings: adkSettings,
  endpointOf: (agentEndpoint, { baseUrl }) => baseUrl ?? agentEndpoint,
  probe: adkFindings,
  about: aboutAdk,
  tools: adkTools,
  client: ({ defaultTimeoutMs, log, clock, transport }) => {
    const state = new AdkState();
    const shared = { log, clock, state, readsSessionFirst: true };
    return ({ timeoutMs, ...adk }, _route, own = transport) =>
      new HttpAgentClient({ timeout: timeoutMs ?? defaultTimeoutMs(), adk, ...shared, transport: own });
  },
});
