import sql from 'sql-template-tag';
import { isUsername, parseJid, writtenForms } from '../../../core/chat-id.ts';
import { type ChatIdentity, channelIdsOf } from '../../../core/messages/chat-identity.ts';
import type { Postgres } from '../postgres.ts';
import { withStorage } from './storage-errors.ts';

/**
 * The other canonical channelIds of the same person, as learned from WhatsApp: number, LID and user name. Empty
 * for groups, and while only one address of the person is known.
 * @throws {StorageUnavailableError}
 */
export async function aliasesOf(postgres: Postgres, accountId: string, channelId: string): Promise<string[]> {
  const address = channelId.includes('@') ? parseJid(channelId) : undefined;
  if (address && address.kind !== 'lid') return [];
  const username = isUsername(channelId) ? channelId.slice(1) : undefined;
  const key = address ? sql`lid = ${address.lid}` : sql`phone = ANY (${writtenForms([channelId])}::text[])`;
  const found = await withStorage('looking for the other addresses of a person', () =>
    postgres.query<ChatIdentity>(sql`
      SELECT lid, phone, NULL AS username FROM lid_mapping WHERE account_id = ${accountId} AND ${key}
      UNION ALL SELECT lid, phone, username FROM chat
      WHERE account_id = ${accountId} AND username IS NOT NULL
        AND ${username === undefined ? key : sql`username = ${username}`}`),
  );
  return [...new Set(found.flatMap(channelIdsOf))].filter((other) => other !== channelId);
}
