import type { AbiFunction } from '../codec/abi-signature.ts';
import type { Codec } from '../codec/viem-codec.ts';

/** Output types that such an agent cannot encode once they stand in a list of their own. */
const BROKEN_IN_A_LIST = new Set(['bool', 'tuple', 'address', 'fixedBytes']);

/**
 * Names the mistakes that agents have which were written after the container specification's own sample code, so that
 * an admin knows what to correct in the agent. Undefined when the refusal does not look like one.
 */
export function knownDefect(
  target: AbiFunction,
  status: number,
  body: string,
  codec: Codec,
): string | undefined {
  const { name, viemInputs, selector, outputs } = target;
  const naive = `${name}(${viemInputs.map(({ type }) => type).join(',')})`;
  if (status === 400 && naive !== target.signature && /selector/i.test(body)) {
    return (
      `the agent seems to compute tuple selectors wrongly, from ${naive} (${codec.selectorOf(naive)}) instead of ` +
      `${target.signature} (${selector}); it must write tuples out, as viem's toFunctionSelector(item) does`
    );
  }
  const [output] = outputs;
  if (status === 500 && output && outputs.length === 1 && BROKEN_IN_A_LIST.has(output.type.kind)) {
    if (!/error processing request|boolean/i.test(body)) return undefined;
    return (
      `the agent may wrap its single ${output.type.kind} output in a list before it encodes it ` +
      '(encodeFunctionResult with result: [value]), which fails; one output must be passed bare'
    );
  }
  return undefined;
}
