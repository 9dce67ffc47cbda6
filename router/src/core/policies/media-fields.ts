import { z } from 'zod';

const transcribeField = z
  .strictObject({
    url: z
      .string()
      .max(2048)
      .refine(
        (value) => /^https?:\/\//i.test(value) && URL.canParse(value),
        'must be an http:// or https:// URL',
      )
      .meta({ format: 'uri' })
      .describe(
        'URL of an OpenAI-compatible server: with or without `/v1`, or the full path that ends with `/audio/transcriptions`.',
      ),
    model: z.string().min(1).max(200).optional().describe('Default: `whisper-1`.'),
    headers: z
      .record(
        z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/),
        z
          .string()
          .max(8192)
          .regex(/^[\t\x20-\x7e]*$/, 'must contain printable ASCII characters only')
          .meta({ format: 'password' }),
      )
      .optional()
      .describe(
        'Extra request headers, such as `Authorization`. Stored; the API shows `***` for each value.',
      ),
  })
  .describe('Turns voice messages into text. Default: off.');

/** `config.media` of a route: its headers are secrets, so there is no default for all routes. */
export const mediaField = z
  .strictObject({ transcribe: transcribeField.optional() })
  .describe('What happens to files of people before the agent gets them.');

export type MediaSettings = z.output<typeof mediaField>;
export type TranscribeSettings = z.output<typeof transcribeField>;
