import { Readable } from 'node:stream';
import { z } from 'zod';
import { StandInServer } from './stand-in-server.ts';

const textPart = z.strictObject({ type: z.enum(['text', 'input_text']), text: z.string() });
const picturePart = z.union([
  z.strictObject({ type: z.literal('image_url'), image_url: z.strictObject({ url: z.string() }) }),
  z.strictObject({ type: z.literal('input_image'), image_url: z.string() }),
]);
const message = z.strictObject({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.union([z.string(), z.array(z.union([textPart, picturePart])).min(1)]),
});

/** The bodies that the official client sends for the fields that wa2ai uses; anything else is refused as the API does. */
const bodies = {
  '/v1/chat/completions': z.strictObject({
    model: z.string(),
    messages: z.array(message).min(1),
    max_tokens: z.int().min(1).optional(),
    max_completion_tokens: z.int().min(1).optional(),
    temperature: z.number().min(0).max(2).optional(),
    stream: z.boolean(),
  }),
  '/v1/responses': z.strictObject({
    model: z.string(),
    input: z.array(message).min(1),
    instructions: z.string().optional(),
    max_output_tokens: z.int().min(16).optional(),
    temperature: z.number().min(0).max(2).optional(),
    store: z.boolean(),
    stream: z.boolean(),
  }),
};

/** What the model of a stand-in gets: every text of the conversation, the pictures as `[picture]`. */
export interface ModelInput {
  model: string;
  system?: string;
  said: string[];
}

/** Settings of the stand-in. */
export interface OpenAiStandInOptions {
  models?: string[];
  /** Default: none is required. */
  apiKey?: string;
  /** What the model writes. Default: `Echo: ` and the last text. */
  write?(input: ModelInput): string;
  /** The pieces of a text in which a stream sends it, each when it is there. Default: its words, at once. */
  pieces?(text: string): AsyncIterable<string> | Iterable<string>;
}

/**
 * A server of OpenAI's API on loopback: models, chat completions and responses, with the checks and the error objects of
 * the real one.
 */
export function startOpenAiServer(options: OpenAiStandInOptions = {}): Promise<StandInServer> {
  const { models = ['gpt-test'], apiKey } = options;
  const write = options.write ?? (({ said }) => `Echo: ${said.at(-1)}`);
  const failure = (status: number, text: string, code: string, type = 'invalid_request_error') => ({
    status,
    body: { error: { message: text, type, param: null, code } },
  });
  return StandInServer.start(({ method, path, headers, body }) => {
    if (apiKey !== undefined && headers.authorization !== `Bearer ${apiKey}`) {
      return failure(401, 'Incorrect API key provided.', 'invalid_api_key');
    }
    if (method === 'GET' && path === '/v1/models') {
      return { body: { object: 'list', data: models.map((id) => ({ id, object: 'model' })) } };
    }
    if (method !== 'POST' || !(path === '/v1/chat/completions' || path === '/v1/responses')) {
      return failure(404, `Invalid URL (${method} ${path})`, 'not_found');
    }
    const parsed = bodies[path].safeParse(JSON.parse(body));
    if (!parsed.success) return failure(400, z.prettifyError(parsed.error), 'invalid_value');
    const asked = parsed.data;
    if (!models.includes(asked.model)) {
      return failure(404, `The model \`${asked.model}\` does not exist`, 'model_not_found');
    }
    const messages = 'messages' in asked ? asked.messages : asked.input;
    const system = 'instructions' in asked ? asked.instructions : textOf(messages.find(isSystem)?.content);
    const said = messages.filter((each) => !isSystem(each)).map(({ content }) => textOf(content) ?? '');
    const text = write({ model: asked.model, ...(system !== undefined && { system }), said });
    const usage = { total_tokens: 3 };
    const pieces = (options.pieces ?? wordsOf)(text);
    if (asked.stream) {
      const events =
        path === '/v1/responses' ? responseEvents(asked.model, pieces) : chatEvents(asked.model, pieces);
      return { headers: { 'content-type': 'text/event-stream; charset=utf-8' }, body: Readable.from(events) };
    }
    if (path === '/v1/responses') {
      const content = [{ type: 'output_text', text, annotations: [] }];
      const output = [{ type: 'message', role: 'assistant', content }];
      return {
        body: { id: 'resp_1', object: 'response', status: 'completed', model: asked.model, output, usage },
      };
    }
    const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' };
    return {
      body: { id: 'chatcmpl-1', object: 'chat.completion', model: asked.model, choices: [choice], usage },
    };
  });
}

const wordsOf = (text: string) => text.split(/(?<= )/);
const sse = (data: object) => `data: ${JSON.stringify(data)}\n\n`;

async function* chatEvents(model: string, pieces: AsyncIterable<string> | Iterable<string>) {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    sse({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      model,
      choices: [{ index: 0, delta, finish_reason }],
    });
  yield chunk({ role: 'assistant', content: '' });
  for await (const content of pieces) yield chunk({ content });
  yield chunk({}, 'stop');
  yield 'data: [DONE]\n\n';
}

async function* responseEvents(model: string, pieces: AsyncIterable<string> | Iterable<string>) {
  const event = (type: string, fields: object) => `event: ${type}\n${sse({ type, ...fields })}`;
  const response = { id: 'resp_1', object: 'response', model };
  yield event('response.created', { response: { ...response, status: 'in_progress', output: [] } });
  let text = '';
  for await (const delta of pieces) {
    text += delta;
    yield event('response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta });
  }
  const output = [
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] },
  ];
  const usage = { total_tokens: 3 };
  yield event('response.completed', { response: { ...response, status: 'completed', output, usage } });
}

const isSystem = ({ role }: { role: string }) => role === 'system';

function textOf(content: z.output<typeof message>['content'] | undefined): string | undefined {
  if (typeof content === 'string' || content === undefined) return content;
  return content.map((part) => ('text' in part ? part.text : '[picture]')).join(' ');
}
