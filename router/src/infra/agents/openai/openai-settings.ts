import { z } from 'zod';
import { apiKeyField, headersField, httpUrlField, notBlank, timeoutField } from '../setting-fields.ts';

/** Settings of a route to an OpenAI-compatible server. */
export const openAiSettings = z.strictObject({
  model: z
    .string()
    .max(200)
    .refine(notBlank, 'must not be blank')
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
    .refine(notBlank, 'must not be blank')
    .optional()
    .describe('Instructions for the model, before the conversation. Default: none.'),
  facts: z
    .boolean()
    .optional()
    .describe(
      '`false`: the model gets only words. Default: `true`, the system text says who writes, where and when, see below.',
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
