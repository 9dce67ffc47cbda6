import { z } from 'zod';

/** What stands in for the value of a secret header in answers; sent back, it means "as it was". */
export const MASK = '***';

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

/** Where an agent is. */
export const httpUrlField = z
  .string()
  .max(2048)
  .superRefine((value, context) => {
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
      context.addIssue('must be an http:// or https:// URL');
    } else if (url.username !== '' || url.password !== '') {
      context.addIssue('must not hold a user name or password; use the headers of config.adk or config.abi');
    }
  });

/** For `refine`: the text holds more than spaces. */
export const notBlank = (value: string) => value.trim() !== '';

/** Extra headers of every request to an agent. */
export const headersField = z
  .record(
    z
      .string()
      .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/)
      .refine((name) => !RESERVED_HEADERS.has(name.toLowerCase())),
    z
      .string()
      .max(8192)
      .regex(/^[\t\x20-\x7e]*$/, 'must hold printable ASCII characters only'),
  )
  .describe(`Extra request headers, such as Authorization. Answers show \`${MASK}\` for each value.`);

/** Time limit of one ask, in milliseconds. */
export const timeoutField = z
  .int()
  .min(100)
  .max(3_600_000)
  .describe('Longest wait for one answer, in milliseconds.');
