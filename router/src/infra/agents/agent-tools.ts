import type { Clock } from '../../core/ports/clock.ts';
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
  /** Its report is an Inspection (inspection.ts). */
  inspect: AgentTool;
  test: AgentTool;
  check: AgentTool;
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
