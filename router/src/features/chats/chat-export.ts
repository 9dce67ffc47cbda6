import type { ChatRow } from '../../core/ports/chat-store.ts';
import type { MessageLog } from '../../core/ports/message-log.ts';

/** Messages received, and messages sent, that are in memory at a time. */
const EXPORT_PAGE = 200;

/**
 * A chat as JSON lines: the chat, its messages in both directions, oldest first, then `{"type":"end"}` with their number. Each
 * text has the lines of one page, so that a chat of any size needs the memory of a page.
 * @param shown a message as its reader may see it; default: whole
 * @throws {StorageUnavailableError} while it is read
 */
export async function* exportLines(
  messageLog: Pick<MessageLog, 'messages' | 'sentMessages'>,
  chat: ChatRow,
  shown: (row: object) => object = (row) => row,
): AsyncGenerator<string> {
  yield lineOf({ type: 'chat', ...chat });
  let after: string | undefined;
  let count = 0;
  for (;;) {
    const page = { chatId: chat.id, after, isOldestFirst: true, limit: EXPORT_PAGE };
    const received = await messageLog.messages(page);
    const sent = await messageLog.sentMessages(page);
    // What comes after the end of a full page may have to follow messages of the other direction that were not read yet.
    const ends = [received, sent].flatMap((rows) =>
      rows.length < EXPORT_PAGE ? [] : (rows.at(-1)?.id ?? []),
    );
    const end = ends
      .map(BigInt)
      .reduce<bigint | undefined>((a, b) => (a === undefined || b < a ? b : a), undefined);
    const rows = [...received.map(({ replies: _, ...row }) => row), ...sent]
      .filter(({ id }) => end === undefined || BigInt(id) <= end)
      .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
    count += rows.length;
    if (rows.length > 0) yield rows.map((row) => lineOf({ type: 'message', ...shown(row) })).join('');
    if (end === undefined) break;
    after = String(end);
  }
  yield lineOf({ type: 'end', messages: count });
}

function lineOf(object: object): string {
  return `${JSON.stringify(object)}\n`;
}
