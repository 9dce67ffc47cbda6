import { z } from 'zod';
import { type Said, say } from '../../../core/phrases.ts';
import type { PastTurn } from '../../../core/ports/message-log.ts';
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
import { bodyJson } from '../transport/error-text.ts';
import { OpenAiAgentClient } from './openai-agent-client.ts';
import { reportedErrorIn } from './openai-answer.ts';
import { type OpenAiSettings, openAiServer, openAiSettings } from './openai-settings.ts';

const model: ToolOption = {
  name: 'model',
  value: 'NAME',
  help: 'name of the model; default: the only one that the server lists',
};
const key: ToolOption = {
  name: 'key',
  value: 'KEY',
  help: 'API key; default: the variable OPENAI_API_KEY',
};

/** How many people write at the same time in a check. */
const CONCURRENT = 3;
/** Answers of checks are short, because each costs tokens. */
const MAX_TOKENS = 400;

/** Tools for people who connect a model. */
const openAiTools: AgentTools = agentTools<OpenAiProbe>({
  kind: 'openai',
  find: probe,
  recognizes: ({ isProtocol }) => isProtocol,
  inspect: {
    summary: 'shows whether the server answers and which models it has',
    options: [key, model],
    of({ status, models, isProtocol, problem }, input) {
      const name = input.options.model ?? models[0];
      const openai = { model: name, ...(keyOf(input) !== undefined && { apiKey: '<the API key>' }) };
      return {
        isReachable: status !== undefined,
        answer: status === undefined ? (problem?.sentence ?? 'no answer') : `status ${status}`,
        capabilities: [
          ...(isProtocol ? ['text', 'conversation'] : []),
          ...models.map((known) => `model ${known}`),
        ],
        models,
        ...(name !== undefined && { config: { openai } }),
      };
    },
  },
  test: messageTool([model, key], async (input) => {
    const name = await modelOf(input);
    return { client: clientOf(input, { model: name }), about: { model: name } };
  }),
  check: {
    summary: 'checks what wa2ai needs from the server; really asks the model',
    options: [model, key],
    async run(checks, found, input) {
      await checks.run('GET /v1/models lists the models', async () => {
        if (found.status === undefined) return ['fail', `${found.problem?.sentence} (no other check ran)`];
        if (found.status === 401 || found.status === 403)
          return ['fail', `status ${found.status}: give --key`];
        if (found.models.length === 0) return ['warn', `status ${found.status}, no names`];
        return ['pass', found.models.join(', ').slice(0, 200)];
      });
      if (found.status === undefined) return;
      const name = await modelOf(input, found);
      const send = async (text: string, past: PastTurn[] = [], asked = name): Promise<Verdict> => {
        const client = clientOf(input, { model: asked, maxTokens: MAX_TOKENS });
        const { response } = await client.sendMessage(input.url, newTestPerson().says(text), {
          loadHistory: async () => past,
        });
        if (response === undefined) return ['warn', 'the model says nothing'];
        return ['pass', `${response.length} characters`];
      };
      if ((await checks.run('a new person gets an answer', () => send('hello'))) === 'fail') return;
      await checks.run('an answer with the conversation before it', () => {
        const replies = [{ text: 'Hello Ana.' }];
        const past: PastTurn = { sender: '999', kind: 'text', text: 'My name is Ana.', replies };
        return send('What is my name?', [past]);
      });
      await checks.refused('an unknown model is refused', () => send('hello', [], 'wa2ai-no-such-model'));
      await checks.concurrent(CONCURRENT, () => send('hello'));
      checks.runTimes();
    },
  },
});

/** @throws {ToolkitError | ToolUsageError} no answer, or not exactly one model to choose */
async function modelOf(input: ToolInput, known?: OpenAiProbe): Promise<string> {
  if (input.options.model !== undefined) return input.options.model;
  const { models, problem } = known ?? (await probe(input));
  return onlyName(models, problem?.sentence, '--model is missing: the name of the model');
}

function keyOf({ options }: ToolInput): string | undefined {
  return options.key ?? (process.env.OPENAI_API_KEY?.trim() || undefined);
}

function probe(input: ToolInput): Promise<OpenAiProbe> {
  const { url, transport, timeoutMs } = input;
  return probeOpenAiServer(
    url,
    { apiKey: keyOf(input) },
    { transport, signal: AbortSignal.timeout(timeoutMs) },
  );
}

function clientOf(input: ToolInput, settings: OpenAiSettings): OpenAiAgentClient {
  const { transport, timeoutMs, clock } = input;
  return new OpenAiAgentClient({
    openai: { ...settings, apiKey: keyOf(input) },
    timeoutMs,
    transport,
    clock,
  });
}

const MAX_BYTES = 4 * 1024 * 1024;
const MAX_NAMES_CHARS = 300;

const modelsSchema = z.union([
  z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) }).transform(({ data }) => data),
  z.array(z.looseObject({ id: z.string() })),
]);

/** The answer of a server to `GET /v1/models`. */
interface OpenAiProbe {
  server: string;
  /** Absent: there was no answer. */
  status?: number;
  /** Names of its models; empty when it does not list them. */
  models: string[];
  /** The answer has the form of this protocol, also when it is an error. */
  isProtocol: boolean;
  /** Why there was no answer. */
  problem?: Said;
}

/**
 * Asks a server for its models.
 * @throws {AgentProtocolError} the address or a header cannot be used
 */
async function probeOpenAiServer(
  address: string,
  settings: Pick<OpenAiSettings, 'api' | 'apiKey' | 'headers'>,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<OpenAiProbe> {
  const { name, modelsUrl, headers, secrets } = openAiServer(address, settings);
  const fetched = await transport.fetch(modelsUrl, { method: 'GET', headers, signal, maxBytes: MAX_BYTES });
  if (fetched.kind === 'fault') {
    const problem = withoutSecrets(fetched.detail, secrets);
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
async function openAiFindings(
  agentEndpoint: string,
  settings: OpenAiSettings,
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const { baseUrl, model } = settings;
  const probe = await probeOpenAiServer(baseUrl ?? agentEndpoint, settings, deps);
  const address = baseUrl === undefined ? 'agentEndpoint' : 'config.openai.baseUrl';
  const unreached = reachFinding(say('agent-name.model-server', { server: probe.server }), probe, {
    address,
    headers: 'config.openai.apiKey',
  });
  if (unreached) return [unreached];
  if (probe.models.length === 0 || probe.models.includes(model)) return [];
  const names = probe.models.join(', ').slice(0, MAX_NAMES_CHARS);
  const said = say('probe.no-model', { server: probe.server, name: model, names });
  return [findingOf('AGENT_APP_UNKNOWN', 'config.openai.model', said)];
}

/** The models of the server; undefined when it lists none. */
async function aboutOpenAi(
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

/** Models behind an OpenAI-compatible API: OpenAI, Azure, OpenRouter, Ollama, vLLM, LM Studio and others. */
export const openAiKind = agentKind<OpenAiSettings>({
  name: 'openai',
  description: 'A model behind an OpenAI-compatible API.',
  settings: openAiSettings,
  endpointOf: (agentEndpoint, { baseUrl }) => baseUrl ?? agentEndpoint,
  probe: openAiFindings,
  about: aboutOpenAi,
  tools: openAiTools,
  client:
    ({ defaultTimeoutMs, ...deps }) =>
    (openai) =>
      new OpenAiAgentClient({ openai, timeoutMs: defaultTimeoutMs(), ...deps }),
});
