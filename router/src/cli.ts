#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { Wa2aiError } from './core/errors.ts';
import type { Envelope } from './infra/agents/abi/codec/abi-wire.ts';
import { readAbiFile, ToolkitError } from './infra/agents/abi/toolkit/abi-file.ts';
import { AgentProbe } from './infra/agents/abi/toolkit/agent-probe.ts';
import { checkAgent } from './infra/agents/abi/toolkit/check-agent.ts';
import { inspectAgent } from './infra/agents/abi/toolkit/inspect-agent.ts';
import { testAgent } from './infra/agents/abi/toolkit/test-agent.ts';

const USAGE = `wa2ai: tools for people who write ABI agents

  wa2ai agent test URL --abi FILE --method greet --input '{"name":"Alice"}'
      calls one function and shows what comes back
  wa2ai agent inspect URL [--abi FILE]
      health, methods, envelope and selectors, without a call
  wa2ai agent check URL --abi FILE
      a report over the whole container specification; really calls every function

  --json               the result as JSON
  --envelope raw|json  how calldata is packed (default raw)
  --timeout MS         longest wait for one answer (default 30000)

Exit codes: 0 fine, 1 the agent did not do as it should, 2 a mistake on the command line.`;

/** A mistake on the command line. */
class UsageError extends Error {}

interface Options {
  abi?: string;
  method?: string;
  input: string;
  envelope: string;
  timeout: string;
  json: boolean;
  help: boolean;
}

async function main(): Promise<number> {
  const { values, positionals } = readArguments();
  if (values.help || positionals.length === 0) {
    console.log(USAGE);
    return 0;
  }
  const [noun, verb, url = '', ...rest] = positionals;
  if (noun !== 'agent' || rest.length > 0) throw new UsageError('there is no such command');
  if (url === '') throw new UsageError('the URL of the agent is missing, such as http://localhost:8080');
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw new UsageError(
      'the URL of the agent must begin with http:// or https://, such as http://localhost:8080',
    );
  }
  switch (verb) {
    case 'test':
      return await test(url, values);
    case 'inspect':
      return await inspect(url, values);
    case 'check':
      return await check(url, values);
    default:
      throw new UsageError('there is no such command');
  }
}

function readArguments(): { values: Options; positionals: string[] } {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        abi: { type: 'string' },
        method: { type: 'string' },
        input: { type: 'string', default: '{}' },
        envelope: { type: 'string', default: 'raw' },
        timeout: { type: 'string', default: '30000' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

async function test(url: string, options: Options): Promise<number> {
  const { method, input } = options;
  if (method === undefined) throw new UsageError('--method is missing: the function to call');
  const report = await testAgent(probeOf(url, options), await abiOf(options), { method, input });
  const lines = [
    `${report.function} ${report.selector}, ${report.ms} ms`,
    `calldata ${report.calldata}`,
    report.reply ?? '(no outputs)',
  ];
  show(options, report, lines.join('\n'));
  return 0;
}

async function inspect(url: string, options: Options): Promise<number> {
  const abi = options.abi === undefined ? undefined : await abiOf(options);
  const report = await inspectAgent(probeOf(url, options), abi);
  const lines = [
    `${report.url}`,
    `health    ${report.health}`,
    `methods   ${report.methods.join(', ') || '(none listed)'}`,
    `envelope  ${report.envelope ?? '(not reachable)'}`,
    ...report.functions.map(
      ({ selector, signature, isListed }) =>
        `${selector}  ${signature}${isListed === false ? '  (not listed by /health)' : ''}`,
    ),
  ];
  show(options, report, lines.join('\n'));
  return report.isReachable ? 0 : 1;
}

async function check(url: string, options: Options): Promise<number> {
  const report = await checkAgent(probeOf(url, options), await abiOf(options));
  const width = Math.max(...report.results.map(({ check }) => check.length));
  const lines = report.results.map(
    ({ check, result, found, ms }) =>
      `${result.toUpperCase().padEnd(4)}  ${check.padEnd(width)}  ${String(ms).padStart(6)} ms  ${found}`,
  );
  const failed = report.results.filter(({ result }) => result === 'fail').length;
  const verdict = report.isConforming ? 'The agent conforms.' : `${failed} of ${lines.length} checks failed.`;
  show(options, report, [...lines, verdict].join('\n'));
  return report.isConforming ? 0 : 1;
}

async function abiOf({ abi }: Options) {
  if (abi === undefined) throw new UsageError('--abi is missing: a file with the ABI or the signatures');
  return await readAbiFile(abi);
}

function probeOf(url: string, { envelope, timeout }: Options): AgentProbe {
  if (envelope !== 'raw' && envelope !== 'json') throw new UsageError('--envelope must be raw or json');
  const timeoutMs = Number(timeout);
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1)
    throw new UsageError('--timeout must be in milliseconds');
  return new AgentProbe(url, { envelope: envelope satisfies Envelope, timeoutMs });
}

function show({ json }: Options, report: object, text: string): void {
  console.log(json ? JSON.stringify(report, null, 2) : text);
}

try {
  process.exitCode = await main();
} catch (error) {
  const isUsage = error instanceof UsageError;
  if (!isUsage && !(error instanceof ToolkitError) && !(error instanceof Wa2aiError)) throw error;
  console.error(`wa2ai: ${error.message}`);
  if (isUsage) console.error(`\n${USAGE}`);
  process.exitCode = isUsage ? 2 : 1;
}
