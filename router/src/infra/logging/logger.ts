import { type LoggerOptions, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino';
import { build as prettyStream } from 'pino-pretty';
import { Wa2aiError } from '../../core/errors.ts';
import { LogOutput } from './log-output.ts';
import { RepeatedComplaints } from './repeated-complaints.ts';

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
export function createLogger(options: {
  level: string;
  format: 'pretty' | 'json';
  /** Default: standard output. */
  output?: LogOutput;
}): PinoLogger {
  const output = options.output ?? new LogOutput();
  const complaints = new RepeatedComplaints();
  const base: LoggerOptions = {
    level: options.level,
    hooks: {
      logMethod(args, method) {
        if (isWorthALine(complaints, args)) method.apply(this, args);
      },
    },
    timestamp: stdTimeFunctions.isoTime,
    base: undefined,
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[redacted]' },
  };
  if (options.format === 'json') return pino(base, output);
  return pino(
    base,
    prettyStream({
      colorize: process.stdout.isTTY,
      translateTime: 'HH:MM:ss.l',
      singleLine: true,
      sync: true,
      destination: output,
    }),
  );
}

/** What a database that is away makes every loop say again and again is told with the logarithm of its count. */
function isWorthALine(complaints: RepeatedComplaints, [fields, message]: unknown[]): boolean {
  const error = typeof fields === 'object' && fields !== null && 'err' in fields ? fields.err : undefined;
  const isOfDatabase = error instanceof Wa2aiError && /^(STORAGE|DATABASE)_/.test(error.code);
  return !isOfDatabase || complaints.made(`${String(message)} ${error.code}`) !== undefined;
}
