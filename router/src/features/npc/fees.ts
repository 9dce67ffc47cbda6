import type { TransactionFees } from './npc-chain.ts';

/** The most that a transaction pays for a unit of gas, in wei. */
export function feePerGasOf(fees: TransactionFees): bigint {
  return 'gasPrice' in fees ? fees.gasPrice : fees.maxFee;
}

/** The fees of a transaction that was signed. */
interface SignedFees {
  gasPrice?: bigint | undefined;
  maxFeePerGas?: bigint | undefined;
  maxPriorityFeePerGas?: bigint | undefined;
}

/**
 * Fees for another version of a transaction that waits: those of the market, and an eighth more than before, because servers
 * refuse a version that pays less than a tenth more.
 * @param market fees for a new transaction: `maxFee` is twice the fee of the newest block, and the tip
 * @returns undefined: the fees that it has are enough
 */
export function higherFees(signed: SignedFees, market: TransactionFees): TransactionFees | undefined {
  const { gasPrice, maxFeePerGas = 0n, maxPriorityFeePerGas: tip = 0n } = signed;
  if ('gasPrice' in market) {
    if (gasPrice === undefined || market.gasPrice <= gasPrice) return undefined;
    return { gasPrice: larger(market.gasPrice, more(gasPrice)) };
  }
  const blockFee = (market.maxFee - market.tip) / 2n;
  // A price was signed before the chain had a fee market.
  if (gasPrice !== undefined || blockFee + tip <= maxFeePerGas) return undefined;
  return { maxFee: larger(market.maxFee, more(maxFeePerGas)), tip: larger(market.tip, more(tip)) };
}

function more(fee: bigint): bigint {
  return (fee * 9n) / 8n + 1n;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
