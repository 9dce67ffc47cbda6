import type { AgentClient } from '../../core/agent-client.ts';
import type { Clock } from '../../core/clock.ts';
import { AgentProtocolError, Wa2aiError } from '../../core/errors.ts';
import type { AgentResponse, IncomingMessage } from '../../core/models.ts';
import type { AgentTransport } from './transport/agent-transport.ts';

/** A wrong use of the command line: one sentence without a full stop. */
export class ToolUsageError extends Error {}

/** Why a tool failed, in one sentence. */
export class ToolkitError extends Error {}

/** An option of a tool that takes a value: `--abi FILE`. */
export interface ToolOption {
  name: string;
  /** Placeholder of the value in the help: `FILE`. */
  value: string;
  help: string;
}

/** Input of a tool. */
export interface ToolInput {
  url: string;
  options: Readonly<Record<string, string | undefined>>;
  timeoutMs: number;
  transport: AgentTransport;
  clock: Clock;
}

/** What a tool found: `report` as JSON, `text` for a terminal. */
interface ToolResult {
  report: object;
  text: string;
  /** Whether the agent passed. */
  isGood: boolean;
}

/** One tool of an agent kind for the command line. */
interface AgentTool {
  /** What it does, in one line. */
  summary: string;
  options: readonly ToolOption[];
  /**
   * @throws {ToolUsageError} an option is missing or wrong
   * @throws {ToolkitError | Wa2aiError} the agent did not answer, or answered with an error
   */
  run(input: ToolInput): Promise<ToolResult>;
}

/** The tools of an agent kind: `wa2ai agent test|inspect|check`. */
export interface AgentTools {
  /** Whether an agent of this kind seems to answer at the URL. Sends only a harmless request; never rejects. */
  detect(input: ToolInput): Promise<boolean>;
  /** Its report is an Inspection. */
  inspect: AgentTool;
  test: AgentTool;
  check: AgentTool;
}

/** What `wa2ai agent inspect` says about an agent of any kind. */
export interface Inspection {
  /** Name of the agent kind. */
  kind: string;
  url: string;
  isReachable: boolean;
  /** How the agent answered, or why not. */
  answer: string;
  /** Of one harmless request. */
  latencyMs: number;
  /** As the agent states it. */
  version?: string;
  /** What it can do, as far as it says: agents, models, functions, skills. */
  capabilities: string[];
  /** Agents of an ADK server. */
  apps?: string[];
  /** Models of a model server. */
  models?: string[];
  /** A body for `POST /api/routes`. Absent: something is not known that a route needs. */
  route?: Record<string, unknown>;
}

/** What a kind says of its tools; agentTools makes the three tools of it. `Found`: the answer to one harmless request. */
interface ToolParts<Found> {
  kind: string;
  /** Sends the harmless request. Never rejects. */
  find(input: ToolInput): Promise<Found>;
  /** Whether it is an agent of this kind. */
  recognizes(found: Found): boolean;
  inspect: {
    summary: string;
    options: readonly ToolOption[];
    of(found: Found, input: ToolInput): Findings | Promise<Findings>;
  };
  test: AgentTool;
  check: {
    summary: string;
    options: readonly ToolOption[];
    /** Runs the checks one after another; ends early when nothing answers. */
    run(checks: CheckRun, found: Found, input: ToolInput): Promise<void>;
  };
}

/** An Inspection without what is known of every kind. `config`: of a route, when all of it is known. */
interface Findings extends Omit<Inspection, 'kind' | 'url' | 'latencyMs' | 'route'> {
  config?: object;
  /** The chats of the route. Default: every chat. */
  channelId?: string;
  /** Further lines for a terminal. */
  details?: readonly string[];
}

/** The tools of a kind. */
export function agentTools<Found>({
  kind,
  find,
  recognizes,
  inspect,
  test,
  check,
}: ToolParts<Found>): AgentTools {
  return {
    detect: async (input) => recognizes(await find(input)),
    inspect: {
      summary: inspect.summary,
      options: inspect.options,
      async run(input) {
        const { url, clock } = input;
        const startedMs = clock.monotonicMs();
        const found = await find(input);
        const latencyMs = Math.round(clock.monotonicMs() - startedMs);
        const { config, channelId = '*', details, ...known } = await inspect.of(found, input);
        const route = config && { channelId, agentEndpoint: url, config };
        const report: Inspection = { kind, url, latencyMs, ...known, ...(route && { route }) };
        return { report, text: inspectionText(report, details), isGood: report.isReachable };
      },
    },
    test,
    check: {
      summary: check.summary,
      options: check.options,
      async run(input) {
        const checks = new CheckRun(input.url, input.clock);
        await check.run(checks, await find(input), input);
        const report = checks.report();
        return { report, text: checkText(report), isGood: report.isConforming };
      },
    },
  };
}

/**
 * The tool that sends `--message` to the agent as a new person, and shows the answer.
 * @param clientOf the agent, and `about`: what the report says of it, such as the name of the model
 */
export function messageTool(
  options: readonly ToolOption[],
  clientOf: (input: ToolInput) => Promise<{ client: AgentClient; about?: Record<string, string> }>,
  message: ToolOption = messageOption,
): AgentTool {
  return {
    summary: 'sends one message as a new person and shows the answer',
    options: [message, ...options],
    async run(input) {
      const { message: text } = input.options;
      if (text === undefined) throw new ToolUsageError('--message is missing: what the person writes');
      const { client, about = {} } = await clientOf(input);
      const startedMs = input.clock.monotonicMs();
      const answer = await client.sendMessage(input.url, newTestPerson().says(text));
      const ms = Math.round(input.clock.monotonicMs() - startedMs);
      const { response, isLater, metadata } = answer;
      return {
        report: { ...about, ms, reply: response, ...(isLater && { isLater }), ...metadata },
        text: `${[...Object.values(about), `${ms} ms`].join(', ')}\n${shown(answer)}`,
        isGood: true,
      };
    },
  };
}

const messageOption: ToolOption = { name: 'message', value: 'TEXT', help: 'what the person writes' };

function shown({ response, isLater, files = [] }: AgentResponse): string {
  if (isLater) return '(the answer comes later)';
  const parts = [response, ...files.map(({ mimeType }) => `[${mimeType}]`)].filter(Boolean);
  return parts.join('\n') || '(the agent says nothing)';
}

/** An inspection for a terminal. */
export function inspectionText(
  { kind, url, answer, latencyMs, version, capabilities, route }: Inspection,
  details: readonly string[] = [],
): string {
  return [
    url,
    `kind          ${kind}`,
    `answer        ${answer}, ${latencyMs} ms`,
    ...(version === undefined ? [] : [`version       ${version}`]),
    `capabilities  ${capabilities.join(', ') || '(none listed)'}`,
    ...details,
    ...(route ? ['', 'Body for POST /api/routes:', JSON.stringify(route, null, 2)] : []),
  ].join('\n');
}

/**
 * The only name of a list, which no option need repeat.
 * @param problem why there is no list
 * @param missing `--model is missing: the name of the model`
 * @throws {ToolkitError} there is no list
 * @throws {ToolUsageError} the list has none or several names
 */
export function onlyName(names: readonly string[], problem: string | undefined, missing: string): string {
  if (problem !== undefined) throw new ToolkitError(`The agent did not answer: ${problem}.`);
  const [only, ...others] = names;
  if (only !== undefined && others.length === 0) return only;
  const listed = names.length === 0 ? 'the server lists none' : `the server has ${names.join(', ')}`;
  throw new ToolUsageError(`${missing}; ${listed.slice(0, 500)}`);
}

/** Writes messages as one person of a test. */
interface TestPerson {
  says(text: string): IncomingMessage;
}

/** A person with a number that no phone has and that is new, so that the conversation is new. */
export function newTestPerson(): TestPerson {
  const digits = `999${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  let sent = 0;
  return {
    says: (text) => {
      sent += 1;
      const id = `WA2AI-TEST-${digits}-${sent}`;
      return { id, from: `${digits}@s.whatsapp.net`, channelId: digits, text, timestamp: new Date() };
    },
  };
}

/** The result of one check. `warn`: allowed, but worth a look. */
export interface CheckResult {
  check: string;
  result: 'pass' | 'warn' | 'fail';
  found: string;
  ms: number;
}

/** Longest time limit that a route may have, in milliseconds. */
const MAX_LIMIT_MS = 3_600_000;

/**
 * A time limit for an agent that needed so long, with room for slower answers, in milliseconds.
 * @param isEnded the agent had not answered then
 * @returns undefined: the limit is long enough
 */
export function suggestedLimitMs(neededMs: number, limitMs: number, isEnded: boolean): number | undefined {
  if (!isEnded && neededMs < (limitMs * 2) / 3) return undefined;
  return Math.min(Math.ceil((neededMs * 2) / 10_000) * 10_000, MAX_LIMIT_MS);
}

/** The results of all checks; `isConforming` when none failed. */
export interface CheckReport {
  url: string;
  isConforming: boolean;
  results: CheckResult[];
}

/** The report as a table that ends with the verdict. */
export function checkText({ isConforming, results }: CheckReport): string {
  const width = Math.max(...results.map(({ check }) => check.length));
  const lines = results.map(
    ({ check, result, found, ms }) =>
      `${result.toUpperCase().padEnd(4)}  ${check.padEnd(width)}  ${String(ms).padStart(6)} ms  ${found}`,
  );
  const failed = results.filter(({ result }) => result === 'fail').length;
  const verdict = isConforming ? 'The agent conforms.' : `${failed} of ${results.length} checks failed.`;
  return [...lines, verdict].join('\n');
}

/** Near wa2ai's default limit for one answer. */
const SLOW_MS = 25_000;

/** The result of a check, and a sentence about it. */
export type Verdict = [result: CheckResult['result'], found: string];

/** Runs checks of an agent one after another and collects their results. */
export class CheckRun {
  readonly #url: string;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #results: CheckResult[] = [];

  constructor(url: string, clock: Pick<Clock, 'monotonicMs'>) {
    this.#url = url;
    this.#clock = clock;
  }

  /** Runs one check. A Wa2aiError is its failure; any other error rejects. */
  async run(check: string, work: () => Promise<Verdict>): Promise<CheckResult['result']> {
    const startedMs = this.#clock.monotonicMs();
    let [result, found]: Verdict = ['fail', ''];
    try {
      [result, found] = await work();
    } catch (error) {
      if (!(error instanceof Wa2aiError)) throw error;
      found = error.message;
    }
    this.#results.push({ check, result, found, ms: Math.round(this.#clock.monotonicMs() - startedMs) });
    return result;
  }

  /** Runs a check that passes when the agent refuses the work. `answered`: what it means that it does not. */
  refused(
    check: string,
    work: () => Promise<unknown>,
    answered = 'it was answered',
  ): Promise<CheckResult['result']> {
    return this.run(check, async () => {
      try {
        await work();
        return ['warn', answered];
      } catch (error) {
        if (error instanceof AgentProtocolError) return ['pass', error.message];
        throw error;
      }
    });
  }

  /** Runs a check that sends `count` messages at the same time. */
  async concurrent(count: number, send: () => Promise<unknown>): Promise<void> {
    await this.run(`${count} people get an answer at the same time`, async () => {
      await Promise.all(Array.from({ length: count }, send));
      return ['pass', 'all answered'];
    });
  }

  /** Adds a check of the time of all checks so far: a warning if one took longer than `limitMs`. */
  runTimes(limitMs = SLOW_MS): void {
    const slowest = Math.max(0, ...this.#results.map(({ ms }) => ms));
    this.#results.push({
      check: `every answer comes within ${limitMs / 1_000} s`,
      result: slowest > limitMs ? 'warn' : 'pass',
      found: `the slowest took ${slowest} ms`,
      ms: slowest,
    });
  }

  report(): CheckReport {
    const isConforming = this.#results.every(({ result }) => result !== 'fail');
    return { url: this.#url, isConforming, results: this.#results };
  }
}
