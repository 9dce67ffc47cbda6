import { agentKind } from '../agent-kind.ts';
import { OpenAiAgentClient } from './openai-agent-client.ts';
import { aboutOpenAi, openAiFindings } from './openai-probe.ts';
import { type OpenAiSettings, openAiSettings } from './openai-settings.ts';
import { openAiTools } from './openai-tools.ts';

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
      new OpenAiAgentClient({ openai, timeoutMs: defaultTimeoutMs, ...deps }),
});
