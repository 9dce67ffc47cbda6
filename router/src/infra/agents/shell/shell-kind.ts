import { ShellError } from '../../../core/hosting/hosting-errors.ts';
import type { Said } from '../../../core/phrases.ts';
import { withoutTrailing } from '../../../core/text.ts';
import { agentKind, type ProbeFinding, reachFinding } from '../agent-kind.ts';
import {
  type AgentTools,
  agentTools,
  type ToolInput,
  type ToolOption,
  ToolUsageError,
} from '../agent-tools.ts';
import type { AgentTransport } from '../transport/agent-transport.ts';
import { bodyText } from '../transport/error-text.ts';
import { ShellAgentClient } from './shell-agent-client.ts';
import { type ShellSettings, shellProblems, shellSettings } from './shell-settings.ts';
import { RemoteRuntime } from './swe-rex/remote-runtime.ts';

const message: ToolOption = { name: 'message', value: 'TEXT', help: 'the command' };
const token: ToolOption = {
  name: 'token',
  value: 'TOKEN',
  help: 'sent as X-API-Key; default: the variable SHELL_TOKEN',
};
const allow: ToolOption = { name: 'allow', value: 'NUMBER', help: 'a person who may use the shell' };
/** The session that the tools use and close. */
const SESSION = 'wa2ai-check';

/** Tools for people who run a shell runtime. */
const shellTools: AgentTools = agentTools<ShellProbe>({
  kind: 'shell',
  find: probe,
  recognizes: ({ isRuntime }) => isRuntime,
  inspect: {
    summary: 'shows whether a shell runtime answers, without a command',
    options: [token, allow],
    of({ status, isRuntime, problem }, input) {
      const person = input.options.allow ?? '5490000000000';
      const shell = { allow: [person], ...(tokenOf(input) !== undefined && { token: '<the token>' }) };
      return {
        isReachable: isRuntime,
        answer:
          status === undefined ? (problem?.sentence ?? 'no answer') : `status ${status} to GET /is_alive`,
        capabilities: isRuntime ? ['bash sessions', 'files'] : [],
        ...(isRuntime && { channelId: person, config: { shell } }),
      };
    },
  },
  test: {
    summary: 'runs one command in a new session and shows its output',
    options: [message, token],
    async run(input) {
      const command = input.options.message;
      if (command === undefined) throw new ToolUsageError('--message is missing: the command');
      const startedMs = input.clock.monotonicMs();
      const { output, exitCode } = await inSession(input, command);
      const ms = Math.round(input.clock.monotonicMs() - startedMs);
      return {
        report: { ms, reply: output, exitCode },
        text: `${ms} ms, exit code ${exitCode}\n${output}`,
        isGood: true,
      };
    },
  },
  check: {
    summary: 'checks what wa2ai needs from the runtime; really runs commands',
    options: [token],
    async run(checks, found, input) {
      const reached = await checks.run('a shell runtime answers', async () =>
        found.isRuntime
          ? ['pass', `status ${found.status}`]
          : ['fail', `${found.problem?.sentence ?? 'another answer'} (no other check ran)`],
      );
      if (reached === 'fail') return;
      await checks.run('a wrong token is refused', async () => {
        const { status } = await probe({ ...input, options: { ...input.options, token: 'wrong-token' } });
        return status === 401 || status === 403 ? ['pass', `status ${status}`] : ['fail', `status ${status}`];
      });
      await checks.run('a command runs and its exit code is known', async () => {
        const { output, exitCode } = await inSession(input, 'printf ok; (exit 3)');
        return output === 'ok' && exitCode === 3
          ? ['pass', 'exit code 3']
          : ['fail', `exit code ${exitCode}`];
      });
      await checks.run('wrong syntax is refused', async () => {
        try {
          await inSession(input, "echo 'open");
          return ['fail', 'it was run'];
        } catch (error) {
          if (error instanceof ShellError && error.fault === 'syntax') return ['pass', error.message];
          throw error;
        }
      });
    },
  },
});

/** Runs a command in a new session, which is closed then. */
async function inSession(input: ToolInput, command: string) {
  const { url, transport, clock, timeoutMs } = input;
  const runtime = new RemoteRuntime({ url, token: tokenOf(input) ?? '', transport, clock });
  const session = `${SESSION}-${Math.round(clock.now())}`;
  await runtime.createSession(session);
  try {
    return await runtime.run(command, { session, timeoutMs, requestId: session });
  } finally {
    await runtime.closeSession(session);
  }
}

function probe(input: ToolInput): Promise<ShellProbe> {
  const { url, transport, timeoutMs } = input;
  return probeShell(url, tokenOf(input), { transport, signal: AbortSignal.timeout(timeoutMs) });
}

function tokenOf({ options }: ToolInput): string | undefined {
  return options.token ?? (process.env.SHELL_TOKEN?.trim() || undefined);
}

const MAX_BYTES = 64 * 1024;

/** How a runtime answered `GET /is_alive`. */
interface ShellProbe {
  /** Absent: there was no answer. */
  status?: number;
  /** Why there was no answer. */
  problem?: Said;
  /** The answer is one of a SWE-ReX runtime, alive or refusing the key. */
  isRuntime: boolean;
}

/** Asks a runtime whether it is alive; runs nothing. */
async function probeShell(
  url: string,
  token: string | undefined,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<ShellProbe> {
  const fetched = await transport.fetch(`${withoutTrailing(url, '/')}/is_alive`, {
    ...{ method: 'GET', signal, maxBytes: MAX_BYTES },
    headers: new Headers(token === undefined ? {} : { 'x-api-key': token }),
  });
  if (fetched.kind === 'fault') {
    return { isRuntime: false, problem: fetched.detail };
  }
  const body = bodyText(fetched);
  const isRefusal = /"detail":\s*"(Not authenticated|Invalid API Key)"/.test(body);
  return { status: fetched.status, isRuntime: isRefusal || /"is_alive":\s*(true|false)/.test(body) };
}

/** Likely problems of a route to this runtime. */
async function shellFindings(
  agentEndpoint: string,
  { token, image }: { token?: string; image?: string },
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<ProbeFinding[]> {
  // its container starts with the first message
  if (image !== undefined) return [];
  const probe = await probeShell(agentEndpoint, token, deps);
  const fields = { address: 'agentEndpoint', headers: 'config.shell.token' };
  const finding = reachFinding({ kind: 'shell', address: new URL(agentEndpoint).origin }, probe, fields);
  return finding ? [finding] : [];
}

/** A bash for people: a SWE-ReX runtime in a container. */
export const shellKind = agentKind<ShellSettings>({
  name: 'shell',
  description: 'A shell: the messages of allowed people run as commands in a SWE-ReX runtime.',
  settings: shellSettings,
  check: async (settings) => shellProblems(settings),
  hasNoEndpoint: (settings) => (settings as ShellSettings | undefined)?.image !== undefined,
  isForOneChat: true,
  scopeOf: () => 'agents:manage',
  endpointOf: (agentEndpoint, { image }) => (image === undefined ? agentEndpoint : `shell:${image}`),
  probe: shellFindings,
  tools: shellTools,
  client: (deps) => (settings, route) => new ShellAgentClient(deps, settings, route),
});
