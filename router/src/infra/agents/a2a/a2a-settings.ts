import { z } from 'zod';
import type { SettingsProblem } from '../agent-kind.ts';
import { JsonTemplateError, parseJsonTemplate } from '../json-template.ts';
import { apiKeyField, headersField, httpUrlField, timeoutField, waitField } from '../setting-fields.ts';

/** Settings of a route to an A2A agent. */
export const a2aSettings = z.strictObject({
  cardUrl: httpUrlField
    .optional()
    .describe('URL of the agent card. Default: `/.well-known/agent-card.json` below agentEndpoint.'),
  version: z
    .enum(['auto', '1.0', '0.3'])
    .optional()
    .describe('Version of the protocol. Default: `auto`, the newest one of the card.'),
  transport: z
    .enum(['auto', 'jsonrpc', 'rest'])
    .optional()
    .describe(
      'Binding of the protocol. Default: `auto`, the first one of the card; for version 0.3 JSON-RPC if the card has it.',
    ),
  apiKey: apiKeyField
    .optional()
    .describe(
      'Key of the agent, sent as its card asks for it: in the named header, or as `Authorization: Bearer`. Stored; the API shows `***`.',
    ),
  headers: headersField.optional(),
  streaming: z
    .boolean()
    .optional()
    .describe('`false`: no streams although the card offers them. Default: as the card says.'),
  output: z
    .string()
    .min(1)
    .max(10_000)
    .optional()
    .describe(
      'Template of the reply over `{text, state, taskId}`, and `completed`, `inputRequired`, `failed`, `rejected`, `authRequired`, of which one is true: `{{text}}{{#rejected}} (refused){{/rejected}}`. Default: the text of completed and of `input-required` tasks; no text of the others.',
    ),
  progress: z
    .boolean()
    .optional()
    .describe(
      '`true`: the chat gets what the agent says about a running task, at most every 15 seconds. Default: `false`.',
    ),
  waitMs: waitField.optional(),
  timeoutMs: timeoutField.optional(),
});

export type A2aSettings = z.output<typeof a2aSettings>;

/** Mistakes in the settings of a route that their schema cannot express. */
export async function a2aSettingsProblems({ output }: A2aSettings): Promise<SettingsProblem[]> {
  if (output === undefined) return [];
  try {
    parseJsonTemplate(output);
    return [];
  } catch (error) {
    if (!(error instanceof JsonTemplateError)) throw error;
    return [{ field: 'output', said: error.said }];
  }
}
