import { z } from 'zod';
import { ANY_CHANNEL, canonicalChannelId, hasTrunkZero } from '../chat-id.ts';
import { PHRASES } from '../phrases.ts';

/** What the owner decided about a chat; `pending`: the owner was asked. */
export type Access = 'pending' | 'approved' | 'refused';

export const ACCESS = {
  people: 'everyone' as 'everyone' | 'listed' | 'approved',
  list: [] as string[],
  askText: undefined as string | undefined,
};

export const accessField = z
  .strictObject({
    people: z
      .enum(['everyone', 'listed', 'approved'])
      .optional()
      .describe(
        '`listed`: people and groups of `list` only; `approved`: also chats that the owner approved, and messages of others wait for the owner. Default: everyone.',
      ),
    list: z
      .array(
        z
          .string()
          .max(100)
          .refine((address) => isPersonOrGroup(address), PHRASES['field.chat-address']),
      )
      .max(1_000)
      .optional()
      .describe('Phone numbers with country code, LIDs or group ids. Default: none.'),
    askText: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe('Sent to a person whose first message waits for the owner. Default: nothing is sent.'),
  })
  .describe('Who gets answers.');

function isPersonOrGroup(address: string): boolean {
  const channelId = canonicalChannelId(address);
  return channelId !== undefined && channelId !== ANY_CHANNEL && !hasTrunkZero(channelId);
}
