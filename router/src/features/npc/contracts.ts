import { parseAbi } from 'viem';

/** The contracts of the NPC Engine's specification. */
export const ARENA_ABI = parseAbi([
  'function createDuel(address opponent, uint256 wager, address token) returns (uint256)',
  'event DuelCreated(uint256 indexed duelId, address indexed creator, address indexed opponent)',
]);

export const QUEST_ABI = parseAbi([
  'function createQuest(string metadataUri, uint256 reward, address token) returns (uint256)',
  'event QuestCompleted(uint256 indexed questId, address indexed player, uint256 reward)',
]);

/** What is needed of a token (ERC-20). */
export const TOKEN_ABI = parseAbi([
  'function balanceOf(address account) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
]);
