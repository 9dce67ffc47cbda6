import {
  type AgentTools,
  checkText,
  type ToolInput,
  type ToolOption,
  ToolUsageError,
} from '../../agent-tools.ts';
import { inspectionText } from '../../inspection.ts';
import type { AgentAbi } from '../codec/abi-signature.ts';
import { type AbiFile, readAbiFile } from './abi-file.ts';
import { AgentProbe } from './agent-probe.ts';
import { checkAgent } from './check-agent.ts';
import { inspectAgent, isAbiHealth } from './inspect-agent.ts';
import { testAgent } from './test-agent.ts';

const abi: ToolOption = { name: 'abi', value: 'FILE', help: 'a file with the ABI or the signatures' };
const envelope: ToolOption = {
  name: 'envelope',
  value: 'raw|json',
  help: 'form of the request: calldata or JSON (default raw)',
};
const method: ToolOption = { name: 'method', value: 'NAME', help: 'the function to call' };
const input: ToolOption = { name: 'input', value: 'JSON', help: 'its arguments (default {})' };

/** Tools for people who write ABI agents. */
export const abiTools: AgentTools = {
  async detect(toolInput) {
    return isAbiHealth(await probeOf(toolInput).health());
  },
  test: {
    summary: 'calls one function and shows the outputs',
    options: [abi, method, input, envelope],
    async run(toolInput) {
      const { method: name, input: values = '{}' } = toolInput.options;
      if (name === undefined) throw new ToolUsageError('--method is missing: the function to call');
      const given = { method: name, input: values };
      const report = await testAgent(probeOf(toolInput), await abiOf(toolInput), given);
      const lines = [
        `${report.function} ${report.selector}, ${report.ms} ms`,
        `calldata ${report.calldata}`,
        report.reply ?? '(no outputs)',
      ];
      return { report, text: lines.join('\n'), isGood: true };
    },
  },
  inspect: {
    summary: 'shows health, methods, envelope and selectors, without a call',
    options: [abi, envelope],
    async run(toolInput) {
      const known = toolInput.options.abi === undefined ? undefined : await abiFileOf(toolInput);
      const report = await inspectAgent(probeOf(toolInput), known);
      const details = [
        `envelope      ${report.envelope ?? '(not reachable)'}`,
        ...report.functions.map(
          ({ selector, signature, isListed }) =>
            `${selector}  ${signature}${isListed === false ? '  (not listed by /health)' : ''}`,
        ),
      ];
      return { report, text: inspectionText(report, details), isGood: report.isReachable };
    },
  },
  check: {
    summary: 'checks the whole container specification; calls each function',
    options: [abi, envelope],
    async run(toolInput) {
      const report = await checkAgent(probeOf(toolInput), await abiOf(toolInput));
      return { report, text: checkText(report), isGood: report.isConforming };
    },
  },
};

async function abiOf(input: ToolInput): Promise<AgentAbi> {
  return (await abiFileOf(input)).abi;
}

async function abiFileOf({ options }: ToolInput): Promise<AbiFile> {
  if (options.abi === undefined) {
    throw new ToolUsageError('--abi is missing: a file with the ABI or the signatures');
  }
  return await readAbiFile(options.abi);
}

function probeOf({ url, options, timeoutMs, transport }: ToolInput): AgentProbe {
  const packed = options.envelope ?? 'raw';
  if (packed !== 'raw' && packed !== 'json') throw new ToolUsageError('--envelope must be raw or json');
  return new AgentProbe(url, { envelope: packed, timeoutMs, transport });
}
