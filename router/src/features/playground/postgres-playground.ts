import sql, { type Sql } from 'sql-template-tag';
import { type ChatId, groupJid, jidOfChannelId } from '../../core/chat-id.ts';
import { PLAYGROUND } from '../../core/playground/playground-account.ts';
import type {
  InventedPerson,
  NewPlaygroundChat,
  Playground,
  PlaygroundChat,
  PlaygroundEvent,
  PlaygroundFile,
  PlaygroundInput,
  StoredPlaygroundEvent,
  WrittenMessage,
} from '../../core/ports/playground.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { storableJson, storableOrNull } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

interface ChatColumns {
  id: string;
  kind: PlaygroundChat['kind'];
  name: string;
  phone: string | null;
  groupId: string | null;
  people: InventedPerson[];
  routeId: string | null;
  createdAt: Date;
}

const CHATS = sql`
  SELECT p.chat_id::text AS id, p.kind, p.name, c.phone, c.group_id AS "groupId", p.people, p.route_id AS "routeId",
    p.created_at AS "createdAt"
  FROM playground_chat p JOIN chat c ON c.id = p.chat_id`;

/** The playground in PostgreSQL; see prisma/functions/playground.sql. */
export class PostgresPlayground implements Playground {
  readonly #postgres: Statements;

  constructor(postgres: Statements) {
    this.#postgres = postgres;
  }

  async addChat(chat: NewPlaygroundChat): Promise<PlaygroundChat | undefined> {
    const { kind, name, channelId, people, routeId } = chat;
    const isGroup = kind === 'group';
    const [row] = await withStorage('adding a chat of the playground', () =>
      this.#postgres.query<{ id: string | null }>(sql`
        SELECT playground_add_chat(${PLAYGROUND}, ${kind}, ${storableOrNull(name)}, ${storableJson(people)}::jsonb,
          ${isGroup ? null : channelId}, ${isGroup ? channelId.slice(0, channelId.indexOf('@')) : null},
          ${jidOfChannelId(channelId) ?? channelId}, ${routeId ?? null})::text AS id`),
    );
    return row?.id ? this.chat(row.id) : undefined;
  }

  async chats(): Promise<PlaygroundChat[]> {
    const rows = await withStorage('reading the chats of the playground', () =>
      this.#postgres.query<ChatColumns>(
        sql`${CHATS} WHERE p.account_id = ${PLAYGROUND} ORDER BY p.chat_id LIMIT 1000`,
      ),
    );
    return rows.map(chatOf);
  }

  async chat(id: ChatId): Promise<PlaygroundChat | undefined> {
    const [row] = await withStorage('reading a chat of the playground', () =>
      this.#postgres.query<ChatColumns>(sql`${CHATS} WHERE p.chat_id = ${id}::bigint`),
    );
    return row && chatOf(row);
  }

  async chatAt(channelId: string): Promise<PlaygroundChat | undefined> {
    const isGroup = channelId.endsWith('@g.us');
    const address = isGroup ? channelId.slice(0, channelId.indexOf('@')) : channelId;
    const [row] = await withStorage('reading a chat of the playground', () =>
      this.#postgres.query<ChatColumns>(
        isGroup
          ? sql`${CHATS} WHERE c.account_id = ${PLAYGROUND} AND c.group_id = ${address}`
          : sql`${CHATS} WHERE c.account_id = ${PLAYGROUND} AND c.phone = ${address}`,
      ),
    );
    return row && chatOf(row);
  }

  async deleteChat(id: ChatId): Promise<boolean> {
    const [row] = await withStorage('deleting a chat of the playground', () =>
      this.#postgres.query<{ deleted: boolean }>(
        sql`SELECT playground_delete_chat(${id}::bigint) AS deleted`,
      ),
    );
    return row?.deleted ?? false;
  }

  async addInput(chatId: ChatId, message: WrittenMessage): Promise<void> {
    await withStorage('storing a message of the playground', () =>
      this.#postgres.execute(sql`
        INSERT INTO playground_input (account_id, chat_id, message)
        VALUES (${PLAYGROUND}, ${chatId}::bigint, ${storableJson(message)}::jsonb)`),
    );
  }

  async inputs(limit: number): Promise<PlaygroundInput[]> {
    return withStorage('reading messages of the playground', () =>
      this.#postgres.query<PlaygroundInput>(sql`
        SELECT id::text, chat_id::text AS "chatId", message FROM playground_input i
        WHERE account_id = ${PLAYGROUND} ORDER BY i.id LIMIT ${limit}::integer`),
    );
  }

  async removeInput(id: string): Promise<void> {
    await withStorage('removing a message of the playground', () =>
      this.#postgres.execute(sql`DELETE FROM playground_input WHERE id = ${id}::bigint`),
    );
  }

  async addFile(
    chatId: ChatId,
    waMessageId: string,
    { mimeType, fileName, bytes }: PlaygroundFile,
  ): Promise<string> {
    const [row] = await withStorage('storing a file of the playground', () =>
      this.#postgres.query<{ id: string }>(sql`
        INSERT INTO playground_file (account_id, chat_id, wa_message_id, mime_type, file_name, bytes)
        VALUES (${PLAYGROUND}, ${chatId}::bigint, ${waMessageId}, ${mimeType}, ${storableOrNull(fileName)}, ${Buffer.from(bytes)})
        RETURNING id::text`),
    );
    if (!row) throw new TypeError('INSERT with RETURNING returns one row');
    return row.id;
  }

  file(id: string): Promise<PlaygroundFile | undefined> {
    return this.#file(sql`id = ${id}::bigint`);
  }

  fileOfMessage(chatId: ChatId, waMessageId: string): Promise<PlaygroundFile | undefined> {
    return this.#file(sql`chat_id = ${chatId}::bigint AND wa_message_id = ${waMessageId}`);
  }

  async #file(condition: Sql): Promise<PlaygroundFile | undefined> {
    const [row] = await withStorage('reading a file of the playground', () =>
      this.#postgres.query<{ mimeType: string; fileName: string | null; bytes: Buffer }>(sql`
        SELECT mime_type AS "mimeType", file_name AS "fileName", bytes FROM playground_file
        WHERE ${condition} ORDER BY id DESC LIMIT 1`),
    );
    if (!row) return undefined;
    const { fileName, ...file } = row;
    return { ...file, ...(fileName !== null && { fileName }) };
  }

  async addEvent(chatId: ChatId, event: PlaygroundEvent): Promise<void> {
    const waMessageId = event.kind === 'message' ? event.waMessageId : null;
    await withStorage('storing an event of the playground', () =>
      this.#postgres.execute(sql`
        INSERT INTO playground_event (account_id, chat_id, kind, wa_message_id, data)
        VALUES (${PLAYGROUND}, ${chatId}::bigint, ${event.kind}, ${waMessageId}, ${storableJson(event)}::jsonb)
        ON CONFLICT (account_id, wa_message_id) DO NOTHING`),
    );
  }

  async events(chatId: ChatId, after: string, limit: number): Promise<StoredPlaygroundEvent[]> {
    const rows = await withStorage('reading events of the playground', () =>
      this.#postgres.query<{ id: string; at: Date; data: PlaygroundEvent }>(sql`
        SELECT id::text, at, data FROM playground_event e
        WHERE chat_id = ${chatId}::bigint AND e.id > ${after}::bigint ORDER BY e.id LIMIT ${limit}::integer`),
    );
    return rows.map(({ data, ...row }) => ({ ...data, ...row }));
  }

  async messageId(chatId: ChatId, waMessageId: string): Promise<string | undefined> {
    const [row] = await withStorage('looking for a message of the playground', () =>
      this.#postgres.query<{ id: string }>(sql`
        SELECT id::text FROM message
        WHERE account_id = ${PLAYGROUND} AND chat_id = ${chatId}::bigint AND wa_message_id = ${waMessageId}`),
    );
    return row?.id;
  }
}

function chatOf({ phone, groupId, routeId, ...row }: ChatColumns): PlaygroundChat {
  const channelId = groupId === null ? (phone ?? '') : groupJid(groupId);
  return { ...row, channelId, ...(routeId !== null && { routeId }) };
}
