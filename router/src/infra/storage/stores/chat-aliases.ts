import { lidJid, parseJid } from '../../../core/chat-id.ts';
import type { Postgres } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

/**
 * The other canonical channelIds of the same person, as learned from WhatsApp: a number's LIDs, or a LID's number. Empty
 * for groups, and while only one address of the person is known.
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
