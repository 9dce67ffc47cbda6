import type { AttemptOptions } from '../../core/agent-client.ts';
import { chatHash } from '../../core/chat-hash.ts';
import type { IncomingMessage } from '../../core/models.ts';
import type { Logger } from '../../core/ports/logger.ts';

/** The log of one attempt: that of the turn, which has message and chat; else that of the client, with WhatsApp's ids. */
export function attemptLog(
  own: Logger | undefined,
  { id, accountId, isGroup, channelId, from }: IncomingMessage,
  options: AttemptOptions,
): Logger | undefined {
  const chat = accountId === undefined ? undefined : chatHash(accountId, isGroup ? channelId : from);
  return options.log ?? own?.child({ waMessageId: id, chat });
}
