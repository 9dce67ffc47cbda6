import { agentKind } from '../agent-kind.ts';
import {
  type AgentTools,
  agentTools,
  messageTool,
  newTestPerson,
  type ToolInput,
  type ToolOption,
  ToolUsageError,
  type Verdict,
} from '../agent-tools.ts';
import { WebhookAgentClient } from './webhook-agent-client.ts';
import {
  bodyProblems,
  probeWebhook,
  type WebhookProbe,
  type WebhookSettings,
  webhookFindings,
  webhookSettings,
} from './webhook-body.ts';

const secret: ToolOption = {
  name: 'secret',
  value: 'SECRET',
  help: 'key of the signature; default: the variable WEBHOOK_SECRET, else no signature',
};
const header: ToolOption = {
  name: 'header',
  value: "'NAME: VALUE'",
  help: 'one more header of each request',
};

/** How many people write at the same time in a check. */
const CONCURRENT = 3;

/** Tools for people who write webhooks. No answer can come later: there is no chat, and so no reply token. */
const webhookTools: AgentTools = agentTools<WebhookProbe>({
  kind: 'webhook',
  find: probe,
  // What answers that there is nothing, or that it is broken, may be any server.
  recognizes: ({ status }) =>
    status !== undefined && status !== 404 && status !== 410 && (status < 500 || status === 501),
  inspect: {
    summary: 'shows whether a server answers at the address, without a message',
    options: [header],
    of: ({ status, problem }) => ({
      isReachable: status !== undefined,
      answer: status === undefined ? (problem?.sentence ?? 'no answer') : `status ${status} to HEAD`,
      capabilities: status === undefined ? [] : ['HTTP'],
      ...(status !== undefined && { config: { webhook: {} } }),
    }),
  },
  test: messageTool([secret, header], async (input) => ({ client: clientOf(input) })),
  check: {
    summary: 'checks what wa2ai needs from the webhook; really sends messages',
    options: [secret, header],
    async run(checks, found, input) {
      const reached = await checks.run('a server answers at the address', async () =>
        found.status === undefined
          ? ['fail', `${found.problem?.sentence} (no other check ran)`]
          : ['pass', `status ${found.status} to HEAD`],
      );
      if (reached === 'fail') return;
      const send = async (client = clientOf(input)): Promise<Verdict> => {
        const response = await client.sendMessage(input.url, newTestPerson().says('hello'));
        if (response.isLater) return ['warn', 'the answer comes later: a check cannot receive it'];
        if (response.response === undefined && !response.files) return ['warn', 'the webhook says nothing'];
        return ['pass', `${response.response?.length ?? 0} characters`];
      };
      if ((await checks.run('a new person gets an answer', () => send())) === 'fail') return;
      const signedBy = secretOf(input);
      if (signedBy !== undefined) {
        await checks.refused(
          'a wrong signature is refused',
          () => send(clientOf(input, `${signedBy}-wrong`)),
          'it was answered: anybody who knows the address can send messages',
        );
      }
      await checks.concurrent(CONCURRENT, () => send());
      checks.runTimes();
    },
  },
});

function secretOf({ options }: ToolInput): string | undefined {
  return options.secret ?? (process.env.WEBHOOK_SECRET?.trim() || undefined);
}

function headersOf({ options }: ToolInput): Record<string, string> {
  if (options.header === undefined) return {};
  const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~\w-]+):(.*)$/.exec(options.header) ?? [];
  if (name === '') throw new ToolUsageError("--header must be written as 'Name: value'");
  return { [name]: value.trimStart() };
}

function probe(input: ToolInput): Promise<WebhookProbe> {
  const { url, transport, timeoutMs } = input;
  return probeWebhook(url, headersOf(input), { transport, signal: AbortSignal.timeout(timeoutMs) });
}

function clientOf(input: ToolInput, key = secretOf(input)): WebhookAgentClient {
  const { timeoutMs, transport, clock } = input;
  const webhook = { headers: headersOf(input), ...(key !== undefined && { secret: key }) };
  return new WebhookAgentClient({ webhook, timeoutMs, transport, clock });
}

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
      new WebhookAgentClient({ webhook, timeoutMs: defaultTimeoutMs(), ...deps }),
});
