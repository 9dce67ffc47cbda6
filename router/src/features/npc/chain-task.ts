import type { ChainCall } from './npc-chain.ts';
import { invalidParam } from './npc-error.ts';
import type { NpcChainSettings } from './npc-settings.ts';
import type { NpcTask } from './npc-task.ts';

const ZERO_ADDRESS = /^0x0{40}$/;

/** Tasks that call a contract. */
export function isChainTask({ type, params }: Pick<NpcTask, 'type' | 'params'>): boolean {
  return (type === 'duel' || type === 'quest') && params.action === undefined;
}

/**
 * The contract call of a task with checked parameters.
 * @throws {NpcError} -32602 an address, the token or an amount is not allowed
 */
export function chainCallOf(
  { type, params }: Pick<NpcTask, 'type' | 'params'>,
  { tokens, limits }: Pick<NpcChainSettings, 'tokens' | 'limits'>,
): ChainCall {
  const given = params as Record<string, string | number | undefined>;
  const token = String(given.tokenAddress ?? tokens[0]).toLowerCase();
  if (!tokens.some((allowed) => allowed.toLowerCase() === token)) {
    throw invalidParam('tokenAddress', `This NPC pays with these tokens only: ${tokens.join(', ')}.`);
  }
  if (type === 'duel') {
    const opponent = String(given.opponent).toLowerCase();
    if (ZERO_ADDRESS.test(opponent)) throw invalidParam('opponent', 'opponent must not be the zero address.');
    return { kind: 'duel', opponent, wager: amountOf('wager', given.wager, limits.wager), token };
  }
  const { questId, difficulty, timeLimit } = given;
  const metadata = JSON.stringify({ questId, difficulty, timeLimit });
  return {
    kind: 'quest',
    metadataUri: `data:application/json,${encodeURIComponent(metadata)}`,
    reward: amountOf('reward', given.reward, limits.reward),
    token,
  };
}

function amountOf(field: string, value: unknown, limit = '0'): bigint {
  const amount = BigInt(String(value));
  if (amount > BigInt(limit)) throw invalidParam(field, `${field} must be at most ${limit}.`);
  return amount;
}
