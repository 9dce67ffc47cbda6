import { z } from 'zod';
import { PHRASES } from '../phrases.ts';

/** The settings of an OpenAI-compatible server that turns speech into text, or text into speech. */
export function audioServerFields(path: string, model: string) {
  return {
    url: z
      .string()
      .max(2048)
      .refine(
        (value) => /^https?:\/\//i.test(value) && URL.canParse(value),
        PHRASES['field.http-or-https-url'],
      )
      .meta({ format: 'uri' })
      .describe(
        `URL of an OpenAI-compatible server: with or without \`/v1\`, or the full path that ends with \`${path}\`.`,
      ),
    model: z.string().min(1).max(200).optional().describe(`Default: \`${model}\`.`),
    headers: z
      .record(
        z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/),
        z
          .string()
          .max(8192)
          .regex(/^[\t\x20-\x7e]*$/, PHRASES['field.ascii'])
          .meta({ format: 'password' }),
      )
      .optional()
      .describe(
        'Extra request headers, such as `Authorization`. Stored; the API shows `***` for each value.',
      ),
  };
}
