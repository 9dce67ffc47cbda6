import { parseArgs } from 'node:util';
import { AgentTimeoutError } from '../../core/errors.ts';
import { detectKind, type KindWithTools } from '../../infra/agents/agent-kind.ts';
import { agentKinds } from '../../infra/agents/agent-kinds.ts';
import {
  suggestedLimitMs,
  type ToolInput,
  ToolkitError,
  ToolUsageError,
} from '../../infra/agents/agent-tools.ts';
import { AgentTransport } from '../../infra/agents/transport/agent-transport.ts';
import { Egress } from '../../infra/agents/transport/egress.ts';
import { holdingClock } from '../../infra/clock/system-clock.ts';
import type { CliHost } from '../cli.ts';
import { EXIT } from '../exit-code.ts';

const VERBS = ['test', 'inspect', 'check'] as const;
type Verb = (typeof VERBS)[number];

const kinds = agentKinds.filter((kind): kind is KindWithTools => kind.tools !== undefined);
const kindNames = kinds.map(({ name }) => name).join('|');

const HELP = `wa2ai agent test URL     calls the agent once
wa2ai agent inspect URL  shows what the agent says about itself
wa2ai agent check URL    checks what wa2ai needs from it

wa2ai agent COMMAND --help shows the options of each kind of agent.`;

/** Of a route that sets no `timeoutMs`. */
const DEFAULT_LIMIT_MS = 30_000;

const COMMON_HELP = `  --kind ${kindNames}  protocol of the agent (default: detected)
  --json           the result as JSON
  --timeout MS     longest wait for one answer (default ${DEFAULT_LIMIT_MS})`;

const EXAMPLES: Record<Verb, string> = {
  test: `Example:
  wa2ai agent test http://localhost:8000 --app greeter --message hola`,
  inspect: `Example:
  wa2ai agent inspect http://localhost:8000 --json`,
  check: `Example:
  wa2ai agent check http://localhost:8000 --timeout 5000`,
};

function helpOf(verb: Verb): string {
  const parts = kinds.map(({ name, description, tools }) => {
    const { summary, options } = tools[verb];
    const flags = options.map(({ name, value }) => `--${name} ${value}`);
    const width = Math.max(0, ...flags.map(({ length }) => length));
    const lines = options.map(({ help }, index) => `  ${flags[index]?.padEnd(width)}  ${help}`);
    return [`${name}: ${description} ${summary}:`, ...lines].join('\n');
  });
  return [`wa2ai agent ${verb} URL [options]`, ...parts, COMMON_HELP, EXAMPLES[verb]].join('\n\n');
}

type Values = Record<string, string | boolean | undefined>;

function readArguments(args: readonly string[]): { values: Values; positionals: string[] } {
  const tools = kinds.flatMap(({ tools }) => VERBS.flatMap((verb) => tools[verb].options));
  const ofKinds = Object.fromEntries(tools.map(({ name }) => [name, { type: 'string' as const }]));
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        ...ofKinds,
        kind: { type: 'string' },
        timeout: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    // The first sentence says what is wrong; the others suggest workarounds.
    const [sentence = ''] = (error instanceof Error ? error.message : String(error)).split('. ');
    throw new ToolUsageError(sentence.charAt(0).toLowerCase() + sentence.slice(1).replaceAll("'", '"'));
  }
}

/**
 * Runs `wa2ai agent ...`.
 * @param args what follows `agent`
 * @returns the exit code: 1 when the agent failed
 * @throws {ToolUsageError} wrong arguments
 * @throws {ToolkitError | Wa2aiError} the agent did not answer, or answered with an error
 */
export async function runAgentTools(
  args: readonly string[],
  { write }: Pick<CliHost, 'write'>,
): Promise<number> {
  const { values, positionals } = readArguments(args);
  const [word, url = '', ...rest] = positionals;
  const verb = VERBS.find((known) => known === word);
  if (values.help) {
    write(`${verb ? helpOf(verb) : HELP}\n`);
    return EXIT.success;
  }
  if (!verb) {
    const what = word === undefined ? 'a command is missing' : `unknown command "agent ${word}"`;
    throw new ToolUsageError(`${what}; use agent ${VERBS.join(', agent ')}`);
  }
  if (rest.length > 0) throw new ToolUsageError(`unexpected argument "${rest[0]}"`);
  const input = inputOf(url, values);
  const { tools } = await kindOf(input, values.kind);
  const startedMs = input.clock.monotonicMs();
  const neededMs = () => Math.round(input.clock.monotonicMs() - startedMs);
  const { report, text, isGood } = await tools[verb].run(input).catch((error: unknown) => {
    const limitMs = error instanceof AgentTimeoutError && suggestedLimitMs(neededMs(), input.timeoutMs, true);
    if (!limitMs) throw error;
    throw new ToolkitError(`${error.message} Try --timeout ${limitMs}; a route needs such a \`timeoutMs\`.`, {
      cause: error,
    });
  });
  // The limit of a route that sets none.
  const limitMs = verb === 'test' ? suggestedLimitMs(neededMs(), DEFAULT_LIMIT_MS, false) : undefined;
  const shown = limitMs === undefined ? report : { ...report, suggestedTimeoutMs: limitMs };
  const hint = limitMs === undefined ? '' : `\n\n${limitHint(neededMs(), limitMs)}`;
  write(`${values.json ? JSON.stringify(shown, null, 2) : text + hint}\n`);
  return isGood ? EXIT.success : EXIT.failed;
}

function limitHint(neededMs: number, limitMs: number): string {
  const [needed, limit] = [neededMs, DEFAULT_LIMIT_MS].map((ms) => Math.round(ms / 1_000));
  return `The agent needed ${needed} s. wa2ai waits ${limit} s by default: set timeoutMs in the config of the agent to ${limitMs}.`;
}

function inputOf(url: string, { kind: _, json: _json, ...values }: Values): ToolInput {
  if (url === '') {
    throw new ToolUsageError('the URL of the agent is missing, such as http://localhost:8000');
  }
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    const example = 'such as http://localhost:8000';
    throw new ToolUsageError(`the URL of the agent must begin with http:// or https://, ${example}`);
  }
  const timeoutMs = Number(values.timeout ?? DEFAULT_LIMIT_MS);
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1) {
    throw new ToolUsageError('--timeout must be in milliseconds');
  }
  const options = values as Record<string, string | undefined>;
  // A person at a terminal may call any address.
  return { url, options, timeoutMs, transport: new AgentTransport(new Egress('any')), clock: holdingClock };
}

/** The kind that `--kind` names, else the only one that has the given options, else the first one that recognizes the agent at the URL. */
async function kindOf(input: ToolInput, named: string | boolean | undefined): Promise<KindWithTools> {
  if (named !== undefined) {
    const kind = kinds.find(({ name }) => name === named);
    if (kind) return kind;
    throw new ToolUsageError(`--kind must be ${kindNames.replaceAll('|', ' or ')}`);
  }
  const given = Object.keys(input.options).filter((name) => name !== 'timeout');
  const fitting = kinds.filter(({ tools }) => {
    const own = new Set(VERBS.flatMap((verb) => tools[verb].options.map(({ name }) => name)));
    return given.every((name) => own.has(name));
  });
  const [kind, ...others] = fitting;
  if (kind && others.length === 0) return kind;
  if (!kind) throw new ToolUsageError('these options belong to agents of different kinds; see --help');
  const found = await detectKind(fitting, input);
  if (typeof found !== 'string') return found;
  throw new ToolkitError(
    found === 'no-answer'
      ? `No agent answers at ${input.url}. Start it, or name its kind with --kind ${kindNames}.`
      : `${input.url} answers HTTP, protocol unknown. Check the path, or name its kind with --kind ${kindNames}.`,
  );
}
