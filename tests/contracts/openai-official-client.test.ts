import OpenAI from 'openai';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import type { ResponseCreateParamsNonStreaming } from 'openai/resources/responses/responses';
import { afterEach, describe, expect, it } from 'vitest';
import type { AttemptOptions } from '../../router/src/core/agent-client.ts';
import { isRetryable } from '../../router/src/core/errors.ts';
import type { IncomingMessage } from '../../router/src/core/models.ts';
import { OpenAiAgentClient } from '../../router/src/infra/agents/openai/openai-agent-client.ts';
import type { OpenAiSettings } from '../../router/src/infra/agents/openai/openai-settings.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';
import { type StandInAnswer, type StandInRequest, StandInServer } from '../doubles/stand-in-server.ts';
import { aMessage } from '../support/adk-requests.ts';
import { quietLog } from '../support/quiet-log.ts';

// The official client as the judge of wa2ai's: both call the same server.

const apiKey = 'sk-a-key';
const usage = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const completion = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello' } }],
};
const modelResponse = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [
    {
      type: 'message',
      id: 'msg_1',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
    },
  ],
};

const servers: StandInServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function setup(answer: StandInAnswer) {
  const server = await StandInServer.start(() => answer);
  servers.push(server);
  const official = new OpenAI({ apiKey, baseURL: `${server.url}/v1`, maxRetries: 0 });
  const ours = (
    settings: Partial<OpenAiSettings> = {},
    message: Partial<IncomingMessage> = {},
    options: AttemptOptions = {},
  ) =>
    new OpenAiAgentClient({
      openai: { model: 'gpt-test', apiKey, facts: false, ...settings },
      timeoutMs: 30_000,
      log: quietLog,
      clock: holdingClock,
      transport: new AgentTransport(),
    }).sendMessage(server.url, aMessage({ text: 'Who am I?', ...message }), options);
  return { server, official, ours };
}

/** The parts of a request that a server acts on. */
function essentials({ method, path, headers, body }: StandInRequest | undefined = {} as StandInRequest) {
  const { accept, authorization, 'content-type': contentType } = headers;
  return { method, path, accept, authorization, contentType, body: JSON.parse(body) };
}

const image = Buffer.from('a picture');
const dataUrl = `data:image/jpeg;base64,${image.toString('base64')}`;
const withPicture = { media: { kind: 'image' as const, mimeType: 'image/jpeg' } };
const loadMedia = async () => image;
const loadHistory = async () => [
  { sender: '999', kind: 'text' as const, text: 'I am Ana', replies: [{ text: 'Hello Ana' }] },
];

describe('a request of wa2ai is the one of the official client', () => {
  const said = [
    { role: 'user', content: 'I am Ana' },
    { role: 'assistant', content: 'Hello Ana' },
    { role: 'user', content: 'Who am I?' },
  ] as const;
  const chats: Array<
    [string, ChatCompletionCreateParamsNonStreaming, Partial<OpenAiSettings>, Partial<IncomingMessage>]
  > = [
    ['a conversation', { model: 'gpt-test', messages: [...said], stream: false }, {}, {}],
    [
      'instructions and limits',
      {
        model: 'gpt-test',
        messages: [{ role: 'system', content: 'Be brief.' }, ...said],
        max_tokens: 50,
        temperature: 0.2,
        stream: false,
      },
      { system: 'Be brief.', maxTokens: 50, temperature: 0.2 },
      {},
    ],
    [
      'a picture with text',
      {
        model: 'gpt-test',
        messages: [
          ...said.slice(0, 2),
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Who am I?' },
              { type: 'image_url', image_url: { url: dataUrl } },
            ],
          },
        ],
        stream: false,
      },
      { images: true },
      withPicture,
    ],
  ];
  const responses: Array<
    [string, ResponseCreateParamsNonStreaming, Partial<OpenAiSettings>, Partial<IncomingMessage>]
  > = [
    ['a conversation', { model: 'gpt-test', input: [...said], store: false, stream: false }, {}, {}],
    [
      'instructions and limits',
      {
        model: 'gpt-test',
        instructions: 'Be brief.',
        input: [...said],
        max_output_tokens: 50,
        temperature: 0.2,
        store: false,
        stream: false,
      },
      { system: 'Be brief.', maxTokens: 50, temperature: 0.2 },
      {},
    ],
    [
      'a picture with text',
      {
        model: 'gpt-test',
        input: [
          ...said.slice(0, 2),
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'Who am I?' },
              // The type of the official client demands `detail`; its API has a default for it.
              { type: 'input_image', image_url: dataUrl } as never,
            ],
          },
        ],
        store: false,
        stream: false,
      },
      { images: true },
      withPicture,
    ],
  ];

  it.each(chats)('of chat completions, with %s', async (_name, params, settings, message) => {
    const { server, official, ours } = await setup({ body: completion });
    expect((await official.chat.completions.create(params)).choices[0]?.message.content).toBe('Hello');
    expect((await ours(settings, message, { loadHistory, loadMedia })).response).toBe('Hello');
    const [theirs, own] = server.requests;
    expect(essentials(own)).toEqual(essentials(theirs));
  });

  it.each(responses)('of responses, with %s', async (_name, params, settings, message) => {
    const { server, official, ours } = await setup({ body: modelResponse });
    expect((await official.responses.create(params)).output_text).toBe('Hello');
    const answer = await ours({ ...settings, api: 'responses' }, message, { loadHistory, loadMedia });
    expect(answer.response).toBe('Hello');
    const [theirs, own] = server.requests;
    expect(essentials(own)).toEqual(essentials(theirs));
  });
});

describe('wa2ai reads what the official client reads in an answer', () => {
  const choice = (message: object, more: object = {}) => [
    { index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop', ...more },
  ];
  it.each([
    [
      'llama.cpp',
      {
        choices: choice({ content: 'Hello' }),
        created: 1_795_292_013,
        model: 'gpt-test',
        system_fingerprint: 'b6800-5ad6a',
        object: 'chat.completion',
        usage,
        id: 'chatcmpl-aHnA',
        timings: { prompt_n: 5, prompt_ms: 30.1, predicted_n: 2, predicted_per_second: 40.5 },
      },
    ],
    [
      'llama.cpp with reasoning',
      { ...completion, choices: choice({ reasoning_content: 'The person greets.', content: 'Hello' }) },
    ],
    [
      'vLLM',
      {
        ...completion,
        model: 'gpt-test',
        service_tier: null,
        system_fingerprint: null,
        choices: choice(
          {
            content: 'Hello',
            refusal: null,
            annotations: null,
            audio: null,
            function_call: null,
            tool_calls: [],
            reasoning_content: null,
          },
          { logprobs: null, stop_reason: null, token_ids: null },
        ),
        usage: { ...usage, prompt_tokens_details: null },
        prompt_logprobs: null,
        kv_transfer_params: null,
      },
    ],
    [
      'Ollama',
      {
        ...completion,
        id: 'chatcmpl-542',
        model: 'gpt-test',
        system_fingerprint: 'fp_ollama',
        choices: choice({ content: 'Hello', reasoning: 'The person greets.' }),
        usage,
      },
    ],
    [
      'LiteLLM',
      {
        ...completion,
        model: 'gpt-test',
        system_fingerprint: null,
        choices: choice({
          content: 'Hello',
          tool_calls: null,
          function_call: null,
          provider_specific_fields: { refusal: null },
        }),
        usage: { ...usage, completion_tokens_details: null, prompt_tokens_details: null },
        service_tier: 'default',
      },
    ],
  ])('of %s', async (_server, body) => {
    const { official, ours } = await setup({ body });
    const read = await official.chat.completions.create({
      model: 'gpt-test',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    expect(read.choices[0]?.message.content).toBe('Hello');
    const { response, metadata } = await ours();
    expect(response).toBe('Hello');
    expect(metadata).toMatchObject({ openai: { id: read.id, finishReason: 'stop' } });
  });
});

describe('wa2ai asks again after the statuses after which the official client asks again', () => {
  it.each([400, 401, 403, 404, 408, 409, 422, 429, 500, 502, 503, 504, 529])('%i', async (status) => {
    const { server, official, ours } = await setup({
      status,
      headers: { 'retry-after-ms': '1' },
      body: { error: { message: 'no' } },
    });
    const asked = official.chat.completions.create(
      { model: 'gpt-test', messages: [{ role: 'user', content: 'Hi' }] },
      { maxRetries: 1 },
    );
    await expect(asked).rejects.toMatchObject({ status });
    const isRepeated = server.requests.length > 1;
    const error = await ours().catch((thrown: unknown) => thrown);
    const isUncertain = (error as { disposition?: string }).disposition === 'uncertain';
    expect(isRetryable(error) || isUncertain).toBe(isRepeated);
  });
});
