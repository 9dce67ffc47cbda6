import { BaseError, ContractFunctionRevertedError, ContractFunctionZeroDataError } from 'viem';
import { cleanText } from '../../core/clean-text.ts';
import { Wa2aiError } from '../../core/errors.ts';
import { withoutTrailing } from '../../core/without-trailing.ts';
import { ChainSettingsError, ChainUnavailableError } from './npc-chain.ts';
import { NpcError, RPC } from './npc-error.ts';

const MAX_REASON_CHARS = 300;

/**
 * What a failed call of viem means: a revert is -32011 with the reason of the contract, missing money for gas is -32010, and
 * everything else is a chain that does not answer as one. viem's own texts are not passed on: they quote the request.
 */
export function chainErrorOf(error: unknown): Wa2aiError {
  const own = causeOf(error, (cause) => cause instanceof Wa2aiError);
  if (own instanceof Wa2aiError) return own;
  const reason = revertReasonOf(error);
  if (reason !== undefined) {
    return new NpcError(RPC.contractFailed, { reason: `The contract refused the call: ${reason}.` });
  }
  if (causeOf(error, (cause) => cause instanceof ContractFunctionZeroDataError)) {
    return new ChainSettingsError(
      'An address of the chain settings has no such contract. Check contracts and tokens.',
    );
  }
  const answer = answerOf(error);
  if (/insufficient (?:funds|balance)/i.test(answer ?? '')) return noGas();
  const why =
    answer === undefined
      ? 'The RPC server of the chain answered what wa2ai cannot read.'
      : `The RPC server of the chain refused a call: ${answer}.`;
  return new ChainUnavailableError(why);
}

/** The wallet cannot pay for gas. */
export function noGas(): NpcError {
  const reason = 'The wallet of this NPC has too little of the currency of the chain to pay for gas.';
  return new NpcError(RPC.insufficientFunds, { reason });
}

/** Why a contract reverted, in its own words, without a full stop; undefined: it did not. */
export function revertReasonOf(error: unknown): string | undefined {
  const reverted = causeOf(error, (cause) => cause instanceof ContractFunctionRevertedError);
  if (!(reverted instanceof ContractFunctionRevertedError)) return undefined;
  const { reason, data, signature } = reverted;
  return shortened(reason ?? data?.errorName ?? signature ?? 'it gives no reason');
}

/** The sentence of the RPC server, when it answered with an error. */
export function answerOf(error: unknown): string | undefined {
  const found = causeOf(error, (cause) => {
    const { code } = cause as { code?: unknown };
    return typeof code === 'number' && !(cause instanceof BaseError);
  });
  return found instanceof Error ? shortened(found.message) : undefined;
}

function shortened(text: string): string {
  // A contract chooses this text: one line of it, without control characters.
  const line = cleanText(text)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();
  return withoutTrailing(line.slice(0, MAX_REASON_CHARS), '.');
}

function causeOf(error: unknown, matches: (cause: unknown) => boolean): unknown {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 10; cause = cause.cause, depth += 1) {
    if (matches(cause)) return cause;
  }
  return undefined;
}
