import { AgentProtocolError } from '../../../../core/errors.ts';
import type { IncomingMessage } from '../../../../core/models.ts';
import type { PastTurn } from '../../../../core/ports/chat-history.ts';
import {
  type AgentTools,
  checkText,
  type ToolInput,
  ToolkitError,
  type ToolOption,
  ToolUsageError,
} from '../../agent-tools.ts';
import { CheckRun, type Found } from '../../check-run.ts';
import { type Inspection, inspectionText } from '../../inspection.ts';
import { messageOption, newTestPerson, sendAsTestPerson } from '../../test-person.ts';
import { OpenAiAgentClient } from '../openai-agent-client.ts';
import { type OpenAiProbe, probeOpenAiServer } from '../openai-probe.ts';
import type { OpenAiSettings } from '../openai-settings.ts';

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
const SLOW_MS = 25_000;
/** Answers of checks are short, because each costs tokens. */
const MAX_TOKENS = 400;

/** Tools for people who connect a model. */
export const openAiTools: AgentTools = {
  async detect(input) {
    return (await probe(input)).isProtocol;
  },
  inspect: {
    summary: 'shows whether the server answers and which models it has',
    options: [key, model],
    async run(input) {
      const report = await inspectServer(input);
      return { report, text: inspectionText(report), isGood: report.isReachable };
    },
  },
  test: {
    summary: 'sends one message as a new person and shows the answer',
    options: [messageOption, model, key],
    async run(input) {
      let name = '';
      const { answer, ms } = await sendAsTestPerson(input, async () => {
        name = await modelOf(input);
        return clientOf(input, { model: name });
      });
      const { response, metadata } = answer;
      return {
        report: { model: name, ms, reply: response, ...metadata },
        text: `${name}, ${ms} ms\n${response ?? '(the model says nothing)'}`,
        isGood: true,
      };
    },
  },
  check: {
    summary: 'checks what wa2ai needs from the server; really asks the model',
    options: [model, key],
    async run(input) {
      const checks = await checkServer(input);
      const report = checks.report();
      return { report, text: checkText(report), isGood: report.isConforming };
    },
  },
};

async function inspectServer(input: ToolInput): Promise<Inspection> {
  const startedMs = input.clock.monotonicMs();
  const { status, models, isProtocol, problem } = await probe(input);
  const latencyMs = Math.round(input.clock.monotonicMs() - startedMs);
  const [first] = models;
  const name = input.options.model ?? first;
  const hasKey = keyOf(input) !== undefined;
  const openai = { model: name, ...(hasKey && { apiKey: '<the API key>' }) };
  return {
    kind: 'openai',
    url: input.url,
    isReachable: status !== undefined,
    answer: status === undefined ? (problem ?? 'no answer') : `status ${status}`,
    latencyMs,
    capabilities: [
      ...(isProtocol ? ['text', 'conversation'] : []),
      ...models.map((known) => `model ${known}`),
    ],
    ...(name !== undefined && {
      route: { channelId: '*', agentEndpoint: input.url, config: { openai } },
    }),
  };
}

async function checkServer(input: ToolInput): Promise<CheckRun> {
  const checks = new CheckRun(input.url, input.clock);
  const found = await probe(input);
  await checks.run('GET /v1/models lists the models', async () => {
    if (found.status === undefined) return ['fail', `${found.problem} (no other check ran)`];
    if (found.status === 401 || found.status === 403) return ['fail', `status ${found.status}: give --key`];
    if (found.models.length === 0) return ['warn', `status ${found.status}, no names`];
    return ['pass', found.models.join(', ').slice(0, 200)];
  });
  if (found.status === undefined) return checks;
  const name = await modelOf(input, found);
  const client = clientOf(input, { model: name, maxTokens: MAX_TOKENS });
  const send = async (sent: IncomingMessage, history: PastTurn[] = []): Promise<Found> => {
    const { response } = await client.sendMessage(input.url, sent, { loadHistory: async () => history });
    return response === undefined
      ? ['warn', 'the model says nothing']
      : ['pass', `${response.length} characters`];
  };
  const first = await checks.run('a new person gets an answer', () => send(newTestPerson().says('hello')));
  if (first === 'fail') return checks;
  await checks.run('an answer with the conversation before it', () => {
    const past: PastTurn = {
      sender: '999',
      kind: 'text',
      text: 'My name is Ana.',
      replies: [{ text: 'Hello Ana.' }],
    };
    return send(newTestPerson().says('What is my name?'), [past]);
  });
  await checks.run('an unknown model is refused', async () => {
    try {
      const unknown = clientOf(input, { model: 'wa2ai-no-such-model', maxTokens: MAX_TOKENS });
      await unknown.sendMessage(input.url, newTestPerson().says('hello'));
      return ['warn', 'it was answered'];
    } catch (error) {
      if (error instanceof AgentProtocolError) return ['pass', error.message];
      throw error;
    }
  });
  await checks.run(`${CONCURRENT} people get an answer at the same time`, async () => {
    await Promise.all(Array.from({ length: CONCURRENT }, () => send(newTestPerson().says('hello'))));
    return ['pass', 'all answered'];
  });
  checks.runTimes(SLOW_MS);
  return checks;
}

/** @throws {ToolkitError | ToolUsageError} no answer, or not exactly one model to choose */
async function modelOf(input: ToolInput, known?: OpenAiProbe): Promise<string> {
  if (input.options.model !== undefined) return input.options.model;
  const { models, problem } = known ?? (await probe(input));
  if (problem !== undefined) throw new ToolkitError(`The server did not answer: ${problem}.`);
  const [only, ...others] = models;
  if (only !== undefined && others.length === 0) return only;
  const names = models.length === 0 ? 'the server lists none' : `the server has ${models.join(', ')}`;
  throw new ToolUsageError(`--model is missing: the name of the model; ${names.slice(0, 500)}`);
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
