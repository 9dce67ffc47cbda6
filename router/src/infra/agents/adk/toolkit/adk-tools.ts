import { AgentProtocolError, AgentUncertainError } from '../../../../core/errors.ts';
import type { IncomingMessage } from '../../../../core/models.ts';
import { HttpAgentClient } from '../../../http-agent-client.ts';
import {
  type AgentTools,
  type CheckReport,
  checkText,
  type ToolInput,
  ToolkitError,
  type ToolOption,
  ToolUsageError,
} from '../../agent-tools.ts';
import { CheckRun, type Found } from '../../check-run.ts';
import { type Inspection, inspectionText } from '../../inspection.ts';
import { messageOption, newTestPerson, sendAsTestPerson } from '../../test-person.ts';
import { type AdkProbe, adkVersion, probeAdkServer } from '../adk-probe.ts';

const app: ToolOption = {
  name: 'app',
  value: 'NAME',
  help: "the agent's name (appName); default: the only one that the server lists",
};

/** How many people write at the same time in a check. */
const CONCURRENT = 5;
/** Near wa2ai's default limit for one answer. */
const SLOW_MS = 25_000;

/** Tools for people who write ADK agents. Each run uses new sessions, of people who do not exist. */
export const adkTools: AgentTools = {
  async detect(input) {
    return (await probe(input)).apps.length > 0;
  },
  inspect: {
    summary: 'shows whether the server answers and which agents it has',
    options: [],
    async run(input) {
      const report = await inspectServer(input);
      return { report, text: inspectionText(report), isGood: report.isReachable };
    },
  },
  test: {
    summary: 'sends one message as a new person and shows the answer',
    options: [messageOption, app],
    async run(input) {
      let appName = '';
      const { answer, ms } = await sendAsTestPerson(input, async () => {
        appName = await appOf(input);
        return clientOf(input, appName);
      });
      const { response, metadata } = answer;
      const reply = response ?? '(the agent says nothing)';
      return {
        report: { appName, ms, reply: response, ...metadata },
        text: `${appName}, ${ms} ms\n${reply}`,
        isGood: true,
      };
    },
  },
  check: {
    summary: 'checks what wa2ai needs from the server; really runs the agent',
    options: [app],
    async run(input) {
      const report = await checkServer(input);
      return { report, text: checkText(report), isGood: report.isConforming };
    },
  },
};

async function inspectServer(input: ToolInput): Promise<Inspection & { apps: string[] }> {
  const startedMs = input.clock.monotonicMs();
  const { status, apps, problem = 'no answer' } = await probe(input);
  const latencyMs = Math.round(input.clock.monotonicMs() - startedMs);
  const isReachable = status !== undefined;
  const deps = { transport: input.transport, signal: AbortSignal.timeout(input.timeoutMs) };
  const version = isReachable ? await adkVersion(input.url, {}, deps) : undefined;
  const [appName] = apps;
  const config = { adk: { appName } };
  return {
    kind: 'adk',
    url: input.url,
    isReachable,
    answer: isReachable ? `status ${status}` : problem,
    latencyMs,
    ...(version !== undefined && { version }),
    capabilities: apps.map((name) => `agent ${name}`),
    apps,
    ...(appName !== undefined && { route: { channelId: '*', agentEndpoint: input.url, config } }),
  };
}

async function checkServer(input: ToolInput): Promise<CheckReport> {
  const checks = new CheckRun(input.url, input.clock);
  const found = await probe(input);
  await checks.run('GET /list-apps names the agents', async () => {
    if (found.status === undefined) return ['fail', `${found.problem} (no other check ran)`];
    if (found.apps.length === 0) return ['warn', `status ${found.status}, no names`];
    return ['pass', found.apps.join(', ')];
  });
  if (found.status === undefined) return checks.report();

  const appName = await appOf(input, found);
  const client = clientOf(input, appName);
  const send = async (sent: IncomingMessage): Promise<Found> => {
    const { response, files } = await client.sendMessage(input.url, sent);
    if (response === undefined && !files) return ['warn', 'the agent says nothing'];
    return ['pass', `${response?.length ?? 0} characters`];
  };
  const person = newTestPerson();
  const first = await checks.run('a new person gets an answer', () => send(person.says('hello')));
  if (first === 'fail') return checks.report();
  const second = person.says('hello again');
  await checks.run('the same person gets a second answer', () => send(second));
  await checks.run('the session shows an earlier run', async () => {
    let requests = 0;
    const beforeRequest = async () => {
      requests += 1;
    };
    try {
      const options = { isRepeat: true, uncertain: 'dead-letter' as const, beforeRequest };
      await client.sendMessage(input.url, second, options);
      if (requests === 0) return ['pass', 'a run that a crash interrupts is not repeated'];
      return ['warn', 'it does not show the message: a run that a crash interrupts is repeated'];
    } catch (error) {
      if (!(error instanceof AgentUncertainError)) throw error;
      return [
        'warn',
        'it cannot be read: config.failure.uncertain decides about a run that a crash interrupts',
      ];
    }
  });
  await checks.run('an unknown agent is refused', async () => {
    try {
      await clientOf(input, 'wa2ai-no-such-agent').sendMessage(input.url, newTestPerson().says('hello'));
      return ['warn', 'it was answered'];
    } catch (error) {
      if (error instanceof AgentProtocolError) return ['pass', error.message];
      throw error;
    }
  });
  await checks.run(`${CONCURRENT} people get an answer at the same time`, async () => {
    await Promise.all(Array.from({ length: CONCURRENT }, () => send(newTestPerson().says('hello'))));
    return ['pass', 'all answered'];
  });
  checks.runTimes(SLOW_MS);
  return checks.report();
}

/** @throws {ToolkitError | ToolUsageError} no answer, or not exactly one agent to choose */
async function appOf(input: ToolInput, known?: AdkProbe): Promise<string> {
  if (input.options.app !== undefined) return input.options.app;
  const { apps, problem } = known ?? (await probe(input));
  if (problem !== undefined) throw new ToolkitError(`The agent did not answer: ${problem}.`);
  const [only, ...others] = apps;
  if (only !== undefined && others.length === 0) return only;
  const names = apps.length === 0 ? 'the server lists none' : `the server has ${apps.join(', ')}`;
  throw new ToolUsageError(`--app is missing: the name of the agent; ${names}`);
}

function probe({ url, transport, timeoutMs }: ToolInput): Promise<AdkProbe> {
  return probeAdkServer(url, {}, { transport, signal: AbortSignal.timeout(timeoutMs) });
}

function clientOf({ transport, timeoutMs, clock }: ToolInput, appName: string): HttpAgentClient {
  return new HttpAgentClient({ timeout: timeoutMs, adk: { appName }, transport, clock });
}
