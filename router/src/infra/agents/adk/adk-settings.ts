import { z } from 'zod';
import { PHRASES } from '../../../core/phrases.ts';
import { headersField, httpUrlField, notBlank, timeoutField } from '../setting-fields.ts';

/** Settings of an ADK route, as the agent contract names them. */
export const adkSettings = z.strictObject({
  appName: z
    .string()
    .max(200)
    .refine(notBlank, PHRASES['field.not-blank'])
    .describe("The agent's name at the ADK server: its folder. `GET /list-apps` lists the names."),
  baseUrl: httpUrlField.optional().describe('URL of the ADK server. Default: agentEndpoint.'),
  dialect: z
    .enum(['auto', 'snake', 'camel'])
    .optional()
    .describe(
      'Spelling of the request body: `snake` (`app_name`), `camel` (`appName`), or `auto`, which learns it per server. Default: `auto`.',
    ),
  media: z
    .union([z.boolean(), z.literal('url')])
    .optional()
    .describe(
      "People's files of at most 10 MB: `true` sends all as `inlineData`, `'url'` as `fileData` with a link (`WA2AI_PUBLIC_URL`), `false` none. Default: pictures, sounds, videos, PDF and plain text as `inlineData`, to servers that are ADK's own.",
    ),
  headers: headersField.optional(),
  timeoutMs: timeoutField.optional(),
});

export type AdkSettings = z.output<typeof adkSettings>;
