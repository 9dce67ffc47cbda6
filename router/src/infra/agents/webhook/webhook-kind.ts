import { agentKind } from '../agent-kind.ts';
import { WebhookAgentClient } from './webhook-agent-client.ts';
import { bodyProblems } from './webhook-body.ts';
import { type WebhookSettings, webhookFindings, webhookSettings } from './webhook-settings.ts';
import { webhookTools } from './webhook-tools.ts';

/** Any HTTP endpoint: n8n and other workflow tools, or a program. */
export const webhookKind = agentKind<WebhookSettings>({
  name: 'webhook',
  description: 'An HTTP endpoint that takes JSON, such as an n8n workflow.',
  settings: webhookSettings,
  check: async ({ body }) => (body === undefined ? [] : bodyProblems(body)),
  endpointOf: (agentEndpoint) => agentEndpoint,
  probe: webhookFindings,
  tools: webhookTools,
  client:
    ({ defaultTimeoutMs, ...deps }) =>
    (webhook) =>
      new WebhookAgentClient({ webhook, timeoutMs: defaultTimeoutMs, ...deps }),
});
