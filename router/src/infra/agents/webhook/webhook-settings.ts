import { z } from 'zod';
import { PHRASES } from '../../../core/phrases.ts';
import type { ProbeFinding } from '../agent-kind.ts';
import { reachFinding } from '../reach-finding.ts';
import { headersField, secretField, timeoutField } from '../setting-fields.ts';
import type { AgentTransport } from '../transport/agent-transport.ts';

/** Settings of a route to a webhook; `bodyProblems` makes the checks that a schema cannot express. */
export const webhookSettings = z.strictObject({
  method: z.enum(['POST', 'PUT', 'PATCH']).optional().describe('Default: `POST`.'),
  headers: headersField.optional(),
  secret: secretField
    .min(8, PHRASES['field.secret-8'])
    .meta({ format: 'password' })
    .optional()
    .describe(
      'Key of the signature in `X-Wa2ai-Signature`. Stored; the API shows `***`. Default: no signature.',
    ),
  body: z
    .union([z.record(z.string(), z.unknown()), z.array(z.unknown())], {
      error: PHRASES['field.object-or-array'],
    })
    .optional()
    .describe(
      'Template of the JSON body: any JSON with placeholders such as `"{{text}}"`. Default: all values, see below.',
    ),
  reply: z
    .enum(['sync', 'async'])
    .optional()
    .describe(
      '`sync`: the response contains the answer, except with the status 202 or 204. `async`: the response is ignored, and the answer comes with `POST /api/replies/{token}`. Default: `sync`.',
    ),
  output: z
    .string()
    .max(500)
    .regex(/^[^.\s]+(?:\.[^.\s]+)*$/, PHRASES['field.path'])
    .optional()
    .describe(
      'Where the answer is in a JSON response: a path such as `data.answer` or `choices.0.text`. Default: the first of `output`, `text`, `reply`, `response`, `message`.',
    ),
  timeoutMs: timeoutField.optional(),
});

export type WebhookSettings = z.output<typeof webhookSettings>;

const MAX_BYTES = 64 * 1024;

/** The answer of a webhook to `HEAD`, which starts nothing. */
export interface WebhookProbe {
  /** Absent: there was no answer. */
  status?: number;
  /** Why there was no answer. */
  problem?: string;
}

/** Checks whether a server answers at the address of a webhook. */
export async function probeWebhook(
  url: string,
  headers: Record<string, string>,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<WebhookProbe> {
  const fetched = await transport.fetch(url, {
    method: 'HEAD',
    headers: new Headers(headers),
    signal,
    maxBytes: MAX_BYTES,
  });
  if (fetched.kind === 'answer') return { status: fetched.status };
  return { problem: fetched.fault === 'aborted' ? 'no answer in time' : fetched.detail };
}

/** Likely problems of a route to this webhook. */
export async function webhookFindings(
  agentEndpoint: string,
  { headers = {} }: { headers?: Record<string, string> },
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const probe = await probeWebhook(agentEndpoint, headers, deps);
  const fields = { address: 'agentEndpoint', headers: 'config.webhook.headers' };
  const finding = reachFinding(`webhook at ${new URL(agentEndpoint).origin}`, probe, fields);
  return finding ? [finding] : [];
}
