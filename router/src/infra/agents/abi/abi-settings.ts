import { z } from 'zod';
import { PHRASES } from '../../../core/phrases.ts';
import { headersField, httpUrlField, timeoutField } from '../setting-fields.ts';

const MAX_ABI_ENTRIES = 1_000;

const abiEntries = z
  .array(z.union([z.string().max(10_000), z.record(z.string(), z.unknown())]))
  .min(1, PHRASES['field.some-function'])
  .max(MAX_ABI_ENTRIES);

const templateText = z.string().min(1).max(10_000);

/** A reply that is a file; `abiSettingsProblems` checks it against the outputs. */
const fileOutput = z
  .strictObject({
    image: templateText
      .optional()
      .describe('The output of type `bytes` that is sent as a picture: `{{chart}}`.'),
    audio: templateText.optional().describe('The output of type `bytes` that is sent as a sound.'),
    document: templateText.optional().describe('The output of type `bytes` that is sent as a document.'),
    mimeType: templateText
      .optional()
      .describe('Template of the media type. Default: detected from the first bytes.'),
    fileName: templateText.optional().describe('Template of the file name; documents only.'),
    caption: templateText.optional().describe('Template of the caption; not with `audio`.'),
  })
  .meta({ title: 'File' });

/** Settings of an ABI route; `abiSettingsProblems` makes the checks that a schema cannot express. */
export const abiSettings = z.strictObject({
  functions: z
    .union([abiEntries, httpUrlField], {
      error: ({ input }) =>
        Array.isArray(input) && input.length > MAX_ABI_ENTRIES
          ? `must have at most ${MAX_ABI_ENTRIES} entries`
          : PHRASES['field.abi-functions'],
    })
    .describe(
      'Signatures such as `function add(uint256 a, uint256 b) returns (uint256 sum)`, structs and JSON ABI entries; or the URL of a manifest (`{"abi": [...]}`). A manifest is loaded at the first message and cached for five minutes, or longer while its server is unavailable; it is not checked when the route is saved.',
    ),
  function: z
    .string()
    .min(1)
    .max(10_000)
    .optional()
    .describe(
      'Function for text that is not a command: a name, a signature (`f(uint256)`) for overloaded functions, or a selector.',
    ),
  args: z
    .union([z.array(z.unknown()), z.record(z.string(), z.unknown())], {
      error: PHRASES['field.array-or-object'],
    })
    .optional()
    .describe(
      'Argument template, by position or by name: `["{{text}}", "{{from}}"]`. Values: `text`, `from`, `phone`, `name`, `waMessageId` (also as `messageId`), `channelId`, `accountId`, `timestamp` (seconds), `quotedText`, `editOf` (the `waMessageId` of the message that this one edits), `mentions` (a list of `id`, `tag`, `name`), `isGroup`, `chat` (`person` or `group`), `subject`, `number`, `lid`, `language`, `quotedFrom` (a JID), `quotedName`, `kind`, `latitude` and `longitude` (texts), and for files `media`, `mediaType`, `fileName`. With a template every message is a call. Default: commands.',
    ),
  output: z
    .union([templateText, fileOutput], {
      error: PHRASES['field.output-template'],
    })
    .optional()
    .describe(
      'Template of the reply: `It is {{sum}}.`, `{{user.name}}`, `{{#items}}{{name}} {{/items}}`, `{{^valid}}no{{/valid}}`; or of a file. Default: a single text as it is; several outputs one per line, with their names. A function without outputs sends no reply.',
    ),
  envelope: z
    .enum(['raw', 'json', 'auto'])
    .optional()
    .describe(
      'Form of request and answer: `raw` calldata, `json` (`{requestId, request}` → `{steps, result}`), or `auto`, which detects it. Default: `raw`.',
    ),
  path: z
    .string()
    .max(2048)
    .regex(/^\/[\x21-\x7e]*$/, PHRASES['field.path-without-spaces'])
    .refine((path) => !/[?#]/.test(path), PHRASES['field.path-only'])
    .optional()
    .describe("Path of the call below agentEndpoint. Default: agentEndpoint's own."),
  headers: headersField.optional(),
  timeoutMs: timeoutField.optional(),
  idempotent: z
    .boolean()
    .optional()
    .describe(
      '`true`: a failed or timed-out call is retried. Default: `false`, only 429, 502, 503 and an agent that cannot be reached are retried.',
    ),
});

export type AbiSettings = z.output<typeof abiSettings>;

/** A reply that is a file: `{"image": "{{chart}}", "mimeType": "image/png", "caption": "{{title}}"}`; exactly one kind. */
export type AbiFileOutput = z.output<typeof fileOutput>;
