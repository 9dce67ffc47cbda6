import type { AttemptOptions } from '../../core/agent-client.ts';
import { jidHash } from '../../core/chat-id.ts';
import type { Logger } from '../../core/logger.ts';
import type { IncomingMessage } from '../../core/models.ts';

/** The log of one attempt: that of the turn, which has message and chat; else that of the client, with WhatsApp's ids. */
export function attemptLog(
  own: Logger | undefined,
  { id, accountId, isGroup, channelId, from }: IncomingMessage,
  options: AttemptOptions,
): Logger | undefined {
  if (options.log) return options.log;
  const chat = accountId !== undefined && { jidHash: jidHash(accountId, isGroup ? channelId : from) };
  return own?.child({ waMessageId: id, ...chat });
}
