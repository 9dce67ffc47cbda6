import type { AttemptOptions } from '../../core/agent-client.ts';
import type { IncomingMessage } from '../../core/models.ts';
import type { Logger } from '../../core/ports/logger.ts';

/** The log of one attempt: the turn's, which names message and chat, or the client's own with WhatsApp's message id. */
export function attemptLog(
  own: Logger | undefined,
  message: IncomingMessage,
  options: AttemptOptions,
): Logger | undefined {
  return options.log ?? own?.child({ waMessageId: message.id });
}
