import { z } from 'zod';
import { apiKeyField, headersField, httpUrlField, timeoutField, waitField } from '../setting-fields.ts';

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
    .regex(/^(?:custom:)?[A-Za-z][\w.-]{0,99}$/, 'must be a capability such as social or custom:crafting')
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
