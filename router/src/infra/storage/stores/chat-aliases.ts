import sql from 'sql-template-tag';
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
  const key = address ? sql`lid = ${address.lid}` : sql`phone = ${channelId}`;
  const mappings = await withStorage('looking for the other address of a person', () =>
    postgres.query<{ lid: string; phone: string }>(
      sql`SELECT lid, phone FROM lid_mapping WHERE account_id = ${accountId} AND ${key}`,
    ),
  );
  return mappings.map(({ lid, phone }) => (address ? phone : lidJid(lid)));
}
