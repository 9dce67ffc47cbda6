import { ToolkitError } from '../../agent-tools.ts';
import { ExactJsonError, parseExactJson } from '../../lenient-json.ts';
import { bodyText } from '../../transport/body-text.ts';
import { AbiDecodeError, decodeValues } from '../codec/abi-decode.ts';
import { readable, renderOutputs } from '../codec/abi-render.ts';
import { type AbiFunction, type AgentAbi, encodeCall, findFunction } from '../codec/abi-signature.ts';
import { AbiDefinitionError } from '../codec/abi-type.ts';
import { coerceAll } from '../codec/abi-value.ts';
import { AbiInputError } from '../input/abi-input.ts';
import { knownDefect } from '../output/known-defects.ts';
import { type AgentProbe, answerText } from './agent-probe.ts';

/** One call and its answer. */
export interface TestReport {
  function: string;
  selector: string;
  calldata: string;
  ms: number;
  outputs: unknown;
  /** The outputs as a chat would show them. */
  reply?: string;
}

/**
 * Calls one function with arguments as JSON, by name or by position.
 * @throws {ToolkitError} the method or the input is wrong, or the agent did not answer with the ABI's outputs
 * @throws {AgentProtocolError} the answer is not the JSON envelope, or contains no hex result
 */
export async function testAgent(
  probe: AgentProbe,
  abi: AgentAbi,
  options: { method: string; input: string },
): Promise<TestReport> {
  const { target, calldata } = prepare(abi, options);
  const answer = await probe.call(calldata);
  if (answer.status === 0) throw new ToolkitError(`The agent did not answer: ${answerText(answer)}.`);
  if (answer.status !== 200) {
    const defect = knownDefect(target, answer.status, bodyText(answer), abi.codec);
    throw new ToolkitError(`The agent answered ${answerText(answer)}${defect ? ` (${defect})` : ''}.`);
  }
  try {
    const outputs = decodeValues(target.outputs, probe.outputsOf(answer), abi.codec);
    const reply = renderOutputs(target.outputs, outputs);
    return {
      function: target.signature,
      selector: target.selector,
      calldata: `0x${calldata.toString('hex')}`,
      ms: answer.ms,
      outputs: readable(target.outputs, outputs),
      ...(reply !== undefined && { reply }),
    };
  } catch (error) {
    if (!(error instanceof AbiDecodeError)) throw error;
    throw new ToolkitError(
      `The answer of ${answer.body.length} bytes does not fit the ABI: it ${error.message}.`,
    );
  }
}

function prepare(
  abi: AgentAbi,
  { method, input }: { method: string; input: string },
): { target: AbiFunction; calldata: Buffer } {
  try {
    const target = findFunction(abi, method);
    const values = coerceAll(target.inputs, parseExactJson(input), abi.codec);
    return { target, calldata: encodeCall(abi, target, values) };
  } catch (error) {
    if (error instanceof AbiDefinitionError) throw new ToolkitError(`--method ${error.message}.`);
    if (error instanceof AbiInputError) throw new ToolkitError(`--input: ${error.message}.`);
    if (error instanceof ExactJsonError) throw new ToolkitError(`--input ${error.message}.`);
    throw error;
  }
}
