import { z } from 'zod';
import { PHRASES } from '../../core/phrases.ts';

/** Fields that the settings of several agent kinds share, each with its sentence for a wrong value. */

/** Headers that the transport sets itself. */
const RESERVED_HEADERS = new Set([
  'host',
  'content-length',
  'content-type',
  'connection',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
  'trailer',
]);

/** An address of an agent. */
export const httpUrlField = z
  .string()
  .max(2048)
  .superRefine((value, context) => {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
      context.addIssue(PHRASES['field.http-or-https-url']);
    } else if (url.username !== '' || url.password !== '') {
      context.addIssue(PHRASES['field.no-login-in-url']);
    }
  })
  .meta({ format: 'uri' });

/** For `refine`: the text contains more than spaces. */
export const notBlank = (value: string) => value.trim() !== '';

/** A secret: masked in every response, dropped when the address of the agent changes. */
export const secretField = z.string().max(8192).meta({ format: 'password' });

/** A key that an agent checks. Without spaces, so that a placeholder such as `<the API key>` is refused. */
export const apiKeyField = secretField
  .regex(/^[\x21-\x7e]+$/, PHRASES['field.ascii-without-spaces'])
  .meta({ format: 'password' });

/** How long a message waits for the end of a long task. */
export const waitField = z
  .int()
  .min(0)
  .max(600_000)
  .describe(
    'How long a message waits for the end of its task, in milliseconds. Then the chat gets a line, and the end when it comes. Default: 20000.',
  );

/** Extra headers of every request to an agent. */
export const headersField = z
  .record(
    z
      .string()
      .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/)
      .refine((name) => !RESERVED_HEADERS.has(name.toLowerCase())),
    secretField.regex(/^[\t\x20-\x7e]*$/, PHRASES['field.ascii']).meta({
      format: 'password',
    }),
  )
  .describe('Extra request headers, such as `Authorization`. Stored; the API shows `***` for each value.');

/** Time limit of one attempt, in milliseconds. */
export const timeoutField = z
  .int()
  .min(100)
  .max(3_600_000)
  .describe('Time limit of one attempt, in milliseconds. Default: WA2AI_AGENT_TIMEOUT.');
