import { AgentProtocolError, AgentUncertainError, Wa2aiError } from '../../../../core/errors.ts';
import type { IncomingMessage } from '../../../../core/models.ts';
import { HttpAgentClient } from '../../../http-agent-client.ts';
import {
  type AgentTools,
  type CheckReport,
  type CheckResult,
  checkText,
  type ToolInput,
  ToolkitError,
  type ToolOption,
  ToolUsageError,
} from '../../agent-tools.ts';
import { type AdkProbe, probeAdkServer } from '../adk-probe.ts';

const app: ToolOption = {
  name: 'app',
  value: 'NAME',
  help: "the agent's name (appName); default: the only one that the server lists",
};
const message: ToolOption = { name: 'message', value: 'TEXT', help: 'what the person writes' };

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
      const found = await probe(input);
      const { status, apps, problem } = found;
      const isReachable = status !== undefined;
      const answer = status === undefined ? problem : `status ${status}`;
      const lines = [input.url, `list-apps  ${answer}`, `agents     ${apps.join(', ') || '(none listed)'}`];
      return { report: { isReachable, ...found }, text: lines.join('\n'), isGood: isReachable };
    },
  },
  test: {
    summary: 'sends one message as a new person and shows the answer',
    options: [message, app],
    async run(input) {
      const text = input.options.message;
      if (text === undefined) throw new ToolUsageError('--message is missing: what the person writes');
      const appName = await appOf(input);
      const startedMs = input.clock.monotonicMs();
      const { response, metadata } = await clientOf(input, appName).sendMessage(
        input.url,
        aPerson().says(text),
      );
      const ms = Math.round(input.clock.monotonicMs() - startedMs);
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

async function checkServer(input: ToolInput): Promise<CheckReport> {
  const results: CheckResult[] = [];
  const report = () => {
    const isConforming = results.every(({ result }) => result !== 'fail');
    return { url: input.url, isConforming, results };
  };
  const run = async (check: string, work: () => Promise<[CheckResult['result'], string]>) => {
    const startedMs = input.clock.monotonicMs();
    let [result, found]: [CheckResult['result'], string] = ['fail', ''];
    try {
      [result, found] = await work();
    } catch (error) {
      if (!(error instanceof Wa2aiError)) throw error;
      found = error.message;
    }
    results.push({ check, result, found, ms: Math.round(input.clock.monotonicMs() - startedMs) });
    return result;
  };

  const found = await probe(input);
  await run('GET /list-apps names the agents', async () => {
    if (found.status === undefined) return ['fail', `${found.problem} (no other check ran)`];
    if (found.apps.length === 0) return ['warn', `status ${found.status}, no names`];
    return ['pass', found.apps.join(', ')];
  });
  if (found.status === undefined) return report();

  const appName = await appOf(input, found);
  const client = clientOf(input, appName);
  const send = async (sent: IncomingMessage): Promise<[CheckResult['result'], string]> => {
    const { response, files } = await client.sendMessage(input.url, sent);
    if (response === undefined && !files) return ['warn', 'the agent says nothing'];
    return ['pass', `${response?.length ?? 0} characters`];
  };
  const person = aPerson();
  const first = await run('a new person gets an answer', () => send(person.says('hello')));
  if (first === 'fail') return report();
  const second = person.says('hello again');
  await run('the same person gets a second answer', () => send(second));
  await run('the session shows an earlier run', async () => {
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
  await run('an unknown agent is refused', async () => {
    try {
      await clientOf(input, 'wa2ai-no-such-agent').sendMessage(input.url, aPerson().says('hello'));
      return ['warn', 'it was answered'];
    } catch (error) {
      if (error instanceof AgentProtocolError) return ['pass', error.message];
      throw error;
    }
  });
  await run(`${CONCURRENT} people get an answer at the same time`, async () => {
    await Promise.all(Array.from({ length: CONCURRENT }, () => send(aPerson().says('hello'))));
    return ['pass', 'all answered'];
  });
  const slowest = Math.max(...results.map(({ ms }) => ms));
  const result = slowest > SLOW_MS ? 'warn' : 'pass';
  const check = `every answer comes within ${SLOW_MS / 1_000} s`;
  results.push({ check, result, found: `the slowest took ${slowest} ms`, ms: slowest });
  return report();
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

/** A person with a number that no phone has and that is new, so that the session is new. */
function aPerson() {
  const digits = `999${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  let sent = 0;
  return {
    says: (text: string): IncomingMessage => {
      sent += 1;
      const id = `WA2AI-TEST-${digits}-${sent}`;
      return { id, from: `${digits}@s.whatsapp.net`, channelId: digits, text, timestamp: new Date() };
    },
  };
}
