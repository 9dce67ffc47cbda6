import { type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino';
import { build as prettyStream } from 'pino-pretty';

/** Fields that may hold a secret wherever they stand; their values never reach a log line. */
const SECRET_FIELDS = [
  'apiKey',
  'password',
  'authorization',
  'headers',
  'qr',
  'pairingCode',
  'creds',
  'databaseUrl',
];

/**
 * The service's logger: one JSON object a line, or coloured lines for people at a terminal. Secrets are redacted one
 * level deep too; message texts are written at trace only, by their writers.
 */
export function createLogger(options: { level: string; format: 'pretty' | 'json' }): PinoLogger {
  const base = {
    level: options.level,
    timestamp: stdTimeFunctions.isoTime,
    base: undefined,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[redacted]' },
  };
  if (options.format === 'json') return pino(base);
  return pino(
    base,
    prettyStream({
      colorize: process.stdout.isTTY,
      translateTime: 'HH:MM:ss.l',
      singleLine: true,
      sync: true,
    }),
  );
}
