import type { AttemptOptions } from '../../core/agent-client.ts';
import type { IncomingMessage } from '../../core/models.ts';
import type { Logger } from '../../core/ports/logger.ts';

/** The log of one attempt: that of the turn, which has message and chat; else that of the client, with WhatsApp's message id. */
export function attemptLog(
  own: Logger | undefined,
  message: IncomingMessage,
  options: AttemptOptions,
): Logger | undefined {
  return options.log ?? own?.child({ waMessageId: message.id });
}
