import { AgentProtocolError } from '../../../../core/errors.ts';
import type { AgentResponse } from '../../../../core/models.ts';
import {
  type AgentTools,
  checkText,
  type ToolInput,
  type ToolOption,
  ToolUsageError,
} from '../../agent-tools.ts';
import { CheckRun, type Found } from '../../check-run.ts';
import { type Inspection, inspectionText } from '../../inspection.ts';
import { messageOption, newTestPerson, sendAsTestPerson } from '../../test-person.ts';
import { WebhookAgentClient } from '../webhook-agent-client.ts';
import { probeWebhook, type WebhookProbe } from '../webhook-settings.ts';

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
const SLOW_MS = 25_000;

/** Tools for people who write webhooks. No answer can come later: there is no chat, and so no reply token. */
export const webhookTools: AgentTools = {
  async detect(input) {
    const { status } = await probe(input);
    // What answers that there is nothing, or that it is broken, may be any server.
    const isElse =
      status === 404 || status === 410 || (status !== undefined && status >= 500 && status !== 501);
    return status !== undefined && !isElse;
  },
  inspect: {
    summary: 'shows whether a server answers at the address, without a message',
    options: [header],
    async run(input) {
      const report = await inspectWebhook(input);
      return { report, text: inspectionText(report), isGood: report.isReachable };
    },
  },
  test: {
    summary: 'sends one message as a new person and shows the answer',
    options: [messageOption, secret, header],
    async run(input) {
      const { answer, ms } = await sendAsTestPerson(input, () => clientOf(input));
      return {
        report: { ms, reply: answer.response, isLater: answer.isLater ?? false, ...answer.metadata },
        text: `${ms} ms\n${shown(answer)}`,
        isGood: true,
      };
    },
  },
  check: {
    summary: 'checks what wa2ai needs from the webhook; really sends messages',
    options: [secret, header],
    async run(input) {
      const report = (await checkWebhook(input)).report();
      return { report, text: checkText(report), isGood: report.isConforming };
    },
  },
};

async function inspectWebhook(input: ToolInput): Promise<Inspection> {
  const startedMs = input.clock.monotonicMs();
  const { status, problem = 'no answer' } = await probe(input);
  const latencyMs = Math.round(input.clock.monotonicMs() - startedMs);
  return {
    kind: 'webhook',
    url: input.url,
    isReachable: status !== undefined,
    answer: status === undefined ? problem : `status ${status} to HEAD`,
    latencyMs,
    capabilities: status === undefined ? [] : ['HTTP'],
    ...(status !== undefined && {
      route: { channelId: '*', agentEndpoint: input.url, config: { webhook: {} } },
    }),
  };
}

async function checkWebhook(input: ToolInput): Promise<CheckRun> {
  const checks = new CheckRun(input.url, input.clock);
  const found = await probe(input);
  const reached = await checks.run('a server answers at the address', async () =>
    found.status === undefined
      ? ['fail', `${found.problem} (no other check ran)`]
      : ['pass', `status ${found.status} to HEAD`],
  );
  if (reached === 'fail') return checks;
  const send = async (client = clientOf(input)): Promise<Found> => {
    const response = await client.sendMessage(input.url, newTestPerson().says('hello'));
    if (response.isLater) return ['warn', 'the answer comes later: a check cannot receive it'];
    if (response.response === undefined && !response.files) return ['warn', 'the webhook says nothing'];
    return ['pass', `${response.response?.length ?? 0} characters`];
  };
  if ((await checks.run('a new person gets an answer', () => send())) === 'fail') return checks;
  const key = secretOf(input);
  if (key !== undefined) {
    await checks.run('a wrong signature is refused', async () => {
      try {
        await send(clientOf(input, `${key}-wrong`));
        return ['warn', 'it was answered: anybody who knows the address can send messages'];
      } catch (error) {
        if (error instanceof AgentProtocolError) return ['pass', error.message];
        throw error;
      }
    });
  }
  await checks.run(`${CONCURRENT} people get an answer at the same time`, async () => {
    await Promise.all(Array.from({ length: CONCURRENT }, () => send()));
    return ['pass', 'all answered'];
  });
  checks.runTimes(SLOW_MS);
  return checks;
}

function shown({ response, isLater, files = [] }: AgentResponse): string {
  if (isLater) return '(the answer comes later)';
  if (files.length > 0) return `${response ?? ''}[${files.map(({ mimeType }) => mimeType).join(', ')}]`;
  return response ?? '(the webhook says nothing)';
}

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
