import { z } from 'zod';
import { headersField, secretField, timeoutField } from '../setting-fields.ts';

/** Settings of a route to a webhook; `bodyProblems` makes the checks that a schema cannot express. */
export const webhookSettings = z.strictObject({
  method: z.enum(['POST', 'PUT', 'PATCH']).optional().describe('Default: `POST`.'),
  headers: headersField.optional(),
  secret: secretField
    .min(8, 'must have at least 8 characters')
    .meta({ format: 'password' })
    .optional()
    .describe(
      'Key of the signature in `X-Wa2ai-Signature`. Stored; the API shows `***`. Default: no signature.',
    ),
  body: z
    .union([z.record(z.string(), z.unknown()), z.array(z.unknown())], {
      error: 'must be an object or an array',
    })
    .optional()
    .describe(
      'Template of the JSON body: any JSON with placeholders such as `"{{text}}"`. Default: all values, see below.',
    ),
  reply: z
    .enum(['sync', 'async'])
    .optional()
    .describe(
      '`sync`: the response contains the answer, except with the status 202 or 204. `async`: the response is ignored, and the answer comes with `POST /api/replies/{token}`. Default: `sync`.',
    ),
  output: z
    .string()
    .max(500)
    .regex(/^[^.\s]+(?:\.[^.\s]+)*$/, 'must be a path such as data.answer')
    .optional()
    .describe(
      'Where the answer is in a JSON response: a path such as `data.answer` or `choices.0.text`. Default: the first of `output`, `text`, `reply`, `response`, `message`.',
    ),
  timeoutMs: timeoutField.optional(),
});

export type WebhookSettings = z.output<typeof webhookSettings>;
