import { z } from 'zod';
import { AgentProtocolError } from '../../../core/errors.ts';
import { PHRASES, say } from '../../../core/phrases.ts';
import { withoutTrailing } from '../../../core/text.ts';
import { apiKeyField, headersField, httpUrlField, notBlank, timeoutField } from '../setting-fields.ts';

/** Settings of a route to an OpenAI-compatible server. */
export const openAiSettings = z.strictObject({
  model: z
    .string()
    .max(200)
    .refine(notBlank, PHRASES['field.not-blank'])
    .describe('Name of the model. `GET /v1/models` of the server lists the names.'),
  baseUrl: httpUrlField
    .optional()
    .describe(
      'URL of the server: with or without `/v1`, or the full path of the request. Default: agentEndpoint.',
    ),
  apiKey: apiKeyField.optional().describe('Sent as `Authorization: Bearer`. Stored; the API shows `***`.'),
  api: z
    .enum(['chat', 'responses'])
    .optional()
    .describe(
      'Which API of the server: `chat` (`/v1/chat/completions`) or `responses` (`/v1/responses`). Default: `chat`, or what the full path of the address says.',
    ),
  system: z
    .string()
    .max(65_536)
    .refine(notBlank, PHRASES['field.not-blank'])
    .optional()
    .describe('Instructions for the model, before the conversation. Default: none.'),
  facts: z
    .boolean()
    .optional()
    .describe(
      '`false`: the model gets only words. Default: `true`, the system text says who writes, where and when.',
    ),
  historyTurns: z
    .int()
    .min(0)
    .max(200)
    .optional()
    .describe(
      'Number of earlier turns of the chat that the model gets, at most 32,000 characters together. 0: none. Default: 10.',
    ),
  maxTokens: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe("Longest answer, in tokens, reasoning included. Default: the server's own."),
  temperature: z
    .number()
    .min(0)
    .max(2)
    .optional()
    .describe("Randomness of the answer. Some models take none. Default: the server's own."),
  images: z
    .boolean()
    .optional()
    .describe(
      "Whether people's pictures of at most 10 MB are sent. Default: where the model takes them; without it the words only.",
    ),
  headers: headersField.optional(),
  timeoutMs: timeoutField.optional(),
});

export type OpenAiSettings = z.output<typeof openAiSettings>;

/** The two APIs that servers offer. */
export type OpenAiApi = NonNullable<OpenAiSettings['api']>;

const PATHS: Record<OpenAiApi, string> = { chat: '/chat/completions', responses: '/responses' };

/** Where an OpenAI-compatible server is, and what every request to it carries. */
export interface OpenAiServer {
  /** Origin and path, without query. Names the server in logs and errors. */
  name: string;
  api: OpenAiApi;
  /** The URL of the request for an answer. */
  url: string;
  /** The URL of the list of models. */
  modelsUrl: string;
  headers: Headers;
  /** Values that must not appear in an error or a log. */
  secrets: string[];
}

/**
 * Reads the address and the headers of a route. The address may be the full path of the request, end with a version
 * (`/v1`), or have no version; then `/v1` is added. A query is kept.
 * @throws {AgentProtocolError} the address or a header cannot be used; the sentence does not quote it
 */
export function openAiServer(
  address: string,
  { api, apiKey, headers: extra = {} }: Pick<OpenAiSettings, 'api' | 'apiKey' | 'headers'>,
): OpenAiServer {
  if (!URL.canParse(address)) throw new AgentProtocolError(say('openai.address-not-url'));
  const url = new URL(address);
  const path = withoutTrailing(url.pathname, '/');
  const written = (Object.keys(PATHS) as OpenAiApi[]).find((known) => path.endsWith(PATHS[known]));
  const root = written ? path.slice(0, -PATHS[written].length) : withVersion(path);
  const used = api ?? written ?? 'chat';
  const headers = headersOf(apiKey, extra);
  const values = [...headers.values()].flatMap((value) => [value, ...value.split(' ').slice(1)]);
  headers.set('content-type', 'application/json');
  headers.set('accept', 'application/json');
  return {
    name: `${url.origin}${root}`,
    api: used,
    url: `${url.origin}${root}${PATHS[used]}${url.search}`,
    modelsUrl: `${url.origin}${root}/models${url.search}`,
    headers,
    // An empty value would be found between any two characters of a text.
    secrets: values.filter((value) => value !== ''),
  };
}

/** `/v1beta/openai` has a version and `/api` has none. */
function withVersion(path: string): string {
  return /\/v\d/.test(path) ? path : `${path}/v1`;
}

function headersOf(apiKey: string | undefined, extra: Record<string, string>): Headers {
  const headers = new Headers();
  if (apiKey !== undefined) headers.set('authorization', `Bearer ${apiKey}`);
  for (const [name, value] of Object.entries(extra)) {
    try {
      headers.set(name, value);
    } catch {
      // The platform's own error quotes the value.
      const shown = name.replace(/[^\w-]/g, '?');
      throw new AgentProtocolError(say('agent.header-not-valid', { name: shown }));
    }
  }
  return headers;
}
