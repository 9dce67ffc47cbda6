import { jidHash } from '../../../core/chat-hash.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import { field } from '../field.ts';

type ILogger = {
  level: string;
  child(bindings: Record<string, unknown>): ILogger;
} & Record<'trace' | 'debug' | 'info' | 'warn' | 'error', (fields: unknown, message?: string) => void>;

/**
 * Makes a logger for Baileys. It writes only the text, the error's message, the message's id and the hash of its JID, at
 * debug: the fields of Baileys contain keys, whole stanzas and phone numbers. The provider logs what an operator needs. The
 * level prevents that Baileys prepares lines that are not written.
 */
export function createBaileysLogger(log: Logger, accountId: string): ILogger {
  const write = (fields: unknown, message?: string) => {
    const text = message ?? (typeof fields === 'string' ? fields : 'Baileys');
    const jid = keyField(fields, 'remoteJid');
    const about = {
      waMessageId: keyField(fields, 'id'),
      jidHash: jid && jidHash(accountId, jid),
    };
    log.debug({ baileysMessage: text, error: errorMessage(fields), ...about }, 'Baileys error');
  };
  const silent = () => undefined;
  const logger: ILogger = {
    level: 'warn',
    child: () => logger,
    trace: silent,
    debug: silent,
    info: silent,
    warn: write,
    error: write,
  };
  return logger;
}

function errorMessage(fields: unknown): string | undefined {
  if (typeof fields !== 'object' || fields === null) return undefined;
  const { err, error } = fields as { err?: unknown; error?: unknown };
  const found = err ?? error;
  return found instanceof Error ? found.message : undefined;
}

/** A text in the message key of a line. */
function keyField(fields: unknown, name: 'id' | 'remoteJid'): string | undefined {
  const value = field(field(fields, 'key'), name);
  return typeof value === 'string' ? value : undefined;
}
