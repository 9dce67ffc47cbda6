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
    stream: z.literal(false),
  }),
  '/v1/responses': z.strictObject({
    model: z.string(),
    input: z.array(message).min(1),
    instructions: z.string().optional(),
    max_output_tokens: z.int().min(16).optional(),
    temperature: z.number().min(0).max(2).optional(),
    store: z.boolean(),
    stream: z.literal(false),
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

const isSystem = ({ role }: { role: string }) => role === 'system';

function textOf(content: z.output<typeof message>['content'] | undefined): string | undefined {
  if (typeof content === 'string' || content === undefined) return content;
  return content.map((part) => ('text' in part ? part.text : '[picture]')).join(' ');
}
