import { lidJid, parseJid } from '../../../core/chat-id.ts';
import type { Postgres } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

/**
 * The other canonical channelId of the same person, as learnt from WhatsApp: a number's LID, or a LID's number. Empty for
 * groups and for who has not been heard from under both.
 * @throws {StorageUnavailableError}
 */
export async function aliasesOf(postgres: Postgres, accountId: string, channelId: string): Promise<string[]> {
  const address = channelId.includes('@') ? parseJid(channelId) : undefined;
  if (address && address.kind !== 'lid') return [];
  const where = address ? { accountId, lid: address.lid } : { accountId, phone: channelId };
  const mappings = await withStorage('looking for the other address of a person', () =>
    postgres.prisma.lidMapping.findMany({ where }),
  );
  return mappings.map((mapping) => (address ? mapping.phone : lidJid(mapping.lid)));
}
