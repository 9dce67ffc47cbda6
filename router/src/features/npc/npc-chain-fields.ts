import { z } from 'zod';
import { MASK } from '../../infra/agents/secrets.ts';
import { httpUrlField } from '../../infra/agents/setting-fields.ts';

const addressField = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, 'must be an Ethereum address: 0x and 40 hexadecimal digits')
  .refine((address) => !/^0x0{40}$/.test(address), 'must not be the zero address');
const amountField = z
  .string()
  .regex(/^\d{1,78}$/, 'must be an amount in digits, such as 1000000000000000000');

const limitsBody = z
  .strictObject({
    wager: amountField.optional().describe('Largest wager of a duel, in the smallest unit of the token.'),
    reward: amountField.optional().describe('Largest reward of a quest, in the smallest unit of the token.'),
    gas: z.int().min(21_000).max(30_000_000).optional().describe('Gas of one task. Default: 1000000.'),
    feePerGas: amountField
      .optional()
      .describe('Highest fee of a unit of gas, in wei. Default: 200000000000 (200 gwei).'),
    perDay: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe(
        'In 24 hours the tasks of one caller pay at most so many times `wager`, `reward` and `gas`. Default: 20.',
      ),
  })
  .describe('The most of one task.');

const chainSettingsFields = z.strictObject({
  rpcUrl: httpUrlField.describe(
    'JSON-RPC of a node of the chain. Stored encrypted; responses show its path and query as `***`, which sent back changes nothing.',
  ),
  chainId: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
  contracts: z.strictObject({
    arena: addressField.optional().describe('For `duel`.'),
    quest: addressField.optional().describe('For `quest`.'),
  }),
  tokens: z
    .array(addressField)
    .min(1)
    .max(20)
    .describe('Tokens that the wallet may spend (ERC-20). The first one is the default.'),
  limits: limitsBody,
  confirmations: z
    .int()
    .min(0)
    .max(100)
    .optional()
    .describe(
      'Blocks on top of a block before it counts: longer reorganisations are not handled. Default: 5.',
    ),
  startBlock: z
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('First block whose events are stored. Default: the newest one when following begins.'),
  timeoutMs: z
    .int()
    .min(100)
    .max(120_000)
    .optional()
    .describe('Time limit of one request to the RPC server, in milliseconds. Default: 10000.'),
});

/** The chain of `duel` and `quest`, as an admin sends it. */
export const chainSettingsBody = chainSettingsFields
  .superRefine(({ contracts, limits }, context) => {
    const wrong = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    const { arena, quest } = contracts;
    if (arena === undefined && quest === undefined) wrong(['contracts'], 'must have arena, quest or both');
    if (arena !== undefined && limits.wager === undefined)
      wrong(['limits', 'wager'], 'is needed with contracts.arena');
    if (quest !== undefined && limits.reward === undefined)
      wrong(['limits', 'reward'], 'is needed with contracts.quest');
  })
  .describe(
    'Contracts for `duel` and `quest`. Absent: the card offers neither. Needs WA2AI_NPC_WALLET_KEY_FILE.',
  );

/** As responses show it. */
export const chainSettingsView = chainSettingsFields.extend({ rpcUrl: z.string() });

/** Path and query of the URL of an RPC server often contain a key. */
export function maskedRpcUrl(rpcUrl: string): string {
  const { origin, pathname, search } = new URL(rpcUrl);
  return pathname === '/' && search === '' ? origin : `${origin}/${MASK}`;
}
