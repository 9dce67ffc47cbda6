import { z } from 'zod';
import { headersField, httpUrlField, timeoutField } from '../setting-fields.ts';

const MAX_ABI_ENTRIES = 1_000;

const abiEntries = z
  .array(z.union([z.string().max(10_000), z.record(z.string(), z.unknown())]))
  .min(1, 'must hold at least one function')
  .max(MAX_ABI_ENTRIES);

const templateText = z.string().min(1).max(10_000);

/** A reply that is a file; `abiSettingsProblems` checks it against the outputs. */
const fileOutput = z.strictObject({
  image: templateText.optional().describe('The output of type bytes that is sent as a picture: `{{chart}}`.'),
  audio: templateText.optional().describe('The output of type bytes that is sent as a sound.'),
  document: templateText.optional().describe('The output of type bytes that is sent as a document.'),
  mimeType: templateText.optional().describe('A template. Default: what the first bytes say.'),
  fileName: templateText.optional().describe('A template; of documents only.'),
  caption: templateText.optional().describe('A template; not with audio.'),
});

/** Settings of an ABI route; `abiSettingsProblems` checks what the schema cannot see. */
export const abiSettings = z.strictObject({
  functions: z
    .union([abiEntries, httpUrlField], {
      error: ({ input }) =>
        Array.isArray(input) && input.length > MAX_ABI_ENTRIES
          ? `must have at most ${MAX_ABI_ENTRIES} entries`
          : 'must be an array of signatures or JSON ABI entries, or the http:// or https:// URL of a manifest',
    })
    .describe(
      'Signatures such as `function add(uint256 a, uint256 b) returns (uint256 sum)`, structs, JSON ABI entries; or the URL of a manifest, which is fetched at the first message.',
    ),
  function: z
    .string()
    .min(1)
    .max(10_000)
    .optional()
    .describe('Called for text that is no command: name, full signature or selector.'),
  args: z
    .union([z.array(z.unknown()), z.record(z.string(), z.unknown())], {
      error: 'must be an array or an object',
    })
    .optional()
    .describe(
      "Argument template, by position or by name, with `{{text}}`, `{{from}}`, `{{phone}}`, `{{name}}`, `{{messageId}}`, `{{channelId}}`, `{{accountId}}`, `{{timestamp}}`, `{{quotedText}}`, `{{isGroup}}`, `{{mediaType}}`, `{{fileName}}`, and `{{media}}` for the bytes of the message's file. Default: commands.",
    ),
  output: z
    .union([templateText, fileOutput], {
      error: 'must be a template, or an object with one of image, audio, document',
    })
    .optional()
    .describe(
      'Template of the reply over the outputs of `function`, such as `The sum is {{sum}}.`; or of a file: `{"image": "{{chart}}", "caption": "{{title}}"}`.',
    ),
  envelope: z
    .enum(['raw', 'json', 'auto'])
    .optional()
    .describe('`raw` calldata (default), `json` with the calldata in hex, or `auto`.'),
  path: z
    .string()
    .max(2048)
    .regex(/^\/[\x21-\x7e]*$/, 'must begin with / and hold no spaces')
    .refine((path) => !/[?#]/.test(path), 'must be a path without ? and #')
    .optional()
    .describe("Path of the call below agentEndpoint. Default: agentEndpoint's own."),
  headers: headersField.optional(),
  timeoutMs: timeoutField.optional(),
  idempotent: z
    .boolean()
    .optional()
    .describe('A repeated call does no harm: failures and time-outs are tried again. Default: false.'),
});

export type AbiSettings = z.output<typeof abiSettings>;

/** A reply that is a file: `{"image": "{{chart}}", "mimeType": "image/png", "caption": "{{title}}"}`; exactly one kind. */
export type AbiFileOutput = z.output<typeof fileOutput>;
