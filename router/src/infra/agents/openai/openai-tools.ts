import type { PastTurn } from '../../../core/ports/chat-history.ts';
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
import { OpenAiAgentClient } from './openai-agent-client.ts';
import { type OpenAiProbe, probeOpenAiServer } from './openai-probe.ts';
import type { OpenAiSettings } from './openai-settings.ts';

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
export const openAiTools: AgentTools = agentTools<OpenAiProbe>({
  kind: 'openai',
  find: probe,
  recognizes: ({ isProtocol }) => isProtocol,
  inspect: {
    summary: 'shows whether the server answers and which models it has',
    options: [key, model],
    of({ status, models, isProtocol, problem = 'no answer' }, input) {
      const name = input.options.model ?? models[0];
      const openai = { model: name, ...(keyOf(input) !== undefined && { apiKey: '<the API key>' }) };
      return {
        isReachable: status !== undefined,
        answer: status === undefined ? problem : `status ${status}`,
        capabilities: [
          ...(isProtocol ? ['text', 'conversation'] : []),
          ...models.map((known) => `model ${known}`),
        ],
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
        if (found.status === undefined) return ['fail', `${found.problem} (no other check ran)`];
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
  return onlyName(models, problem, '--model is missing: the name of the model');
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
