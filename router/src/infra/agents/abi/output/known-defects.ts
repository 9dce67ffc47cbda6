import type { AbiFunction } from '../codec/abi-signature.ts';
import type { Codec } from '../codec/viem-codec.ts';

/** Output types that cannot be encoded when an agent wraps the single output in a list. */
const BROKEN_IN_A_LIST = new Set(['bool', 'tuple', 'address', 'fixedBytes']);

/**
 * Describes known mistakes of agents that follow the sample code of the container specification, so that an admin knows
 * what to correct in the agent. Undefined when the refusal shows none.
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
      `${target.signature} (${selector}); it must expand tuples, as viem's toFunctionSelector(item) does`
    );
  }
  const [output] = outputs;
  if (status === 500 && output && outputs.length === 1 && BROKEN_IN_A_LIST.has(output.type.kind)) {
    if (!/error processing request|boolean/i.test(body)) return undefined;
    return (
      `the agent may wrap its single ${output.type.kind} output in a list before it encodes it ` +
      '(encodeFunctionResult with result: [value]), which fails; it must pass a single output without a list'
    );
  }
  return undefined;
}
