import { z } from 'zod';
import { PHRASES, say } from '../../../core/phrases.ts';
import type { SettingsProblem } from '../agent-kind.ts';
import { JsonTemplateError, parseJsonTemplate } from '../json-template.ts';
import { placeholderProblems } from '../message-template.ts';
import { apiKeyField, headersField, httpUrlField, timeoutField, waitField } from '../setting-fields.ts';
import { capabilityOf, checkedParams, expectation, NpcInputError } from './input/capabilities.ts';

/** Settings of a route to an agent of the NPC Engine. */
export const npcSettings = z.strictObject({
  cardUrl: httpUrlField
    .optional()
    .describe('URL of the agent card. Default: `/.well-known/agent-card` below agentEndpoint.'),
  rpcUrl: httpUrlField
    .optional()
    .describe('URL of the JSON-RPC endpoint. Default: the one of the card, else `/rpc` below agentEndpoint.'),
  apiKey: apiKeyField
    .optional()
    .describe('API key, sent in the header that the card names (`X-API-Key`). Stored; the API shows `***`.'),
  capability: z
    .string()
    .regex(/^(?:custom:)?[A-Za-z][\w.-]{0,99}$/, PHRASES['field.capability'])
    .optional()
    .describe('Capability that text without a command opens. Default: `social`.'),
  params: z
    .record(z.string().min(1).max(100), z.unknown())
    .optional()
    .describe(
      'Parameters of every task that the message does not give, such as `{"tokenAddress": "0x…"}`. A text may contain `{{text}}`, `{{from}}`, `{{name}}` and the other variables of ABI argument templates.',
    ),
  output: z
    .string()
    .min(1)
    .max(10_000)
    .optional()
    .describe(
      'Template of the reply: `Sent: {{result.transactionHash}}`. Names are fields of the task: `taskId`, `status`, `result`. Default: the text of the result, else its fields.',
    ),
  progress: z
    .boolean()
    .optional()
    .describe('`true`: the chat gets a line when a long task passes 25, 50 and 75 %. Default: `false`.'),
  waitMs: waitField.optional(),
  headers: headersField.optional(),
  timeoutMs: timeoutField.optional(),
});

export type NpcSettings = z.output<typeof npcSettings>;

/** Mistakes in the settings of a route that their schema cannot express. */
export async function npcSettingsProblems({
  capability,
  params,
  output,
}: NpcSettings): Promise<SettingsProblem[]> {
  const problems: SettingsProblem[] = [];
  if (output !== undefined) {
    try {
      parseJsonTemplate(output);
    } catch (error) {
      if (!(error instanceof JsonTemplateError)) throw error;
      problems.push({ field: 'output', said: error.said });
    }
  }
  for (const said of placeholderProblems(params)) problems.push({ field: 'params', said });
  if (/\{\{\s*media\s*\}\}/.test(JSON.stringify(params ?? {}))) {
    problems.push({ field: 'params', said: say('template.no-files', { placeholder: '{{media}}' }) });
  }
  if (capability !== undefined && params) problems.push(...fixedParamProblems(capability, params));
  return problems;
}

/** Parameters without placeholders that the capability of the route does not accept. */
function fixedParamProblems(type: string, params: Record<string, unknown>): SettingsProblem[] {
  const capability = capabilityOf(type);
  return capability.params.flatMap((param) => {
    const value = params[param.name];
    if (value === undefined || JSON.stringify(value).includes('{{')) return [];
    try {
      checkedParams({ ...capability, params: [param] }, { [param.name]: value });
      return [];
    } catch (error) {
      if (!(error instanceof NpcInputError)) throw error;
      return [
        { field: `params.${param.name}`, said: say('param.must-be', { what: expectation(param.type) }) },
      ];
    }
  });
}
