import type { Logger } from '../../core/ports/logger.ts';
import type { NpcChain, TransactionState, WalletTransaction } from './npc-chain.ts';
import type { NpcTransactions } from './npc-transactions.ts';

/** An RPC server may show a used nonce before the receipt that belongs to it: it is asked so often. */
const SUPERSEDED_LOOKS = 3;

export interface SettleOptions {
  /** Whether the transaction may get higher fees now, under the same nonce. */
  mayRaise: boolean;
  /** How often a transaction was seen superseded, by its hash; kept between calls. */
  looks: Map<string, number>;
}

/** A transaction with what became of it. */
interface Settling {
  transaction: WalletTransaction;
  now: TransactionState;
}

/**
 * Looks at a stored transaction once, and sends it when it is in no block: the RPC server may have forgotten it, a
 * reorganisation may have removed its block, or nobody has sent it. Its end is stored. Safe to repeat, on any node.
 * @throws {ChainUnavailableError} {ChainSettingsError} {StorageUnavailableError}
 */
export async function settleTransaction(
  { transactions, log }: { transactions: NpcTransactions; log: Logger },
  chain: NpcChain,
  transaction: WalletTransaction,
  { mayRaise, looks }: SettleOptions,
): Promise<Settling> {
  const { taskId, hash } = transaction;
  const now = await chain.stateOf(transaction);
  switch (now.state) {
    case 'executed':
      await transactions.settle(taskId, now.isSuccess ? 'succeeded' : 'reverted');
      log.info({ task: taskId, transaction: now.hash, isSuccess: now.isSuccess }, 'transaction executed');
      return { transaction, now };
    case 'superseded': {
      const count = (looks.get(hash) ?? 0) + 1;
      looks.set(hash, count);
      if (count < SUPERSEDED_LOOKS) return { transaction, now: { state: 'waiting' } };
      looks.delete(hash);
      await transactions.settle(taskId, 'superseded');
      log.error({ task: taskId, transaction: hash }, 'nonce of a transaction was used by another one');
      return { transaction, now };
    }
    case 'included':
      return { transaction, now };
    case 'waiting': {
      const newest = mayRaise ? await raised({ transactions, log }, chain, transaction) : transaction;
      const refusal = await chain.broadcast(newest);
      if (refusal !== undefined) {
        log.debug({ task: taskId, transaction: newest.hash, refusal }, 'transaction not taken, retrying');
      }
      return { transaction: newest, now };
    }
  }
}

async function raised(
  { transactions, log }: { transactions: NpcTransactions; log: Logger },
  chain: NpcChain,
  transaction: WalletTransaction,
): Promise<WalletTransaction> {
  const version = await chain.withHigherFees(transaction);
  if (!version) return transaction;
  const stored = await transactions.replace(transaction.taskId, transaction.hash, version);
  log.info({ task: transaction.taskId, transaction: version.hash }, 'transaction got higher fees');
  return stored ?? transaction;
}
